"""A cluster in memory: a head with a shared directory, a scheduler, and nodes that can be broken.

It runs no program: it writes what the real ones print (see captures/), so a whole campaign takes
milliseconds and no test needs a node.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from muster.errors import RemoteError
from muster.fleet import Fleet, Node, Rail, SshAccess
from muster.schedulers.model import Job, NodeStatus, SchedulerUnavailableError, Step, StepResult
from muster.schedulers.slurm_text import has_passed, is_ours
from muster.shell import Completed
from tests.unit.acceptance.documents import Change, bench_text, facts_text, iperf_text

MARKER = "fs-1"
_START = datetime(2026, 11, 21, 10, tzinfo=UTC)


class Time:
    """A clock that moves only when somebody sleeps or a step runs."""

    def __init__(self) -> None:
        self.passed_s = 0.0

    def now(self) -> datetime:
        return _START + timedelta(seconds=self.passed_s)

    def monotonic_s(self) -> float:
        return self.passed_s

    def sleep(self, seconds: float) -> None:
        self.passed_s += seconds


@dataclass
class Member:
    """A node, and what is wrong with it."""

    status: NodeStatus
    change: Change | None = None
    ssh: str = "answers"
    slurmd: str = "open"
    writes: bool = True
    slow: float = 1.0
    disk: float = 1.0
    rail_bps: dict[int, float] = field(default_factory=dict)
    clock_off_s: float = 0.0
    fails_prolog: bool = False


def fleet_of(count: int, *, per_leaf: int = 2) -> Fleet:
    def member(n: int) -> Node:
        rails = tuple(
            Rail(index=r, interface=f"rail{r}", address=f"10.{212 + r}.0.{n}") for r in range(2)
        )
        name = f"gpu-{n}" if n else "head"
        return Node(
            name=name,
            serial=f"serial-{n}",
            pool="gpu",
            type="lab.8gpu",
            address=f"10.211.0.{10 + n}",
            host_key="ssh-ed25519 AAAA",
            leaf=f"leaf{(n - 1) // per_leaf}" if n else "",
            rails=rails if n else (),
        )

    return Fleet(
        stack="test",
        target="lab",
        ssh=SshAccess(key_file="k", known_hosts_file="h"),
        head=member(0),
        nodes=tuple(member(n) for n in range(1, count + 1)),
    )


class Cluster:
    """Scheduler and remote in one; see `muster.schedulers.model.Scheduler` and `Remote`."""

    def __init__(self, count: int = 8) -> None:
        self.fleet = fleet_of(count)
        self.clock = Time()
        idle = frozenset({"IDLE"})
        self.members = {
            n.name: Member(NodeStatus(name=n.name, states=idle, cpus=16, memory_mib=2000, gpus=8))
            for n in self.fleet.nodes
        }
        self.files: dict[str, str] = {}
        self.accepted = ""
        self.reserved: set[str] = set()
        self.running: list[Job] = []
        self.cancelled: list[str] = []
        self.cleared: list[str] = []
        self.cancel_takes_effect = True
        self.steps: list[Step] = []
        self.allreduce: dict[str, Any] = {}
        self.scheduler_down = False

    def __getitem__(self, name: str) -> Member:
        return self.members[name]

    def drain_by(self, name: str, reason: str, user: str = "root") -> None:
        """Somebody drains a node."""
        states = frozenset({"IDLE", "DRAIN"})
        member = self.members[name]
        member.status = replace(member.status, states=states, reason=reason, reason_user=user)

    # The scheduler.

    def nodes(self) -> Mapping[str, NodeStatus]:
        if self.scheduler_down:
            raise SchedulerUnavailableError("connection refused", where="head")
        return {name: member.status for name, member in self.members.items()}

    def jobs(self) -> tuple[Job, ...]:
        return tuple(self.running)

    def reservation(self, name: str) -> frozenset[str]:
        del name
        return frozenset(self.reserved)

    def reserve(self, name: str, nodes: Iterable[str]) -> None:
        del name
        self.reserved = set(nodes)

    def drain(self, node: str, reason: str) -> bool:
        status = self.members[node].status
        if status.drained and not (is_ours(status) or has_passed(status)):
            return False
        self.drain_by(node, reason)
        return True

    def resume(self, node: str) -> bool:
        status = self.members[node].status
        if not (is_ours(status) or has_passed(status)):
            return False
        idle = frozenset({"IDLE"})
        self.members[node].status = replace(status, states=idle, reason="", reason_user="")
        return True

    def clear(self, node: str) -> None:
        self.cleared.append(node)
        self.running = [job for job in self.running if node not in job.nodes]
        status = self.members[node].status
        self.members[node].status = replace(status, states=frozenset({"IDLE"}))

    def cancel(self, name_prefix: str) -> tuple[str, ...]:
        found = tuple(job.id for job in self.running if job.name.startswith(name_prefix))
        if self.cancel_takes_effect:
            self.running = [job for job in self.running if job.id not in found]
        self.cancelled.extend(found)
        return found

    def run_step(self, step: Step) -> StepResult:
        self.steps.append(step)
        self.clock.sleep(1)
        sick = [n for n in step.nodes if self.members[n].fails_prolog]
        if sick:
            for name in sick:
                self.drain_by(name, "Prolog error", "slurm")
            return self._ended(step, rc=1, stderr=f"Prolog failure on node {sick[0]}")
        if "muster-allreduce" in step.command:
            return self._ended(step, stdout=self._reduce(step))
        place = re.search(r"d=(\S+);", step.command)
        program = re.search(r"/(\w+\.py) ", step.command)
        assert place
        assert program
        ask = json.loads(self.files[f"{place[1]}/ask.json"])
        late = False
        for name in step.nodes:
            if not self.members[name].writes:
                late = True
                continue
            text = self.output(program[1], name, ask)
            self.files[f"{place[1]}/out/{name}.json"] = text
        if late:
            self.clock.sleep(step.deadline_s)
        return self._ended(step, rc=124 if late else 0, timed_out=late)

    def _ended(self, step: Step, *, rc: int = 0, stdout: str = "", **values: Any) -> StepResult:
        given: dict[str, Any] = {"stderr": "", "timed_out": False} | values
        return StepResult(
            rc=rc, stdout=stdout, command=f"srun {step.name}", duration_s=1.0, **given
        )

    def _reduce(self, step: Step) -> str:
        line = {
            "program": "muster-allreduce",
            "ranks": len(step.nodes),
            "hosts": list(step.nodes),
            "bytes": 1,
            "busbw": 1e6,
            "wrong": 0,
            "wrong_hosts": [],
        }
        return json.dumps(line | self.allreduce)

    # The programs on nodes.

    def output(self, program: str, name: str, ask: dict[str, Any]) -> str:
        """What a program prints on a node."""
        if program == "node_facts.py":
            return self._facts(name)
        if program == "local_bench.py":
            member = self.members[name]
            return bench_text(node=name, slow=member.slow, disk=member.disk)
        return self._pairs(name, ask)

    def _facts(self, name: str) -> str:
        node, member = self.fleet.node(name), self.members[name]

        def change(document: dict[str, Any]) -> None:
            document["serial"] = node.serial
            document["wall_clock"] = self.clock.now().timestamp() + member.clock_off_s
            document["shared"] = {"path": "/shared/.muster-fs-id", "id": MARKER}
            document["commands"]["addresses"]["stdout"] = json.dumps(
                [
                    {"ifname": r.interface, "addr_info": [{"family": "inet", "local": r.address}]}
                    for r in node.rails
                ]
            )
            if member.change:
                member.change(document)

        return facts_text(change, node=name)

    def _pairs(self, name: str, plan: dict[str, Any]) -> str:
        document: dict[str, Any] = {"node": name, "round": plan["round"], "tests": []}
        for pair in plan["pairs"]:
            if name == pair["server"]:
                document["role"] = "server"
            if name != pair["client"]:
                continue
            document["role"] = "client"
            both = (self.members[name], self.members[pair["server"]])
            for rail in pair["rails"]:
                bps = min(m.rail_bps.get(rail["rail"], 4.8e6) for m in both)
                ends = (rail["client_address"], rail["server_address"])
                document["tests"] += [
                    {
                        "rail": rail["rail"],
                        "direction": direction,
                        "rc": 0,
                        "stdout": iperf_text(*ends, bps=bps, reverse=direction == "reverse"),
                    }
                    for direction in ("forward", "reverse")
                ]
        return json.dumps(document)

    # The head, and ssh to nodes.

    def run(self, node: str, command: str, *, timeout_s: float, stdin: str = "") -> Completed:
        del timeout_s
        if node != self.fleet.head.name:
            return self._by_ssh(node)
        out = self._on_head(command, stdin)
        return Completed(argv=("sh", "-c", command), rc=0, stdout=out, stderr="")

    def _by_ssh(self, node: str) -> Completed:
        if self.members[node].ssh != "answers":
            raise RemoteError("no answer", where=node)
        text = self.output("node_facts.py", node, {})
        return Completed(argv=("ssh",), rc=0, stdout=text, stderr="")

    def _on_head(self, command: str, stdin: str) -> str:
        if "json.load(sys.stdin)" in command:
            base = command.rsplit(maxsplit=1)[-1]
            self.files |= {f"{base}/{name}": text for name, text in json.loads(stdin).items()}
            return ""
        if "os.listdir" in command:
            base = f"{command.rsplit(maxsplit=1)[-1]}/"
            inside = {k: v for k, v in self.files.items() if k.startswith(base)}
            return json.dumps({k.removeprefix(base): v for k, v in inside.items()})
        if "reach_probe" in command:
            asked = json.loads(stdin)["nodes"]
            states = {n: {"ssh": self[n].ssh, "slurmd": self[n].slurmd} for n in asked}
            return json.dumps(states)
        if command.startswith("date"):
            return f"{self.clock.now().timestamp():.9f}\n"
        return self._accepted_file(command, stdin)

    def _accepted_file(self, command: str, stdin: str) -> str:
        if "cat > $f.new" in command:
            self.accepted = stdin
            return ""
        if "/var/lib/muster/accepted" in command:
            return self.accepted
        assert command == "cat /shared/.muster-fs-id", command
        return f"{MARKER}\n"
