"""A fleet's machines get the roles of their hardware, or nothing is installed at all."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from muster.catalog import load_catalog
from muster.catalog.software import load_hardware
from muster.converge.digest import PLAYBOOKS
from muster.converge.release import system_of
from muster.errors import UsageError
from muster.fleet import Fleet, Mount, Node, SshAccess
from muster.software.fleet import refuse_unknown, uses_of
from muster.software.selection import ROLE_ORDER
from tests.unit.software.rows import row

KEY = "ssh-ed25519 AAAA"


def node(name: str, type_: str) -> Node:
    return Node(
        name=name, serial=name, pool="p", type=type_, address="10.0.0.1", host_key=KEY, leaf="a"
    )


def fleet(**more: Any) -> Fleet:
    return Fleet(
        stack="s",
        target="aws",
        ssh=SshAccess(key_file="k", known_hosts_file="h"),
        head=node("head", "m7i.2xlarge"),
        nodes=(node("gpu-1", "p5.48xlarge"), node("cpu-1", "m7i.4xlarge")),
        **more,
    )


def roles(of: Fleet) -> dict[str, set[str]]:
    systems = {"head": "debian-12", "gpu-1": "ubuntu-24.04", "cpu-1": "al2023"}
    uses = uses_of(of, row(), systems, load_catalog(), load_hardware())  # type: ignore[arg-type]
    return {name: {use.role for use in found} for name, found in uses.items()}


def test_each_machine_has_the_roles_of_its_own_hardware() -> None:
    found = roles(fleet())
    assert {"nvidia_driver", "nvidia_fabric", "efa", "enroot_pyxis"} <= found["gpu-1"]
    assert not {"nvidia_driver", "efa"} & found["cpu-1"]
    assert found["head"] == {"packages", "kernel_hold", "tuning", "reboot"}


def test_head_and_nodes_have_the_client_of_what_they_mount() -> None:
    mount = Mount(path="/fsx", source="fs-1@tcp:/a", kind="lustre", options="noatime")
    found = roles(fleet(mounts=(mount,)))
    assert all("lustre_client" in names for names in found.values())


def test_what_is_not_known_stops_it_before_anything_is_installed() -> None:
    broken = row(cuda={"role": "cuda", "version": "", "source": "muster-choice"})
    systems = dict.fromkeys(("head", "gpu-1", "cpu-1"), "ubuntu-24.04")
    uses = uses_of(fleet(), broken, systems, load_catalog(), load_hardware())  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="cuda") as refused:
        refuse_unknown(uses, broken.name)
    assert "\n" not in str(refused.value)


def test_plays_run_in_the_order_of_the_selection_each_over_those_that_need_it() -> None:
    plays = yaml.safe_load((PLAYBOOKS / "software.yml").read_text(encoding="utf-8"))
    assert [play["hosts"] for play in plays] == [f"software_{role}" for role in ROLE_ORDER]
    assert [[r["role"] for r in play["roles"]] for play in plays] == [[r] for r in ROLE_ORDER]


@pytest.mark.parametrize(
    ("text", "system"),
    [
        ('ID=debian\nVERSION_ID="13"\n', "debian-13"),
        ('NAME="Ubuntu"\nID=ubuntu\nVERSION_ID="24.04"\n', "ubuntu-24.04"),
        ('ID="rocky"\nVERSION_ID="9.5"\n', "rhel-9"),
        ('ID="amzn"\nVERSION_ID="2023"\n', "al2023"),
    ],
)
def test_the_operating_system_is_read_from_the_machine(text: str, system: str) -> None:
    assert system_of(text, where="gpu-1") == system


@pytest.mark.parametrize(
    "text", ["", "ID=debian\n", "ID=arch\n", 'ID=ubuntu\nVERSION_ID="20.04"\n']
)
def test_a_system_that_the_matrix_does_not_know_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="gpu-1"):
        system_of(text, where="gpu-1")
