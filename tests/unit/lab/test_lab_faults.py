"""What a fault needs, and what it does to links."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.errors import UsageError
from muster.lab import fault_model, testing
from muster.lab.fault_model import NEEDS, Fault, Kind
from muster.lab.links import Change
from muster.lab.paths import lab_paths

WISH = testing.network_wish("lab", nodes=4, leaves=2)
PATHS = lab_paths("lab", Path("/nowhere"))
GOOD = {
    Kind.SLOW_RAIL: Fault(kind=Kind.SLOW_RAIL, node="gpu-3", rail=1, percent=20),
    Kind.RAIL_DOWN: Fault(kind=Kind.RAIL_DOWN, node="gpu-3", rail=0),
    Kind.SLOW_UPLINK: Fault(kind=Kind.SLOW_UPLINK, leaf="leaf1", rail=0, percent=50),
    Kind.PACKET_LOSS: Fault(kind=Kind.PACKET_LOSS, node="gpu-1", rail=0, percent=1.5),
    Kind.MISSING_GPU: Fault(kind=Kind.MISSING_GPU, node="gpu-1", gpu=7),
    Kind.ECC_ERROR: Fault(kind=Kind.ECC_ERROR, node="gpu-1", gpu=0),
    Kind.DAEMON_DEAD: Fault(kind=Kind.DAEMON_DEAD, node="head", unit="slurmctld.service"),
    Kind.SLOW_DISK: Fault(kind=Kind.SLOW_DISK, node="gpu-1", mbps=5.0),
    Kind.CPU_THROTTLED: Fault(kind=Kind.CPU_THROTTLED, node="gpu-1", percent=50),
    Kind.WRONG_CLOCK: Fault(kind=Kind.WRONG_CLOCK, node="gpu-1", seconds=-30),
    Kind.HUNG_NODE: Fault(kind=Kind.HUNG_NODE, node="gpu-1"),
}


@pytest.mark.parametrize("kind", list(Kind))
def test_every_kind_is_accepted_with_what_it_needs(kind: Kind) -> None:
    fault_model.check(GOOD[kind], WISH, gpu_count=8)


@pytest.mark.parametrize("kind", list(Kind))
def test_every_kind_is_refused_when_a_field_lacks(kind: Kind) -> None:
    with pytest.raises(UsageError, match=f"It needs {NEEDS[kind][0]}"):
        fault_model.check(Fault(kind=kind), WISH, gpu_count=8)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault(kind=Kind.HUNG_NODE, node="gpu-9"), "no node 'gpu-9'. Known: head, gpu-1"),
        (Fault(kind=Kind.HUNG_NODE, node="gpu-1", rail=1), "got node, rail"),
        (Fault(kind=Kind.RAIL_DOWN, node="gpu-1", rail=2), "rail 2. Use 0 to 1"),
        (Fault(kind=Kind.RAIL_DOWN, node="head", rail=0), "the head has no rails"),
        (Fault(kind=Kind.SLOW_UPLINK, leaf="leaf7", rail=0, percent=5), "no leaf 'leaf7'"),
        (Fault(kind=Kind.SLOW_RAIL, node="gpu-1", rail=0, percent=100), "percent 100"),
        (Fault(kind=Kind.SLOW_RAIL, node="gpu-1", rail=0, percent=-20), "percent -20"),
        (Fault(kind=Kind.MISSING_GPU, node="gpu-1", gpu=8), "gpu 8. Use 0 to 7"),
    ],
)
def test_what_the_lab_does_not_have_is_refused(fault: Fault, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        fault_model.check(fault, WISH, gpu_count=8)
    assert message in str(raised.value)


def test_slow_rail_lowers_both_ends_by_the_percentage() -> None:
    changes = fault_model.link_changes(PATHS, WISH, [GOOD[Kind.SLOW_RAIL]])
    slower = Change(rate_kbit=32000)
    assert changes == {("lab-fabric", "n3r1"): slower, ("lab-gpu-3", "rail1"): slower}


def test_slow_uplink_lowers_both_ends_of_the_uplink() -> None:
    changes = fault_model.link_changes(PATHS, WISH, [GOOD[Kind.SLOW_UPLINK]])
    slower = Change(rate_kbit=40000)
    assert changes == {("lab-fabric", "u1r0"): slower, ("lab-fabric", "d1r0"): slower}


def test_a_rail_can_be_slow_and_down_whichever_came_first() -> None:
    slow = Fault(kind=Kind.SLOW_RAIL, node="gpu-3", rail=0, percent=50)
    for order in ([slow, GOOD[Kind.RAIL_DOWN]], [GOOD[Kind.RAIL_DOWN], slow]):
        changes = fault_model.link_changes(PATHS, WISH, order)
        assert changes["lab-fabric", "n3r0"] == Change(rate_kbit=20000, up=False)


def test_faults_of_nodes_that_left_the_wish_bend_nothing() -> None:
    smaller = testing.network_wish("lab", nodes=1)
    assert fault_model.link_changes(PATHS, smaller, list(GOOD.values())) == {}


def test_loss_drops_both_ways_in_hundredths_of_a_percent() -> None:
    rules = fault_model.loss_rules(WISH, [GOOD[Kind.PACKET_LOSS]], {"n1r0"})
    assert 'hook ingress device "n1r0"' in rules
    assert 'hook egress device "n1r0"' in rules
    assert rules.count("numgen random mod 10000 < 150 counter drop\n") == 2
    assert fault_model.loss_rules(WISH, [GOOD[Kind.PACKET_LOSS]], set()) == ""
    assert fault_model.loss_rules(WISH, [GOOD[Kind.RAIL_DOWN]], {"n3r0"}) == ""


def test_a_second_fault_at_the_same_place_takes_the_first_ones() -> None:
    harder = Fault(kind=Kind.SLOW_RAIL, node="gpu-3", rail=1, percent=60)
    other = Fault(kind=Kind.SLOW_RAIL, node="gpu-3", rail=0, percent=60)
    active = fault_model.with_fault([GOOD[Kind.SLOW_RAIL]], harder)
    assert active == (harder,)
    assert fault_model.with_fault(active, other) == (harder, other)


def test_active_faults_survive_the_file(tmp_path: Path) -> None:
    path = tmp_path / "faults.json"
    assert fault_model.load(path) == ()
    fault_model.save(path, tuple(GOOD.values()))
    assert fault_model.load(path) == tuple(GOOD.values())
    fault_model.save(path, ())
    assert not path.exists()


def test_a_fault_says_what_it_is_in_one_phrase() -> None:
    assert GOOD[Kind.SLOW_RAIL].describe() == "slow-rail gpu-3 rail=1 percent=20"
    assert GOOD[Kind.PACKET_LOSS].describe() == "packet-loss gpu-1 rail=0 percent=1.5"
    assert GOOD[Kind.SLOW_UPLINK].describe() == "slow-uplink leaf1 rail=0 percent=50"
