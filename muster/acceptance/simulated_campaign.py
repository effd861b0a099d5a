"""An acceptance run of a fleet that exists only as numbers: same locating, verdicts and files.

The checks that look at a machine have none to look at here: they are waived by name, not passed.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from statistics import median

from muster.acceptance.checks import pair_bandwidth, pair_retransmits
from muster.acceptance.checks.registry import ALL, PAIRS
from muster.acceptance.locate import Fabric, LocateVerdict, Measurement, Pair, Policy, locate
from muster.acceptance.request import Waiver
from muster.acceptance.simulated_faults import Fault, join
from muster.acceptance.simulated_fleet import SimulatedFleet
from muster.acceptance.verdicts import Decision, Evidence, decide, is_ready
from muster.clock import Clock
from muster.files import append_line
from muster.findings import Finding
from muster.fleet import Fleet, Node, Rail, SshAccess
from muster.progress import Progress
from muster.readiness import Readiness, Verdict
from muster.report.model import PAIRS_FILE
from muster.runstore import Run

TARGET = "simulation"
NODE_SPREAD = 0.005
_STAGE = "pairs"
_FLOOR_SHARE = 0.9
"""A fleet whose median is below so much of the rate it should have is low as a whole."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Simulation:
    """What is simulated. Noise and transients as in `SimulatedFleet`; `rate_bps` per rail."""

    fabric: Fabric
    faults: Sequence[Fault]
    seed: int
    rate_bps: float
    noise: float
    transients: float
    policy: Policy
    wanted: int

    def policy_with_floor(self) -> Policy:
        """Return the policy with the floor that a catalog would give."""
        floor = _FLOOR_SHARE * self.rate_bps
        return replace(self.policy, floor_bps={"intra": floor, "cross": floor})


def fabric_of(nodes: int, leaf_size: int, rails: int) -> Fabric:
    """Return nodes n0, n1, ... on leaves leaf0, leaf1, ...; the last leaf may be smaller."""
    names = [f"n{number}" for number in range(nodes)]
    starts = range(0, nodes, leaf_size)
    leaves = {f"leaf{start // leaf_size}": names[start : start + leaf_size] for start in starts}
    return Fabric(leaves, rails)


def fleet_of(fabric: Fabric) -> Fleet:
    """Return the fleet document that reports are drawn from."""
    leaf_of = fabric.leaf_of()
    head = _node("head", "", 0)
    nodes = tuple(_node(name, leaf_of[name], fabric.rails) for name in fabric.nodes())
    access = SshAccess(key_file="", known_hosts_file="")
    return Fleet(stack=TARGET, target=TARGET, ssh=access, head=head, nodes=nodes)


def _node(name: str, leaf: str, rails: int) -> Node:
    return Node(
        name=name,
        serial=f"simulated-{name}",
        pool=TARGET,
        type=TARGET,
        address="",
        host_key="",
        leaf=leaf,
        rails=tuple(Rail(index=n, interface=f"rail{n}", address="") for n in range(rails)),
    )


def simulate(
    simulation: Simulation, *, run: Run, clock: Clock, progress: Progress
) -> LocateVerdict:
    """Measure, locate and judge a simulated fleet; the answer is also in the run's directory."""
    fleet = fleet_of(simulation.fabric)
    run.event(
        "begun", simulated=True, faults=[f.text for f in simulation.faults], seed=simulation.seed
    )
    rounds = _Rounds(simulation=simulation, run=run, progress=progress)
    verdict = locate(simulation.fabric, rounds.measure, simulation.policy_with_floor())
    usual = median([c.median_bps for c in verdict.classes]) if verdict.classes else None
    findings = _findings(fleet, verdict, rounds, usual)
    stored = [run.append(finding) for finding in findings]
    waivers = _waivers(clock.now().date())
    run.event("not-run", checks=list(waivers), reason="there is no machine to look at")
    decision = decide(fleet.nodes, Evidence(findings=stored, located=verdict, waivers=waivers))
    for name, check in decision.drain.items():
        run.event("would-drain", node=name, reason=check)
    readiness = _readiness(decision, simulation, run, clock)
    run.write_readiness(readiness)
    run.event("ended", ready=readiness.ready, reason=readiness.reason)
    return verdict


