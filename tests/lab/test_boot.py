"""Nodes that converge themselves: from a signed bundle, after a kill, and never from another."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from muster.catalog import load_catalog
from muster.clock import SystemClock
from muster.converge.boot import BootStatus, collect, enrol, follow, serve, start
from muster.converge.boot_bundle import publish_bundle
from muster.converge.boot_files import BootSettings
from muster.converge.converge import converge
from muster.converge.options import lab_options
from muster.converge.rolling import RollingLimits
from muster.converge.rolling_stage import roll
from muster.lab.testing import TrialLab
from muster.progress import silent
from muster.remote import SshRemote, close_connections
from muster.schedulers.slurm import Slurm

pytestmark = [pytest.mark.lab, pytest.mark.slow]

NODES = ("gpu-1", "gpu-2")
PORT = 8421
CONFIG = "/etc/muster/boot/config.json"
RESERVED = "--reservation=muster-acceptance"


class Cluster:
    """A lab whose nodes boot from a store of its own."""

    def __init__(self, lab: TrialLab, store: Path, sockets: Path) -> None:
        self.lab = lab
        self.store = store
        self.fleet = lab.fleet()
        self.types = load_catalog().types
        self.remote = SshRemote(self.fleet, sockets)
        self.bundle, self.directory = publish_bundle(self.fleet, self.types, lab_options(), store)

    def settings(self, source: str) -> BootSettings:
        return BootSettings(
            stack=self.fleet.stack,
            source=source,
            first_delay_s=1,
            longest_delay_s=4,
            reboot_allowed=False,
        )

    def serve(self) -> str:
        return serve(self.fleet, self.remote, self.directory, PORT)

    def enrol(self, source: str, names: tuple[str, ...] = NODES) -> None:
        assert enrol(self.fleet, names, self.settings(source), self.remote, self.store) == {}

    def follow(self, timeout_s: float = 240) -> dict[str, BootStatus]:
        clock = SystemClock()
        return follow(self.remote, NODES, self.bundle.sha256, clock, silent, timeout_s=timeout_s)

    def status(self, name: str) -> BootStatus:
        return collect(self.remote, [name])[name]

    def slurmd(self, name: str) -> str:
        return self.lab.ssh(name, "systemctl is-active slurmd").stdout.strip()

    def until(self, name: str, state: str, timeout_s: float = 60) -> BootStatus:
        deadline_s = time.monotonic() + timeout_s
        while (found := self.status(name)).state != state:
            assert time.monotonic() < deadline_s, found
            time.sleep(0.3)
        return found


@pytest.fixture(scope="module")
def fresh(
    make_lab: Callable[..., TrialLab], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    sockets = tmp_path_factory.mktemp("s")
    yield Cluster(make_lab(nodes=2, leaves=2), tmp_path_factory.mktemp("store"), sockets)
    close_connections(sockets)


@pytest.fixture(scope="module")
def cluster(fresh: Cluster) -> Cluster:
    """Both nodes booted while the head was converged by push; one was killed in the middle."""
    fresh.enrol(fresh.serve())
    fresh.until("gpu-1", "applying")
    time.sleep(3)
    fresh.lab.ssh("gpu-1", "systemctl kill --kill-whom=main --signal=KILL muster-boot")
    converge(fresh.fleet, fresh.types, lab_options(), fresh.store, silent, limit="head")
    found = fresh.follow()
    assert all(s.converged_with(fresh.bundle.sha256) for s in found.values()), found
    return fresh


def test_nodes_that_booted_run_jobs(cluster: Cluster) -> None:
    done = cluster.lab.ssh("head", f"timeout 60 srun -N2 {RESERVED} hostname", timeout_s=90)
    assert sorted(done.stdout.split()) == list(NODES)


def test_the_node_that_was_killed_began_again(cluster: Cluster) -> None:
    done = cluster.lab.ssh("gpu-1", "systemctl show muster-boot --property=NRestarts --value")
    assert int(done.stdout) >= 1


def test_a_second_start_changes_nothing(cluster: Cluster) -> None:
    for name in NODES:
        start(cluster.remote, name)
    found = cluster.follow()
    assert {name: status.changed for name, status in found.items()} == dict.fromkeys(NODES, 0)


def test_a_push_finds_nothing_to_change_after_a_boot(cluster: Cluster) -> None:
    done = converge(cluster.fleet, cluster.types, lab_options(), cluster.store, silent)
    assert done.changed_tasks == ()


def test_no_secret_came_with_the_bundle(cluster: Cluster) -> None:
    key = "$(cat /etc/munge/munge.key)"
    search = f'grep -rlF -- "{key}" /var/lib/muster/boot /srv/muster 2>/dev/null; echo done'
    for name in ("head", "gpu-1"):
        assert cluster.lab.ssh(name, search).stdout.strip() == "done"


def _unsigned(files: dict[str, bytes], archive: str) -> None:
    assert archive in files
    del files["release.json.sig"]


def _altered(files: dict[str, bytes], archive: str) -> None:
    files[archive] = files[archive][:5000] + b"\x00" + files[archive][5001:]


def _half(files: dict[str, bytes], archive: str) -> None:
    files[archive] = files[archive][: len(files[archive]) // 2]


def _restated(files: dict[str, bytes], archive: str) -> None:
    assert archive in files
    record: dict[str, Any] = json.loads(files["release.json"])
    files["release.json"] = json.dumps(record | {"sequence": 99}).encode()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_unsigned, "is not signed"),
        (_restated, "not signed by the stack's key"),
        (_altered, "sha256 is"),
        (_half, "were signed"),
    ],
)
def test_a_node_that_reboots_to_a_wrong_bundle_stays_out_of_service(
    cluster: Cluster, spoil: Callable[[dict[str, bytes], str], None], said: str
) -> None:
    """The path on the node stands for a copy that someone pushed."""
    files = {path.name: path.read_bytes() for path in cluster.directory.iterdir()}
    spoil(files, cluster.bundle.name)
    pushed = cluster.lab.paths.node("gpu-2").merged / "root" / "pushed"
    pushed.mkdir(exist_ok=True)
    for old in pushed.iterdir():
        old.unlink()
    for name, data in files.items():
        (pushed / name).write_bytes(data)
    # As after a reboot of a machine that has not seen the bundle: /run is empty.
    cluster.lab.ssh(
        "gpu-2",
        f"systemctl stop muster-boot; rm -rf /run/muster/boot /var/lib/muster/boot/"
        f"{cluster.bundle.sha256}*",
    )
    cluster.enrol("/root/pushed", ("gpu-2",))
    status = cluster.until("gpu-2", "refused")
    assert said in status.message
    assert not status.in_service
    assert cluster.slurmd("gpu-2") == "inactive"
    cluster.lab.ssh("gpu-2", "systemctl start slurmd")
    assert cluster.slurmd("gpu-2") == "inactive"


def test_a_node_is_in_service_again_with_the_right_bundle(cluster: Cluster) -> None:
    cluster.enrol(f"http://{cluster.fleet.head.address}:{PORT}", ("gpu-2",))
    assert cluster.follow()["gpu-2"].converged_with(cluster.bundle.sha256)
    assert cluster.slurmd("gpu-2") == "active"


def test_a_rolling_change_gives_booted_nodes_a_new_bundle_and_they_reboot_themselves(
    cluster: Cluster,
) -> None:
    """Only the node that asked for a reboot has another boot id afterwards; both are in service."""
    ask = "cat /proc/sys/kernel/random/boot_id"
    before = {name: cluster.lab.ssh(name, ask).stdout for name in NODES}
    allow = 's/"reboot_allowed": false/"reboot_allowed": true/'
    cluster.lab.ssh("gpu-2", f"sed -i '{allow}' {CONFIG}")
    reason = "mkdir -p /run/muster/reboot-required.d; echo 'kernel: moved' > $_/kernel"
    cluster.lab.ssh("gpu-2", reason)
    (cluster.store / "boot.json").write_text('{"source": ""}', encoding="utf-8")
    record = roll(
        cluster.fleet,
        cluster.types,
        replace(lab_options(), nofile=524_288),
        cluster.store,
        limits=RollingLimits(canary=1, wave=1),
        remote=cluster.remote,
        scheduler=Slurm(cluster.remote, "head", SystemClock()),
        clock=SystemClock(),
        progress=silent,
    )
    assert record.ok, record
    after = {name: cluster.lab.ssh(name, ask).stdout for name in NODES}
    assert {name for name in NODES if before[name] != after[name]} == {"gpu-2"}
    for name in NODES:
        found = cluster.status(name)
        assert found.converged_with(found.bundle)
        assert found.bundle != cluster.bundle.sha256
        limit = cluster.lab.ssh(name, "systemctl show slurmd --property=LimitNOFILE --value")
        assert limit.stdout.strip() == "524288"
