"""A lab of one node per platform: fake hardware, and a package repository that real apt reads."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from muster.converge.inventory import Inventory
from muster.converge.result import PlaybookResult
from muster.lab import testing
from muster.lab.fakehw import install
from muster.lab.fakehw.platforms import PLATFORMS
from tests.lab.software import artefacts, plays, repository
from tests.lab.software.packages import DEBS, files
from tests.lab.software.platforms import Platforms
from tests.lab.software.uses import ROLES, uses

PROJECT = Path(__file__).parents[3]
REPOSITORY = "/shared/repository"


def _boot(lab_name: str) -> Platforms:
    """Boot a node per platform, with its hardware and the repository."""
    wish = testing.network_wish(lab_name, nodes=len(PLATFORMS), rails=1)
    lab = testing.bring_up(wish, project=PROJECT, head=False)
    repository.build(DEBS, lab.paths.shared / Path(REPOSITORY).name)
    artefacts.build(files(), lab.paths.shared / Path(artefacts.DIRECTORY).name)
    made = Platforms(lab, dict(zip(PLATFORMS, wish.node_names(), strict=True)))
    for platform in PLATFORMS:
        root = made.root(platform)
        install.install(root, copy.deepcopy(PLATFORMS[platform]))
        (root / "etc/apt/sources.list.d/lab.list").write_text(
            repository.source_line(REPOSITORY), encoding="utf-8"
        )
        made.ssh(platform, "/usr/local/lib/fakehw/fakehw boot && apt-get -qq update")
    return made


class Converged:
    """The platforms, and the plays over them."""

    def __init__(self, platforms: Platforms, work: Path) -> None:
        self.platforms = platforms
        self.work = work
        self.uses = uses()
        self.inventory: Inventory = plays.inventory(platforms, self.uses)

    def converge(self, *, check: bool = False) -> PlaybookResult:
        """Run playbooks/software.yml; a platform that is due for a reboot reboots."""
        return plays.run(plays.software(), self.inventory, self.work, check=check)

    def validate(self) -> PlaybookResult:
        """Run every role's validation."""
        wanted = plays.role_plays(ROLES, "validate")
        return plays.run(wanted, self.inventory, self.work)


@pytest.fixture(scope="package")
def converged(
    naming_labs: Callable[[], AbstractContextManager[Callable[[], str]]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Converged]:
    """Converge the platforms once for all tests of this folder: the costly part of them."""
    with naming_labs() as name:
        made = Converged(_boot(name()), tmp_path_factory.mktemp("software"))
        first = made.converge()
        assert first.ok, "\n".join(map(str, first.failures))
        assert first.changed > 0
        yield made
