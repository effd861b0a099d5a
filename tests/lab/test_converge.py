"""Converging real nodes: a Slurm that runs jobs, and every way back to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from muster.catalog import load_catalog
from muster.converge.converge import ConvergeError, ConvergeResult, converge
from muster.converge.options import lab_options
from muster.errors import MusterError
from muster.lab.testing import TrialLab
from muster.progress import silent

pytestmark = pytest.mark.lab

RESERVED = "--reservation=muster-acceptance"


class Cluster:
    """A lab with a store of its own."""

    def __init__(self, lab: TrialLab, store: Path) -> None:
        self.lab = lab
        self.store = store
        self.fleet = lab.fleet()
        self.types = load_catalog().types

    def converge(self, *, check: bool = False) -> ConvergeResult:
        return converge(self.fleet, self.types, lab_options(), self.store, silent, check=check)

    def head(self, command: str) -> str:
        done = self.lab.ssh("head", command, timeout_s=90)
        assert done.ok, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def fresh(make_lab: Callable[..., TrialLab], tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    return Cluster(make_lab(nodes=2, leaves=2), tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def cluster(fresh: Cluster) -> Cluster:
    """A cluster that converged after a dry run, a kill in the middle, and a second try."""
    assert fresh.converge(check=True).changed > 0
    assert fresh.lab.ssh("head", "systemctl is-active slurmctld").stdout.strip() == "inactive"
    _kill_in_the_middle(fresh)
    assert fresh.converge().changed > 0
    return fresh


def _kill_in_the_middle(cluster: Cluster) -> None:
    """Send kill -9 to a converge at its first restart; nothing of Ansible may go on for long."""
    (cluster.store / "fleet.json").write_text(cluster.fleet.model_dump_json(by_alias=True))
    program = (
        "import sys\nfrom pathlib import Path\nfrom muster.catalog import load_catalog\n"
        "from muster.converge.converge import converge\n"
        "from muster.converge.options import lab_options\nfrom muster.fleet import load_fleet\n"
        "store = Path(sys.argv[1])\n"
        "converge(load_fleet(store / 'fleet.json'), load_catalog().types, lab_options(), store,"
        " lambda line: print(line, flush=True))\n"
    )
    argv = [sys.executable, "-c", program, str(cluster.store)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as victim:
        assert victim.stdout is not None
        assert any("Restart munge" in line for line in victim.stdout), "it ended too early"
        children = psutil.Process(victim.pid).children(recursive=True)
        os.kill(victim.pid, signal.SIGKILL)
    playbooks = [c for c in children if c.pid != victim.pid and _is_ansible(c)]
    deadline = time.monotonic() + 20
    while any(_is_ansible(child) for child in playbooks) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not [child for child in playbooks if _is_ansible(child)]


def _is_ansible(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE and any(
            "ansible-playbook" in word for word in process.cmdline()
        )
    except psutil.NoSuchProcess:
        return False


def test_jobs_run_on_all_gpus_and_are_accounted(cluster: Cluster) -> None:
    out = cluster.head(f"timeout 60 srun -N2 --gpus-per-node=8 {RESERVED} hostname")
    assert sorted(out.split()) == ["gpu-1", "gpu-2"]
    cluster.head("sleep 2")
    rows = cluster.head("sacct -n -X -P -a -o state,alloctres")
    assert "gres/gpu=16" in rows
    assert " pass" in cluster.lab.ssh("gpu-1", "cat /run/muster/prolog.log").stdout


def test_topology_is_the_fabric(cluster: Cluster) -> None:
    out = cluster.head(f"timeout 60 srun -N2 {RESERVED} sh -c 'echo $SLURM_TOPOLOGY_ADDR' | sort")
    assert out.split() == ["spine.leaf0.gpu-1", "spine.leaf1.gpu-2"]


def test_nodes_that_were_never_accepted_are_out_of_reach(cluster: Cluster) -> None:
    done = cluster.lab.ssh("head", "timeout 60 srun --immediate=2 -N1 hostname")
    assert not done.ok


def test_second_converge_changes_nothing_and_so_does_a_dry_run(cluster: Cluster) -> None:
    assert cluster.converge().changed_tasks == ()
    assert cluster.converge(check=True).changed == 0


def test_drift_is_corrected_and_named(cluster: Cluster) -> None:
    cluster.lab.ssh("gpu-2", "echo drift >> /etc/hosts; systemctl stop slurmd")
    cluster.head("echo '# drift' >> /etc/slurm/slurm.conf")
    result = cluster.converge()
    assert "drift" not in cluster.lab.ssh("gpu-2", "cat /etc/hosts").stdout
    assert "drift" not in cluster.head("cat /etc/slurm/slurm.conf")
    assert {task.split(":")[0] for task in result.changed_tasks} == {"gpu-2", "head"}
    assert cluster.lab.ssh("gpu-2", "systemctl is-active slurmd").stdout.strip() == "active"


def test_configuration_that_slurm_refuses_is_not_put_in_place(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "templates"
    subprocess.run(["cp", "-r", Path(__file__).parents[2] / "templates", broken], check=True)
    with (broken / "slurm" / "slurm.conf.j2").open("a", encoding="utf-8") as stream:
        stream.write("NoSuchKey=1\n")
    real = converge.__globals__["render"]
    monkeypatch.setitem(
        converge.__globals__, "render", lambda *a, **k: real(*a, **k, templates=broken)
    )
    before = cluster.head("cat /etc/slurm/slurm.conf")
    with pytest.raises(ConvergeError, match="head: slurmctld .*unrecognized key: NoSuchKey"):
        cluster.converge()
    assert cluster.head("cat /etc/slurm/slurm.conf") == before


def test_lost_gpu_drains_the_idle_node_with_our_reason(cluster: Cluster) -> None:
    state = cluster.lab.paths.node("gpu-2").merged / "etc" / "fakegpu" / "state.json"
    healthy = state.read_text(encoding="utf-8")
    state.write_text(json.dumps(json.loads(healthy) | {"gpus": {"3": {"state": "lost"}}}))
    reason = ""
    for _ in range(45):
        reason = cluster.head("sinfo -h -n gpu-2 -o %E").strip()
        if reason != "none":
            break
        time.sleep(1)
    state.write_text(healthy, encoding="utf-8")
    assert reason.startswith("muster:gpu-count:fail:health ")
    cluster.head("scontrol update nodename=gpu-2 state=resume")


def test_accepted_nodes_stay_with_their_users(cluster: Cluster) -> None:
    cluster.head(
        "scontrol delete reservation muster-acceptance && "
        "cut -d' ' -f1,2 /etc/muster/nodes > /var/lib/muster/accepted"
    )
    assert cluster.converge().changed == 0
    assert cluster.head("timeout 60 srun -N2 hostname | wc -l").strip() == "2"


def test_unreachable_node_is_named(cluster: Cluster) -> None:
    fleet = cluster.fleet
    lost = fleet.nodes[1].model_copy(update={"address": "127.0.0.9"})
    known = cluster.store / "known_hosts"
    text = Path(fleet.ssh.known_hosts_file).read_text(encoding="utf-8")
    known.write_text(f"{text}127.0.0.9 {lost.host_key}\n", encoding="utf-8")
    ssh = fleet.ssh.model_copy(update={"known_hosts_file": str(known), "port": 22})
    other = fleet.model_copy(update={"nodes": (fleet.nodes[0], lost), "ssh": ssh})
    with pytest.raises(MusterError, match="gpu-2: base : Ask for the packages"):
        converge(other, cluster.types, lab_options(), cluster.store, silent)
