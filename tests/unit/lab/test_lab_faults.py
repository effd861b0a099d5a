"""What a fault needs, and what it does to links."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from muster.errors import MusterError, UsageError
from muster.files import write_atomic
from muster.lab import fault_effects, fault_model, faults, node_files, testing
from muster.lab.fault_model import NEEDS, Fault, Kind
from muster.lab.links import Change
from muster.lab.paths import LabPaths, lab_paths

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


@pytest.fixture
def down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabPaths:
    """Give the files of a lab whose only node does not run."""
    monkeypatch.setenv("MUSTER_LAB_ROOT", str(tmp_path))
    paths = lab_paths("nolab")
    wish = testing.network_wish("nolab", nodes=1)
    record = {"wish": asdict(wish), "management_cidr": "10.211.0.0/22"}
    write_atomic(paths.network_file, json.dumps(record))
    node = paths.node("gpu-1")
    node.directory.mkdir(parents=True)
    node_files.create_layer(node, testing.node_wishes(wish)[1])
    write_atomic(node.record, json.dumps({"wish": {"gpu_count": 8}, "image": "x"}))
    return paths


@pytest.mark.parametrize("kind", [k for k in Kind if "node" in NEEDS[k] and "rail" not in NEEDS[k]])
def test_a_node_that_is_down_cannot_be_broken_and_nothing_is_recorded(
    down: LabPaths, kind: Kind
) -> None:
    before = (down.node("gpu-1").upper / node_files.GPU_STATE).read_text(encoding="utf-8")
    fault = replace(GOOD[kind], node="gpu-1")
    with pytest.raises(MusterError, match="does not run"):
        faults.break_fault(down.lab, fault)
    assert faults.active_faults(down.lab) == ()
    after = (down.node("gpu-1").upper / node_files.GPU_STATE).read_text(encoding="utf-8")
    assert after == before


def test_a_node_that_is_down_can_be_mended(down: LabPaths) -> None:
    node = down.node("gpu-1")
    state = json.loads((node.upper / node_files.GPU_STATE).read_text(encoding="utf-8"))
    state["gpus"] = {"7": {"state": "absent"}}
    write_atomic(node.upper / node_files.GPU_STATE, json.dumps(state))
    write_atomic(node.upper / "etc/ld.so.preload", "/lib/x\n")
    kinds = [Kind.MISSING_GPU, Kind.WRONG_CLOCK, Kind.HUNG_NODE, Kind.CPU_THROTTLED, Kind.SLOW_DISK]
    fault_model.save(down.faults_file, [replace(GOOD[k], node="gpu-1") for k in kinds])
    assert len(faults.mend(down.lab)) == len(kinds)
    assert faults.active_faults(down.lab) == ()
    mended = json.loads((node.upper / node_files.GPU_STATE).read_text(encoding="utf-8"))
    assert mended["gpus"] == {}
    assert not (node.upper / "etc/ld.so.preload").exists()
    devices = (node.upper / node_files.GPU_DEVICES).read_text(encoding="utf-8")
    assert devices.count("/dev/nvidia") == 9


def test_what_cannot_be_mended_stays_on_record_and_the_rest_is_mended(
    down: LabPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = replace(GOOD[Kind.WRONG_CLOCK], node="gpu-1")
    gpu = replace(GOOD[Kind.MISSING_GPU], node="gpu-1")
    fault_model.save(down.faults_file, [clock, gpu])
    real = fault_effects.apply

    def refuse(paths: LabPaths, fault: Fault, *, broken: bool) -> str:
        if fault == clock:
            what = "no"
            raise MusterError(what)
        return real(paths, fault, broken=broken)

    monkeypatch.setattr(fault_effects, "apply", refuse)
    with pytest.raises(MusterError, match="not mended: wrong-clock gpu-1"):
        faults.mend(down.lab)
    assert faults.active_faults(down.lab) == (clock,)


def test_a_lab_that_is_not_there_has_no_faults_to_break(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUSTER_LAB_ROOT", str(tmp_path))
    with pytest.raises(UsageError, match="no lab 'other'"):
        faults.break_fault("other", GOOD[Kind.HUNG_NODE])
    assert list(tmp_path.iterdir()) == []
