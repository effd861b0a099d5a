"""Instances of the paper cloud that are lab nodes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from muster import shell
from muster.catalog import load_catalog
from muster.errors import MusterError
from muster.lab.model import NodeState
from muster.lab.node import node_state
from papercloud.cloud.machines import Launch, Machine
from papercloud.lab_machines import LabMachines

pytestmark = pytest.mark.lab

PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def lab(lab_names: Callable[[], str]) -> str:
    return lab_names()


@pytest.fixture(scope="module")
def machines(lab: str) -> Iterator[LabMachines]:
    kind = load_catalog().instance_type("paper.8gpu")
    made = LabMachines(lab, kind, places=1, project=PROJECT)
    yield made
    made.close()


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("key") / "id"
    shell.must_run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], timeout_s=30)
    return path


def test_an_instance_has_its_own_id_address_and_host_key_and_lets_its_user_in(
    machines: LabMachines, lab: str, key: Path, tmp_path: Path
) -> None:
    made = machines.start(launch("i-1", key))
    assert made.addresses is not None
    known = tmp_path / "known_hosts"
    known.write_text(f"{made.addresses[0]} {host_key(made)}\n", encoding="utf-8")
    assert ask(key, known, made, "cat /etc/muster/serial").stdout.strip() == "i-1"
    assert made.network_nodes[-1] == "nn-lab-leaf0"
    assert len(made.addresses) == 3

    with pytest.raises(MusterError, match="no free place"):
        machines.start(launch("i-2", key))

    machines.stop("i-1")
    assert node_state(lab, "place-1") is NodeState.ABSENT
    second = machines.start(launch("i-2", key))
    assert host_key(second) != host_key(made), "a successor is another machine"


def launch(instance_id: str, key: Path) -> Launch:
    public = key.with_suffix(".pub").read_text(encoding="utf-8").strip()
    config = {"users": [{"name": "root", "ssh_authorized_keys": [public]}]}
    return Launch(
        instance_id=instance_id,
        instance_type="paper.8gpu",
        pool_tags={"muster:pool": "train"},
        user_data=f"#cloud-config\n{yaml.safe_dump(config)}",
        interfaces=3,
    )


def host_key(made: Machine) -> str:
    return " ".join(made.console.splitlines()[1].split()[:2])


def ask(key: Path, known: Path, made: Machine, command: str) -> subprocess.CompletedProcess[str]:
    options = ["-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes"]
    options += ["-o", f"UserKnownHostsFile={known}", "-o", "IdentitiesOnly=yes"]
    assert made.addresses is not None
    argv = ["ssh", "-F", "none", "-i", str(key), *options, f"root@{made.addresses[0]}", command]
    return subprocess.run(argv, capture_output=True, text=True, timeout=30, check=True)