@dataclass(kw_only=True)
class _Rounds:
    """Answers what `locate` asks, and keeps every measurement as a real run does."""

    simulation: Simulation
    run: Run
    progress: Progress
    number: int = 0
    counts: dict[str, dict[int, list[float]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )

    def __post_init__(self) -> None:
        asked = self.simulation
        self.fleet = SimulatedFleet(
            fabric=asked.fabric,
            seed=asked.seed,
            rate_bps=asked.rate_bps,
            noise=asked.noise,
            node_spread=NODE_SPREAD,
            transient_rate=asked.transients,
            **join(asked.faults),
        )
        self.leaf_of = asked.fabric.leaf_of()

    def measure(self, pairs: list[Pair]) -> list[Measurement]:
        """Measure one round."""
        self.progress(f"simulate: pair tests, round {self.number + 1}, {len(pairs)} links")
        found = self.fleet.measure(pairs)
        lines = []
        for m in found:
            same = self.leaf_of[m.pair.a] == self.leaf_of[m.pair.b]
            record = {
                "round": self.number,
                "a": m.pair.a,
                "b": m.pair.b,
                "rail": m.pair.rail,
                "value_bps": m.value,
                "valid": m.valid,
                "counters": dict(m.counters),
                "kind": "intra" if same else "cross",
            }
            lines.append(json.dumps(record))
            if m.valid and m.pair.rail is not None:
                for name in (m.pair.a, m.pair.b):
                    self.counts[name][m.pair.rail].append(m.counters["retransmits"])
        append_line(self.run.directory / PAIRS_FILE, "\n".join(lines))
        self.number += 1
        return found

    def retransmits(self) -> dict[str, dict[int, float]]:
        """Return each node's usual count per test, by rail."""
        return {n: {r: median(v) for r, v in rails.items()} for n, rails in self.counts.items()}


def _findings(
    fleet: Fleet, verdict: LocateVerdict, rounds: _Rounds, usual: float | None
) -> list[Finding]:
    counts = rounds.retransmits()
    limit = rounds.simulation.policy.counter_limits["retransmits"]
    by_rail = {
        rail: median([c[rail] for c in counts.values() if rail in c] or [0.0])
        for rail in range(rounds.simulation.fabric.rails)
    }
    found = []
    for node in fleet.nodes:
        said = verdict.nodes[node.name]
        # The peers' median is the fleet's: computed once, not once a node.
        own = {node.name: counts[node.name]} if node.name in counts else {}
        blamed = said.verdict is Verdict.QUARANTINED
        about = {
            "stage": _STAGE,
            "node": node.name,
            "serial": node.serial,
            "shape": node.type,
            "evidence": (PAIRS_FILE,),
        }
        lost = pair_retransmits.judge(
            node.name, {**own, "peers": by_rail}, limit=limit, blamed=blamed
        )
        found += [
            pair_bandwidth.judge(said, median_bps=usual, rails=len(node.rails)).model_copy(
                update=about
            ),
            lost.model_copy(update={**about, "n": len(counts)}),
        ]
    return found


def _waivers(today: date) -> dict[str, Waiver]:
    """Waive what looks at a machine."""
    reason = "simulated: there is no machine to look at"
    return {c: Waiver(check=c, reason=reason, until=today) for c in ALL if c not in PAIRS}


def _readiness(decision: Decision, simulation: Simulation, run: Run, clock: Clock) -> Readiness:
    ready, reason = is_ready(decision, simulation.wanted)
    count = Counter(node.verdict for node in decision.nodes)
    return Readiness(
        stack=TARGET,
        run=run.id,
        time=clock.now(),
        ready=ready,
        reason=f"simulated: {reason}",
        wanted=simulation.wanted,
        accepted=count[Verdict.ACCEPTED],
        quarantined=count[Verdict.QUARANTINED],
        untested=count[Verdict.UNTESTED],
        suspect=count[Verdict.SUSPECT],
        fleet=decision.components,
        nodes=decision.nodes,
    )
