"""A lab of one node per platform: fake hardware, and a package repository that real apt reads."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from muster.lab import testing
from muster.lab.fakehw import install
from muster.lab.fakehw.platforms import PLATFORMS, State
from muster.lab.testing import TrialLab
from tests.lab.software import artefacts, repository
from tests.lab.software.packages import DEBS, files

PROJECT = Path(__file__).parents[3]
REPOSITORY = "/shared/repository"


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


@pytest.fixture(scope="module")
def platforms(lab_names: Callable[[], str]) -> Platforms:
    """Boot a node per platform, with its hardware and the repository."""
    wish = testing.network_wish(lab_names(), nodes=len(PLATFORMS), rails=1)
    lab = testing.bring_up(wish, project=PROJECT, head=False)
    repository.build(DEBS, lab.paths.shared / Path(REPOSITORY).name)
    artefacts.build(files(), lab.paths.shared / Path(artefacts.DIRECTORY).name)
    nodes = dict(zip(PLATFORMS, wish.node_names(), strict=True))
    made = Platforms(lab, nodes)
    for platform in PLATFORMS:
        root = made.root(platform)
        install.install(root, copy.deepcopy(PLATFORMS[platform]))
        (root / "etc/apt/sources.list.d/lab.list").write_text(
            repository.source_line(REPOSITORY), encoding="utf-8"
        )
        made.ssh(platform, "/usr/local/lib/fakehw/fakehw boot && apt-get -qq update")
    return made
