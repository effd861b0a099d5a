"""What a person does next about something that is not accepted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from muster.readiness import Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One thing to do; `command` is ready to paste, or empty."""

    text: str
    command: str = ""


# Part at fault -> where a person looks first. {0} is the part's index or name, {node} the node.
_BY_COMPONENT = {
    "rail": "Look at rail {0} of {node}: cable, optic, switch port, then the card.",
    "gpu": "Look at GPU {0} of {node}: reset it, then reboot; if it comes back, replace the node.",
    "leaf": "Look at the uplinks of {0}: cables, optics, spine ports. No node is to blame.",
    "node": "Look at {node} itself, by the evidence here.",
    "spine": "Look at the spine: paths between leaves are slow, paths inside a leaf are not.",
    "path": "Add a third leaf to tell which end it is, or look at both uplinks.",
    "fleet": "All nodes are affected alike: look at what they share before any single node.",
}


def component_kinds(component: str) -> tuple[tuple[str, str], ...]:
    """Split "leaf:leaf1 rail:0" or "rail:0,rail:1" into (kind, name)."""
    parts = [part.partition(":") for part in re.split(r"[\s,+]+", component) if part]
    return tuple((kind, name) for kind, _, name in parts)


def say_component(component: str) -> str:
    """Write "leaf:leaf1 rail:0" as "leaf1 rail 0", "gpu:6" as "GPU 6", "node" as ""."""
    words = {"rail": "rail ", "gpu": "GPU ", "leaf": ""}
    named = [
        words.get(kind, f"{kind} ") + name if name else kind
        for kind, name in component_kinds(component)
        if kind != "node" or name
    ]
    return " ".join(named)


def next_steps(
    *, stack: str, nodes: Sequence[str], component: str, verdict: str, checks: Sequence[str]
) -> tuple[Step, ...]:
    """Return the steps in order; `checks` are those that did not pass."""
    steps = []
    if verdict == Verdict.UNTESTED or (verdict in {"", "accepted"} and checks):
        steps.append(
            Step(text="Nothing is proved here, good or bad: find out why the test could not run.")
        )
    steps += [Step(text=text) for text in _where_to_look(component, nodes)]
    steps += [
        Step(text=f"What the check looks at, and how to run it by hand: docs/checks/{check}.md.")
        for check in dict.fromkeys(checks)
    ]
    if verdict == Verdict.QUARANTINED and nodes:
        text = "Once it is mended, let it back in:" if len(nodes) == 1 else "Let back in each one:"
        name = nodes[0] if len(nodes) == 1 else "NODE"
        steps.append(Step(text=text, command=f"muster release {stack} {name}"))
    if verdict != "waived":
        steps.append(Step(text="Prove it again:", command=f"muster accept {stack}"))
    return tuple(steps)


def _where_to_look(component: str, nodes: Sequence[str]) -> list[str]:
    node = nodes[0] if len(nodes) == 1 else "each node"
    found = component_kinds(component)
    kinds = [(kind, name) for kind, name in found if kind in _BY_COMPONENT]
    if any(kind == "leaf" for kind, _ in kinds):
        kinds = [(kind, name) for kind, name in kinds if kind == "leaf"]
    return [_BY_COMPONENT[kind].format(name, node=node) for kind, name in kinds]
