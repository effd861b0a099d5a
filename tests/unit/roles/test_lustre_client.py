"""The Lustre client: what is read back, and that TCP is never taken for EFA."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.roles.modules import load

lustre = load("lustre_client")


def shown(*counts: tuple[int, int], status: str = "up") -> str:
    lines = ["net:\n    - net type: efa\n      local NI(s):\n"]
    for number, (sent, received) in enumerate(counts):
        lines.append(
            f"        - nid: 10.0.0.{number}@efa\n          status: {status}\n"
            f"          statistics:\n              send_count: {sent}\n"
            f"              recv_count: {received}\n              drop_count: 0\n"
        )
    return "".join(lines)


def faults(before: str, after: str, devices: int = 1) -> str:
    found = lustre.efa_faults(
        lustre.parse_interfaces(before), lustre.parse_interfaces(after), devices
    )
    return "; ".join(found)


def test_counters_that_rise_over_all_interfaces_prove_efa() -> None:
    many = [(5, 5)] * 8
    assert faults(shown(*many), shown((9, 8), *many[1:]), devices=32) == ""


def test_several_interfaces_whose_counters_stand_still_are_tcp() -> None:
    many = shown(*[(5, 5)] * 8)
    assert "not on EFA but on TCP" in faults(many, many, devices=32)


def test_sending_without_an_answer_proves_nothing() -> None:
    assert "received 0" in faults(shown((1, 1)), shown((9, 1)))


def test_too_few_interfaces_are_named() -> None:
    few = shown((1, 1), (1, 1))
    assert "LNet has 2 EFA interfaces, 8 expected" in faults(few, few, devices=32)
    assert "LNet has 0 EFA interfaces, 1 expected" in faults("", "")


def test_an_interface_that_is_down_is_named() -> None:
    assert "10.0.0.0@efa is not up" in faults(shown((1, 1)), shown((2, 2), status="down"))


def test_an_answer_that_was_cut_short_is_refused() -> None:
    text = shown((123, 456))
    with pytest.raises(ValueError, match="no counters"):
        lustre.parse_interfaces(text[: text.index("recv_count")])


def test_parameters_are_compared_as_numbers_for_each_mount() -> None:
    wanted = [{"name": "llite.*.max_read_ahead_mb", "value": 256}]
    good = "llite.a.max_read_ahead_mb=256.000\nllite.b.max_read_ahead_mb=256\n"
    assert lustre.parameter_faults(wanted, {wanted[0]["name"]: good}) == []
    bad = good.replace("mb=256\n", "mb=64\n")
    assert lustre.parameter_faults(wanted, {wanted[0]["name"]: bad}) == [
        "llite.b.max_read_ahead_mb is 64, 256 expected"
    ]


def test_a_parameter_that_lctl_does_not_know_is_a_fault() -> None:
    wanted = [{"name": "osc.*.max_dirty_mb", "value": 256}]
    assert lustre.parameter_faults(wanted, {}) == ["osc.*.max_dirty_mb is unknown, 256 expected"]


def test_an_option_counts_as_the_module_was_loaded_with_it(tmp_path: Path) -> None:
    wanted = [{"module": "ptlrpc", "name": "ptlrpcd_per_cpt_max", "value": 32}]
    assert lustre.option_faults(tmp_path, wanted) == []
    place = tmp_path / "module/ptlrpc/parameters"
    place.mkdir(parents=True)
    assert "=unknown, 32 expected" in lustre.option_faults(tmp_path, wanted)[0]
    (place / "ptlrpcd_per_cpt_max").write_text("0\n")
    assert "=0, 32 expected: reboot" in lustre.option_faults(tmp_path, wanted)[0]
    (place / "ptlrpcd_per_cpt_max").write_text("32\n")
    assert lustre.option_faults(tmp_path, wanted) == []


def test_only_lustre_mounts_count() -> None:
    text = "10.0.0.1@tcp:/abc /fsx lustre rw 0 0\n/dev/md0 /local xfs rw 0 0\ncut\n"
    assert lustre.mounted(text) == ["/fsx"]
