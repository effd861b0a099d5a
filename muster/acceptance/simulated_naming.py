"""What was broken on purpose beside what was named. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muster.acceptance.locate import LocateVerdict
from muster.acceptance.simulated_faults import Fault
from muster.readiness import Verdict

NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Named:
    """One fault, or one part that was named without a fault of its own."""

    injected: str
    said: str
    right: bool

    @property
    def mark(self) -> str:
        """Right or wrong, in a word."""
        return "right" if self.right else "wrong"


def compare(faults: Sequence[Fault], verdict: LocateVerdict) -> list[Named]:
    """Say for each fault what became of it; then what else was accused."""
    rows = [_of_fault(fault, verdict) for fault in faults]
    explained = {fault.node for fault in faults}
    rows += [
        Named("nothing", f"{node} {found.component}: {found.verdict.value}", right=False)
        for node, found in verdict.nodes.items()
        if node not in explained and found.verdict in {Verdict.QUARANTINED, Verdict.SUSPECT}
    ]
    leaves = {fault.component for fault in faults}
    rows += [
        Named("nothing", found.component, right=False)
        for found in verdict.leaves.values()
        if found.component not in leaves
    ]
    return rows


def _of_fault(fault: Fault, verdict: LocateVerdict) -> Named:
    injected = (
        f"{fault.text} ({fault.node})"
        if fault.node and fault.node not in fault.text
        else fault.text
    )
    if fault.node:
        found = verdict.nodes[fault.node]
        wanted = Verdict.UNTESTED if "dead" in fault.arguments else Verdict.QUARANTINED
        right = found.verdict is wanted and found.component == fault.component
        said = f"{fault.node} {found.component}".strip() + f": {found.verdict.value}"
        return Named(injected, said, right)
    if fault.component == "fleet":
        fleet = verdict.fleet
        quiet = all(v.verdict is not Verdict.QUARANTINED for v in verdict.nodes.values())
        right = fleet.verdict is not Verdict.ACCEPTED and fleet.component == "fleet" and quiet
        return Named(injected, f"{fleet.component or NOBODY}: {fleet.verdict.value}", right)
    if fault.component:
        components = [leaf.component for leaf in verdict.leaves.values()]
        right = fault.component in components
        return Named(injected, ", ".join(components) or NOBODY, right)
    accused = [n for n, v in verdict.nodes.items() if v.verdict is Verdict.QUARANTINED]
    return Named(injected, f"{len(accused)} nodes" if accused else NOBODY, right=not accused)
