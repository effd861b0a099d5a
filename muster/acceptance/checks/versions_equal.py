"""Does the node run the same kernel, scheduler and GPU driver as its peers?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from muster.acceptance.checks.outcome import failed, passed, unknown
from muster.acceptance.checks.view import NodeView
from muster.acceptance.facts import Facts, GpuState, Problem
from muster.findings import Finding

CHECK = "versions-equal"
Versions = Mapping[str, str | Problem]


def judge(node: str, fleet: Mapping[str, Versions]) -> Finding:
    """Compare with what more than half of the fleet has; without a majority nobody is blamed."""
    own = fleet[node]
    drift, unsure = [], []
    for part, version in own.items():
        if isinstance(version, Problem):
            unsure.append(f"{part}: {version.text}")
            continue
        votes = Counter(
            v for v in (peer.get(part) for peer in fleet.values()) if isinstance(v, str)
        )
        usual, count = votes.most_common(1)[0]
        if count * 2 <= votes.total():
            unsure.append(f"no version of {part} has a majority")
        elif version != usual:
            drift.append(f"{part} {version}, {count} of {votes.total()} nodes have {usual}")
    if drift:
        return failed(CHECK, "; ".join(drift), component="node", n=len(fleet))
    if unsure:
        return unknown(CHECK, "; ".join(unsure), n=len(fleet))
    what = ", ".join(f"{part} {version}" for part, version in own.items())
    return passed(CHECK, f"as {len(fleet)} nodes: {what}", n=len(fleet))


def versions_of(facts: Facts) -> Versions:
    """Take the versions out of a node's facts."""
    found: dict[str, str | Problem] = {"kernel": facts.kernel, "slurmd": facts.slurmd_version}
    if isinstance(facts.gpu, GpuState) and facts.gpu.gpus:
        found["driver"] = "/".join(sorted({gpu.driver for gpu in facts.gpu.gpus}))
    return found


def check(view: NodeView) -> Finding:
    """Judge one node."""
    if isinstance(view.facts, Problem):
        return unknown(CHECK, view.facts.text)
    peers = {name: versions_of(facts) for name, facts in view.fleet.items()}
    peers[view.expected.node] = versions_of(view.facts)
    return judge(view.expected.node, peers)
