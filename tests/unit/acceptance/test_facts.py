"""A node's own words are read as they are meant; what cannot be read is a problem."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.acceptance.facts import Facts, GpuState, Interface, Problem, Time, parse_facts
from tests.unit.acceptance.documents import command, facts, facts_text


def test_a_lab_node_is_read_whole() -> None:
    found = facts()
    assert isinstance(found.gpu, GpuState)
    assert [gpu.index for gpu in found.gpu.gpus] == list(range(8))
    assert found.gpu.gpus[0].ecc_uncorrected == 0
    assert len(found.gpu_devices) == 8
    assert isinstance(found.interfaces, dict)
    rail = found.interfaces["rail1"]
    assert isinstance(rail, Interface)
    assert rail.carrier
    assert rail.addresses == ("10.213.0.1",)
    assert isinstance(found.services, dict)
    assert found.services["slurmd"] == "active"
    assert isinstance(found.time, Time)
    assert found.time.synchronised
    assert found.xids == ()
    assert isinstance(found.slurmd_version, str)
    assert found.slurmd_version.startswith("slurm")


def test_a_cut_document_is_a_problem() -> None:
    text = facts_text()
    assert isinstance(parse_facts(text[: len(text) // 2]), Problem)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"program": "other"}', "null"])
def test_another_programs_output_is_a_problem(text: str) -> None:
    assert isinstance(parse_facts(text), Problem)


def test_a_document_without_a_part_is_a_problem() -> None:
    assert isinstance(parse_facts(facts_text(lambda d: d.pop("meminfo"))), Problem)


def test_a_lost_gpu_is_a_state_not_a_problem() -> None:
    said = "Unable to determine the device handle for GPU3: 0000:40:00.0: Unknown Error\n"
    found = facts(command("gpu", rc=255, stdout=said)).gpu
    assert isinstance(found, GpuState)
    assert found.lost == "3"


def test_a_dead_driver_is_a_state_not_a_problem() -> None:
    said = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
    found = facts(command("gpu", rc=9, stdout=said)).gpu
    assert isinstance(found, GpuState)
    assert found.no_driver


@pytest.mark.parametrize(
    "values",
    [
        {"rc": None, "stdout": "", "error": "no answer within 5 s"},
        {"rc": 1, "stdout": "", "stderr": "Field is not a valid field to query"},
        {"rc": 0, "stdout": "0, GPU-1, 123\n"},
    ],
)
def test_a_tool_that_does_not_work_is_a_problem(values: dict[str, object]) -> None:
    assert isinstance(facts(command("gpu", **values)).gpu, Problem)


def test_a_value_that_is_not_available_is_no_number() -> None:
    found = facts(command("gpu", stdout="0, u, s, 00:1, m, 1, [N/A], 30, 0x0, 1\n")).gpu
    assert isinstance(found, GpuState)
    assert found.gpus[0].ecc_uncorrected is None


def test_units_are_read_in_order_whatever_the_exit_status() -> None:
    found = facts(command("services", rc=3, stdout="active\nactive\nfailed\nactive\n")).services
    assert found == {"ssh": "active", "munge": "active", "slurmd": "failed", "chrony": "active"}


def test_fewer_words_than_units_is_a_problem() -> None:
    assert isinstance(facts(command("services", stdout="active\n")).services, Problem)


def test_errors_in_the_kernel_log_are_found_by_code_and_bus() -> None:
    line = json.dumps({"MESSAGE": "NVRM: Xid (PCI:0000:40:00): 79, GPU has fallen off the bus."})
    found = facts(command("xid", rc=0, stdout=f"{line}\n")).xids
    assert isinstance(found, tuple)
    assert (found[0].code, found[0].bus_id) == (79, "0000:40:00")


def test_a_message_that_is_no_text_is_read_too() -> None:
    line = json.dumps({"MESSAGE": list(b"NVRM: Xid (PCI:0000:40:00): 48, \xff")})
    found = facts(command("xid", rc=0, stdout=line)).xids
    assert isinstance(found, tuple)
    assert found[0].code == 48


def test_a_log_that_cannot_be_read_is_a_problem() -> None:
    values = {"rc": 1, "stdout": "", "stderr": "No journal files were opened"}
    assert isinstance(facts(command("xid", **values)).xids, Problem)


def test_a_time_daemon_that_does_not_answer_is_a_problem() -> None:
    values = {"rc": 1, "stdout": "", "stderr": "506 Cannot talk to daemon"}
    assert isinstance(facts(command("chrony", **values)).time, Problem)


def test_a_clock_without_a_source_is_not_synchronised() -> None:
    text = "00000000,,0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,1.0,1.0,0.0,Not synchronised"
    found = facts(command("chrony", stdout=text)).time
    assert isinstance(found, Time)
    assert not found.synchronised


def test_an_interface_without_a_stated_speed_has_none() -> None:
    def change(document: dict[str, dict[str, dict[str, object]]]) -> None:
        document["interfaces"]["rail0"].update(speed="-1", carrier=None)

    found = facts(change).interfaces
    assert isinstance(found, dict)
    assert found["rail0"].speed_mbit is None
    assert not found["rail0"].carrier


@given(st.text(max_size=200))
def test_any_text_gives_facts_or_a_problem(text: str) -> None:
    assert isinstance(parse_facts(text), Facts | Problem)


KEYS = st.sampled_from(["commands", "interfaces", "disks", "limits", "gpu_devices", "shared"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(KEYS, VALUES)
def test_a_part_of_another_form_gives_facts_or_a_problem(key: str, value: object) -> None:
    text = facts_text(lambda document: document.update({key: value}))
    assert isinstance(parse_facts(text), Facts | Problem)
