"""The inventory: who is in which group, and whose key is checked."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from muster.converge.inventory import build_inventory
from muster.converge.options import ConvergeOptions
from muster.converge.slurm_config import render
from muster.errors import UsageError
from muster.fleet import Fleet
from tests.unit.converge.sample import TYPES, known_hosts, mixed_fleet


def inventory(
    of: Fleet, *, known: str | None = None, options: ConvergeOptions | None = None
) -> Any:
    options = options or ConvergeOptions()
    return build_inventory(
        of,
        TYPES,
        render(of, TYPES, options),
        options,
        rendered=Path("/r"),
        munge_key=Path("/secrets/munge.key"),
        known_hosts=known_hosts(of) if known is None else known,
    )["all"]


def test_groups_hold_the_head_all_nodes_gpu_nodes_and_pools() -> None:
    groups = inventory(mixed_fleet())["children"]
    members = {name: list(group["hosts"]) for name, group in groups.items()}
    train, cpu = ["train-1", "train-2", "train-3", "train-5"], ["cpu-1", "cpu-2"]
    assert members == {
        "head": ["head"],
        "slurm_nodes": train + cpu,
        "mounting_machines": [],
        "named_machines": [],
        "gpu_nodes": train,
        "pool_train": train,
        "pool_cpu": cpu,
    }


def test_files_of_a_role_go_to_the_machines_of_their_scope() -> None:
    groups = inventory(mixed_fleet())["children"]
    head = {entry["path"] for entry in groups["head"]["vars"]["slurm_hooks_files"]}
    nodes = {entry["path"] for entry in groups["slurm_nodes"]["vars"]["slurm_hooks_files"]}
    assert "/etc/slurm/prolog.sh" in head
    assert "/usr/local/sbin/muster-node-health" in nodes
    assert not head & nodes


def test_texts_and_secrets_stay_out_of_the_inventory() -> None:
    text = json.dumps(inventory(mixed_fleet()))
    assert "ClusterName" not in text
    assert "/secrets/munge.key" in text


def test_host_without_a_known_key_is_refused_by_name() -> None:
    of = mixed_fleet()
    lines = [line for line in known_hosts(of).splitlines() if not line.startswith("10.0.0.22 ")]
    with pytest.raises(UsageError, match=r"no line with the host key of train-2\."):
        inventory(of, known="\n".join(lines))


def test_another_key_for_an_address_is_refused() -> None:
    of = mixed_fleet()
    with pytest.raises(UsageError, match="host key of train-2"):
        inventory(of, known=known_hosts(of).replace("KEY22", "KEY99"))


def test_key_of_a_port_that_is_not_22_is_found() -> None:
    of = mixed_fleet()
    moved = of.model_copy(update={"ssh": of.ssh.model_copy(update={"port": 2222})})
    known = "".join(f"[{n.address}]:2222 {n.host_key}\n" for n in (of.head, *of.nodes))
    assert inventory(moved, known=known)["vars"]["ansible_port"] == 2222


def cloud_fleet() -> Fleet:
    """Return a fleet that is reached as a user, through a proxy, and known by serial."""
    of = mixed_fleet()
    access = {"user": "ubuntu", "via": "sessionManager", "region": "r1", "known_by": "serial"}
    return of.model_copy(update={"ssh": of.ssh.model_copy(update=access)})


def test_nodes_known_by_serial_are_checked_by_it() -> None:
    of = cloud_fleet()
    known = "".join(f"{n.serial} {n.host_key}\n" for n in (of.head, *of.nodes))
    found = inventory(of, known=known)
    arguments = shlex.split(found["hosts"]["train-1"]["ansible_ssh_common_args"])
    assert f"HostKeyAlias={of.node('train-1').serial}" in arguments
    assert any(word.startswith("ProxyCommand=aws ssm start-session") for word in arguments)
    with pytest.raises(UsageError, match="host key of head"):
        inventory(of, known=known_hosts(of))


def test_only_a_user_who_is_not_root_becomes_root() -> None:
    of = cloud_fleet()
    known = "".join(f"{n.serial} {n.host_key}\n" for n in (of.head, *of.nodes))
    assert inventory(of, known=known)["vars"]["ansible_become"] is True
    assert inventory(mixed_fleet())["vars"]["ansible_become"] is False


def test_machines_are_named_by_us_only_where_nobody_else_named_them() -> None:
    found = inventory(mixed_fleet(), options=ConvergeOptions(set_hostname=True))
    assert set(found["children"]["named_machines"]["hosts"]) == set(found["hosts"])
