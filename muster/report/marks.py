"""What the verdict names in the fabric: nodes, rails, uplinks, the spine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from muster.readiness import Readiness, Verdict
from muster.report.advice import component_kinds
from muster.report.links import Rail


def node_marks(readiness: Readiness | None) -> dict[str, str]:
    """Return the verdict of every node that is not accepted."""
    nodes = () if readiness is None else readiness.nodes
    return {n.node: n.verdict.value for n in nodes if n.verdict is not Verdict.ACCEPTED}


def bad_rails(readiness: Readiness | None, rails: Sequence[Rail]) -> Iterable[tuple[str, Rail]]:
    """Yield the node-rails that a verdict names."""
    for node in () if readiness is None else readiness.nodes:
        if node.verdict is not Verdict.ACCEPTED:
            for rail in _named_rails(node.component, rails):
                yield node.node, rail


def bad_leaves(
    readiness: Readiness | None, rails: Sequence[Rail]
) -> Iterable[tuple[str, tuple[Rail, ...]]]:
    """Leaves that a verdict names, with the rails it names; all rails where it names none."""
    for part in () if readiness is None else readiness.fleet:
        if part.verdict is Verdict.ACCEPTED:
            continue
        for kind, name in component_kinds(part.component):
            if kind == "leaf":
                yield name, tuple(_named_rails(part.component, rails)) or tuple(rails)


def spine_mark(readiness: Readiness | None) -> str:
    """Return the verdict on what lies between leaves: "spine", or "leaf0-leaf1 path"."""
    for part in () if readiness is None else readiness.fleet:
        kinds = {kind for kind, _ in component_kinds(part.component)}
        if part.verdict is not Verdict.ACCEPTED and kinds & {"spine", "path"}:
            return part.verdict.value
    return ""


def _named_rails(component: str, rails: Sequence[Rail]) -> list[Rail]:
    named = {name for kind, name in component_kinds(component) if kind == "rail"}
    return [rail for rail in rails if str(rail) in named]
