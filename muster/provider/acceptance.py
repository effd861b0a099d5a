"""The burn-in as a resource: re-run after every converge; "made, but not right" until ready."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from muster import stages
from muster.acceptance.request import Waiver
from muster.catalog import load_catalog
from muster.clock import Clock
from muster.errors import MusterError
from muster.fleet import Fleet
from muster.progress import Progress
from muster.provider.handler import Handler, InitFailedError, Properties
from muster.readiness import Readiness, Verdict
from muster.remote import SshRemote, control_directory
from muster.runstore import Run, RunStore
from muster.schedulers.slurm import Slurm
from muster.spec import PolicyTable


class AcceptanceHandler(Handler):
    """One acceptance of the whole fleet; the verdict stays, whichever way it fell."""

    resource_type = "muster:index:Acceptance"
    computed = ("ready", "reason", "readiness", "report", "run", "accepted", "verdicts")
    replace_on = frozenset({"stack"})

    def __init__(self, root: Path, clock: Clock) -> None:
        self._root = root
        self._clock = clock

    def damage(self, state: Mapping[str, Any]) -> list[str]:
        """A fleet that is not ready is proved again by the next `up`."""
        return [] if state.get("ready") else ["ready"]

    def create(self, name: str, inputs: Properties, progress: Progress) -> tuple[str, Properties]:
        """Run the campaign.

        Raises:
            InitFailedError: fewer nodes are accepted than wanted; the outputs are kept.

        """
        del name
        stack = inputs["stack"]
        store = self._store(stack)
        order = stages.AcceptOrder(
            wanted=inputs["wanted"],
            policy=_policy(inputs["policy"]),
            waivers=tuple(_waiver(entry) for entry in inputs["waivers"]),
        )
        edges = stages.Edges(store=store, catalog=load_catalog(), clock=self._clock)
        run = stages.accept(Fleet.model_validate(inputs["fleet"]), order, edges, progress)
        readiness = run.readiness()
        if readiness is None:
            raise MusterError("the run ended without a verdict", where=run.id)
        state = {**inputs, **_outputs(run, readiness)}
        if not readiness.ready:
            raise InitFailedError(stack, state, _reasons(readiness, run))
        return stack, state

    def read(self, resource_id: str, state: Properties) -> Properties:
        """Ask the scheduler whether accepted nodes are still in service."""
        fleet = Fleet.model_validate(state["fleet"])
        remote = SshRemote(fleet, control_directory(self._store(resource_id).directory))
        accepted = [name for name, word in state["verdicts"].items() if word == Verdict.ACCEPTED]
        try:
            now = Slurm(remote, fleet.head.name, self._clock).nodes()
        except MusterError as error:
            return {**state, "ready": False, "reason": f"could not tell: {error}"}
        lost = [name for name in accepted if name not in now or not now[name].usable]
        if not lost:
            return state
        why = "; ".join(f"{name} {now[name].reason}" if name in now else name for name in lost)
        return {**state, "ready": False, "reason": f"out of service since: {why}"}

    def update(
        self, resource_id: str, old: Properties, inputs: Properties, progress: Progress
    ) -> Properties:
        """Prove the fleet again."""
        del resource_id, old
        return self.create("", inputs, progress)[1]

    def delete(self, resource_id: str, state: Properties, progress: Progress) -> None:
        """Keep the run store: what was found outlives the fleet."""

    def _store(self, stack: str) -> RunStore:
        return RunStore(self._root, stack, self._clock)


def _policy(value: Any) -> str | PolicyTable:
    return value if isinstance(value, str) else PolicyTable.model_validate(value)


def _waiver(entry: Mapping[str, Any]) -> Waiver:
    until = date.fromisoformat(entry["until"])
    return Waiver(check=entry["check"], reason=entry["reason"], until=until)


def _outputs(run: Run, readiness: Readiness) -> Properties:
    return {
        "ready": readiness.ready,
        "reason": readiness.reason,
        "readiness": str(run.directory / "readiness.json"),
        "report": str(run.directory / "report.html"),
        "run": run.id,
        "accepted": readiness.accepted,
        "verdicts": {node.node: str(node.verdict) for node in readiness.nodes},
    }


def _reasons(readiness: Readiness, run: Run) -> list[str]:
    bad = [node for node in readiness.nodes if node.verdict is not Verdict.ACCEPTED]
    named = [
        " ".join(
            part for part in (n.node, str(n.verdict), n.component, "; ".join(n.reasons)) if part
        )
        for n in bad
    ]
    parts = [
        f"{part.component} {part.verdict}"
        for part in readiness.fleet
        if part.verdict is not Verdict.ACCEPTED
    ]
    return [readiness.reason, *parts, *named, f"report: {run.directory / 'report.html'}"]
