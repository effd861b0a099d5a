"""What all stages of one run share: what is asked, the edges, and who is still in the test."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from muster.acceptance.policy import AcceptancePolicy
from muster.acceptance.request import AcceptRequest, Waiver, current_waivers
from muster.acceptance.workbench import Workbench
from muster.clock import Clock
from muster.findings import Finding, Outcome
from muster.fleet import Node
from muster.progress import Progress
from muster.runstore import Run
from muster.schedulers.model import Scheduler
from muster.ssh import as_root, flags, node_options

_SETTLE_S = 6.0
_POLL_S = 0.5


@dataclass(kw_only=True)
class Scene:
    """One acceptance run while it goes on."""

    request: AcceptRequest
    scheduler: Scheduler
    workbench: Workbench
    run: Run
    clock: Clock
    progress: Progress
    untested: dict[str, str] = field(default_factory=dict)
    """Nodes that could not be tested at all, and why."""
    findings: list[Finding] = field(default_factory=list)

    @property
    def policy(self) -> AcceptancePolicy:
        """How thoroughly to test."""
        return self.request.policy

    def record(self, finding: Finding, node: Node | None, *, stage: str) -> Finding:
        """Keep a finding, with who it is about."""
        about: dict[str, Any] = {
            "stage": stage,
            "version": self.request.version,
            "image_digest": self.request.image_digest,
        }
        if node is not None:
            about |= {"node": node.name, "serial": node.serial, "shape": node.type}
        waiver = self.waivers().get(finding.check)
        if waiver is not None and finding.outcome is not Outcome.PASS:
            said = f"{waiver.reason} (until {waiver.until.isoformat()})"
            about["params"] = {**finding.params, "waiver": said}
        stored = self.run.append(finding.model_copy(update=about))
        self.findings.append(stored)
        return stored

    def waivers(self) -> dict[str, Waiver]:
        """Return the waivers that hold today, by check."""
        return current_waivers(self.request.waivers, self.clock.now().date())

    def remaining(self) -> list[Node]:
        """Return nodes that have failed nothing so far and can be tested."""
        waived = self.waivers()
        failed = {
            f.node for f in self.findings if f.outcome is Outcome.FAIL and f.check not in waived
        }
        out = failed | set(self.untested)
        return [node for node in self.request.nodes() if node.name not in out]

    def usable(self, names: Iterable[str], *, settle_s: float = _SETTLE_S) -> list[str]:
        """Return those that the scheduler would use now: one that it drained would hold a step.

        Waits a bounded time for nodes where an earlier step is still being cleared away, and for
        those that the scheduler has not heard from since its last ping.
        """
        wanted = list(names)
        end = self.clock.monotonic_s() + settle_s
        while True:
            states = self.scheduler.nodes()
            known = [name for name in wanted if name in states]
            free = [n for n in known if states[n].usable and not states[n].settling]
            waiting = any(states[name].settling for name in known)
            if not waiting or self.clock.monotonic_s() >= end:
                return free
            self.clock.sleep(_POLL_S)

    def by_hand(self, node: Node, command: str) -> str:
        """Return a command line that runs `command` on the node, ready to paste."""
        access = self.request.fleet.ssh
        argv = ["ssh", "-i", access.key_file, "-p", str(access.port)]
        argv += flags(node_options(access, node))
        return shlex.join([*argv, f"{access.user}@{node.host}", as_root(access, command)])
