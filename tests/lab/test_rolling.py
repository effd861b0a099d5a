"""A rolling change of a working cluster: no job is lost, a kill ends well, reboots are proved."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from muster.catalog import load_catalog
from muster.clock import SystemClock
from muster.converge.converge import converge
from muster.converge.options import lab_options
from muster.converge.rolling import RollingLimits, RollingRecord, read_record
from muster.converge.rolling_stage import RECORD, roll
from muster.fleet import Fleet
from muster.lab.testing import TrialLab
from muster.progress import Progress, silent
from muster.remote import SshRemote, close_connections
from muster.schedulers.slurm import Slurm

pytestmark = [pytest.mark.lab, pytest.mark.slow]

LIMITS = RollingLimits(canary=1, wave=1, drain_timeout_s=180)
JOB = (
    "sbatch --parsable --reservation=muster-acceptance --nodelist=gpu-1 --output=/dev/null"
    " --wrap='sleep 20'"
)
PROGRAM = """\
import sys
from pathlib import Path
from tests.lab.test_rolling import change
from muster.fleet import load_fleet
store, sockets = Path(sys.argv[1]), Path(sys.argv[2])
change(load_fleet(store / "fleet.json"), store, sockets, lambda line: print(line, flush=True))
"""


def change(fleet: Fleet, store: Path, sockets: Path, progress: Progress) -> RollingRecord:
    """Run a rolling change; also what the process that is killed runs."""
    clock = SystemClock()
    remote = SshRemote(fleet, sockets)
    return roll(
        fleet,
        load_catalog().types,
        lab_options(),
        store,
        limits=LIMITS,
        remote=remote,
        scheduler=Slurm(remote, "head", clock),
        clock=clock,
        progress=progress,
    )


class Cluster:
    """A converged lab with a store of its own."""

    def __init__(self, lab: TrialLab, store: Path, sockets: Path) -> None:
        self.lab, self.store, self.sockets = lab, store, sockets
        self.fleet = lab.fleet()
        converge(self.fleet, load_catalog().types, lab_options(), store, silent)

    def head(self, command: str) -> str:
        done = self.lab.ssh("head", command, timeout_s=90)
        assert done.ok, done.stderr
        return done.stdout.strip()

    def boot_ids(self) -> dict[str, str]:
        ask = "cat /proc/sys/kernel/random/boot_id"
        return {n.name: self.lab.ssh(n.name, ask).stdout.strip() for n in self.fleet.nodes}

    def roll(self) -> RollingRecord:
        return change(self.fleet, self.store, self.sockets, silent)

    def record(self) -> RollingRecord:
        return read_record((self.store / RECORD).read_text(encoding="utf-8"))

    def reasons(self) -> set[str]:
        return set(self.head("sinfo --noheader --Node --format=%E").splitlines())


@pytest.fixture(scope="module")
def cluster(
    make_lab: Callable[..., TrialLab], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    sockets = tmp_path_factory.mktemp("s")
    yield Cluster(make_lab(nodes=2, leaves=2), tmp_path_factory.mktemp("store"), sockets)
    close_connections(sockets)


def test_only_the_node_that_asked_is_rebooted_and_no_job_is_lost(cluster: Cluster) -> None:
    before = cluster.boot_ids()
    reason = "mkdir -p /run/muster/reboot-required.d; echo 'kernel: moved' > $_/kernel"
    cluster.lab.ssh("gpu-2", reason)
    job = cluster.head(JOB)
    record = cluster.roll()
    assert record.ok, record
    after = cluster.boot_ids()
    assert after["gpu-1"] == before["gpu-1"]
    assert after["gpu-2"] not in {before["gpu-2"], ""}
    assert cluster.head(f"sacct --noheader -X -P -j {job} --format=state,exitcode") == (
        "COMPLETED|0:0"
    )
    assert cluster.reasons() == {"none"}


def test_a_change_killed_in_the_middle_of_a_wave_goes_on_and_ends(cluster: Cluster) -> None:
    (cluster.store / "fleet.json").write_text(cluster.fleet.model_dump_json(by_alias=True))
    argv = [sys.executable, "-c", PROGRAM, str(cluster.store), str(cluster.sockets)]
    project = Path(__file__).parents[2]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=project) as victim:
        assert victim.stdout is not None
        assert any("changing" in line for line in victim.stdout), "it ended too early"
        os.kill(victim.pid, signal.SIGKILL)
    cut_off = cluster.record()
    assert not cut_off.finished
    assert cluster.reasons() == {"none", cut_off.reason}
    record = cluster.roll()
    assert record.id == cut_off.id
    assert record.ok, record
    assert cluster.reasons() == {"none"}


def test_a_node_that_another_drained_is_left_to_them(cluster: Cluster) -> None:
    cluster.head("scontrol update nodename=gpu-2 state=drain reason='bad DIMM, Ann'")
    record = cluster.roll()
    assert {n: r.phase for n, r in record.nodes.items()} == {"gpu-1": "done", "gpu-2": "left"}
    assert cluster.reasons() == {"none", "bad DIMM, Ann"}
    cluster.head("scontrol update nodename=gpu-2 state=resume")
