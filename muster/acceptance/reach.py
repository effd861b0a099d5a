"""Which nodes answer at all? Pure: reach_probe.py's document in, what each node is fit for out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muster.acceptance.facts import Problem


@dataclass(frozen=True, kw_only=True, slots=True)
class Reach:
    """How a node answered the head; see node/reach_probe.py for the words."""

    ssh: str
    slurmd: str

    @property
    def by_step(self) -> bool:
        """Can a step be started there? A node whose programs stand still would only hold it up."""
        return self.slurmd == "open" and self.ssh != "silent"

    @property
    def by_ssh(self) -> bool:
        """Does it answer a login?"""
        return self.ssh == "answers"

    def describe(self) -> str:
        """Say in words what was seen."""
        if self.ssh == "silent":
            return "is hung: it accepts connections, but no program answers (no ssh banner)"
        return f"does not answer (ssh {self.ssh}, slurmd {self.slurmd})"


def parse_reach(text: str) -> Mapping[str, Reach] | Problem:
    """Read the document."""
    try:
        document: dict[str, Any] = json.loads(text)
        return {
            name: Reach(ssh=str(states["ssh"]), slurmd=str(states["slurmd"]))
            for name, states in document.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return Problem(f"the probe's output is cut short or of another form ({error})")
