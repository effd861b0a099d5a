"""A lab whose nodes are the platforms."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from muster.lab.fakehw import install
from muster.lab.fakehw.platforms import State
from muster.lab.testing import TrialLab


@dataclass(frozen=True, slots=True)
class Platforms:
    """A lab whose nodes are the platforms."""

    lab: TrialLab
    nodes: dict[str, str]
    """Node by platform."""

    def root(self, platform: str) -> Path:
        """Return the root of a node, as the host sees it."""
        return self.lab.paths.node(self.nodes[platform]).merged

    def ssh(self, platform: str, command: str) -> str:
        """Run a command line on a node; it must succeed."""
        done = self.lab.ssh(self.nodes[platform], command, timeout_s=90)
        assert done.ok, f"{platform}: {command}: {done.stdout}{done.stderr}"
        return done.stdout

    def state(self, platform: str, state: State) -> None:
        """Give a node another state; the device tree follows."""
        install.write_state(self.root(platform), state)
        self.ssh(platform, "/usr/local/lib/fakehw/fakehw apply")
