"""Acceptance on real nodes: a healthy lab is ready, and each real fault is named, and nothing else.

One lab of eight for all. What was never seen here stands in not_yet_seen.yaml.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from muster.acceptance.campaign import accept
from muster.acceptance.policy import for_shared_machine, load_policy
from muster.acceptance.request import AcceptRequest
from muster.catalog.load import load_catalog
from muster.clock import SystemClock
from muster.converge.converge import converge
from muster.converge.options import lab_options
from muster.converge.record import outcomes
from muster.lab import faults
from muster.lab.faults import Fault, Kind
from muster.lab.testing import TrialLab
from muster.progress import silent
from muster.readiness import Readiness, Verdict
from muster.remote import SshRemote, control_directory
from muster.runstore import RunStore
from muster.schedulers.slurm import Slurm

pytestmark = pytest.mark.lab

NODES = 8
QUARANTINED = Verdict.QUARANTINED


class Proved:
    """A lab that converged, and acceptance runs on it."""

    def __init__(self, lab: TrialLab, root: Path) -> None:
        self.lab = lab
        self.clock = SystemClock()
        self.store = RunStore(root, lab.name, self.clock)
        self.fleet = lab.fleet()
        self.remote = SshRemote(self.fleet, control_directory(self.store.directory))
        self.scheduler = Slurm(self.remote, "head", self.clock)
        catalog = load_catalog()
        converge(self.fleet, catalog.types, lab_options(), self.store.directory, silent)
        cores = os.cpu_count() or 1
        policy = for_shared_machine(load_policy("quick", catalog), cores=cores, pair_mbit=80)
        self.request = AcceptRequest(
            fleet=self.fleet,
            catalog=catalog,
            policy=policy,
            wanted=NODES,
            converge_failures=outcomes(self.fleet, ()),
        )

    def accept(self, *, brief: bool = False) -> Readiness:
        """Prove the lab; `brief` where the fault is not one of links: two rounds, not eight."""
        policy = self.request.policy
        pairs = policy.pairs.model_copy(update={"intra_rounds": 1, "cross_rounds": 2})
        request = replace(self.request, policy=policy.model_copy(update={"pairs": pairs}))
        return accept(
            request if brief else self.request,
            scheduler=self.scheduler,
            remote=self.remote,
            run=self.store.new_run(),
            clock=self.clock,
            progress=silent,
        )


@pytest.fixture(scope="module")
def proved(make_lab: Callable[..., TrialLab], tmp_path_factory: pytest.TempPathFactory) -> Proved:
    return Proved(make_lab(nodes=NODES, leaves=4), tmp_path_factory.mktemp("store"))


@pytest.fixture(autouse=True)
def _mended(proved: Proved) -> Iterator[None]:
    yield
    faults.mend(proved.lab.name)


def blamed(readiness: Readiness) -> dict[str, str]:
    """Who is not accepted, by the part at fault."""
    return {
        n.node: n.component if n.verdict is QUARANTINED else f"{n.verdict}: {'; '.join(n.reasons)}"
        for n in readiness.nodes
        if n.verdict is not Verdict.ACCEPTED
    }


def test_a_healthy_lab_is_ready_and_its_users_have_it(proved: Proved) -> None:
    readiness = proved.accept()
    assert readiness.ready, readiness.reason
    assert proved.scheduler.reservation("muster-acceptance") == frozenset()
    accepted = proved.lab.ssh("head", "cat /var/lib/muster/accepted").stdout.split()
    assert accepted[1] == proved.fleet.nodes[0].serial
    job = proved.lab.ssh("head", f"srun -N{NODES} --gpus-per-node=8 hostname")
    assert len(job.stdout.split()) == NODES, job.stderr


@dataclass(frozen=True)
class Case:
    """A fault, and the node and part that must be named for it."""

    fault: Fault
    node: str
    component: str


LINK_FAULTS = {Kind.SLOW_RAIL, Kind.PACKET_LOSS, Kind.RAIL_DOWN}
CASES = [
    Case(Fault(kind=Kind.MISSING_GPU, node="gpu-2", gpu=3), "gpu-2", "gpu:3"),
    Case(Fault(kind=Kind.ECC_ERROR, node="gpu-5", gpu=6), "gpu-5", "gpu:6"),
    Case(Fault(kind=Kind.DAEMON_DEAD, node="gpu-4", unit="slurmd"), "gpu-4", "node"),
    Case(Fault(kind=Kind.WRONG_CLOCK, node="gpu-6", seconds=45), "gpu-6", "node"),
    Case(Fault(kind=Kind.RAIL_DOWN, node="gpu-7", rail=1), "gpu-7", "rail:1"),
    Case(Fault(kind=Kind.HUNG_NODE, node="gpu-8"), "gpu-8", "node"),
    Case(Fault(kind=Kind.SLOW_RAIL, node="gpu-3", rail=1, percent=20), "gpu-3", "rail:1"),
    Case(Fault(kind=Kind.PACKET_LOSS, node="gpu-1", rail=0, percent=2), "gpu-1", "rail:0"),
    Case(Fault(kind=Kind.SLOW_DISK, node="gpu-2", mbps=10), "gpu-2", "node"),
    Case(Fault(kind=Kind.CPU_THROTTLED, node="gpu-6", percent=80), "gpu-6", "node"),
]


@pytest.mark.parametrize("case", CASES, ids=[case.fault.kind.value for case in CASES])
def test_a_fault_is_named_and_its_node_drained_with_our_reason(proved: Proved, case: Case) -> None:
    faults.break_fault(proved.lab.name, case.fault)
    readiness = proved.accept(brief=case.fault.kind not in LINK_FAULTS)
    assert blamed(readiness) == {case.node: case.component}
    assert not readiness.ready
    assert readiness.fleet == ()
    status = proved.scheduler.nodes()[case.node]
    assert status.drained
    assert status.reason.startswith("muster:")
    assert proved.scheduler.reservation("muster-acceptance") == {case.node}


def test_a_slow_uplink_is_the_leafs_fault_and_no_nodes(proved: Proved) -> None:
    fault = Fault(kind=Kind.SLOW_UPLINK, leaf="leaf2", rail=0, percent=70)
    faults.break_fault(proved.lab.name, fault)
    readiness = proved.accept()
    assert blamed(readiness) == {}
    assert [found.component for found in readiness.fleet] == ["leaf:leaf2 rail:0"]
    assert not readiness.ready


def test_after_all_repairs_the_lab_is_ready_again(proved: Proved) -> None:
    readiness = proved.accept(brief=True)
    assert readiness.ready, readiness.reason
