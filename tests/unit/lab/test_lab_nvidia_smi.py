"""The stub of nvidia-smi, run as the program that nodes run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from muster.lab.image import FAKEGPU


class Stub:
    """The program with a state file of its own."""

    def __init__(self, directory: Path) -> None:
        self.state_file = directory / "state.json"
        self.machine_id = directory / "machine-id"
        self.machine_id.write_text("f" * 32, encoding="utf-8")

    def state(self, gpus: dict[str, Any] | None = None, mode: str | None = None) -> None:
        state = {
            "mode": mode,
            "model": "LAB-GPU",
            "count": 4,
            "memory_mib": 81920,
            "gpus": gpus or {},
        }
        self.state_file.write_text(json.dumps(state), encoding="utf-8")

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        env = {"FAKEGPU_STATE": str(self.state_file), "FAKEGPU_MACHINE_ID": str(self.machine_id)}
        argv = [sys.executable, "-SE", str(FAKEGPU), *arguments]
        return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=2, check=False)

    def rows(self, fields: str, *more: str) -> list[list[str]]:
        done = self(f"--query-gpu={fields}", "--format=csv,noheader,nounits", *more)
        assert done.returncode == 0, done.stdout
        return [line.split(", ") for line in done.stdout.splitlines()]


@pytest.fixture
def smi(tmp_path: Path) -> Stub:
    stub = Stub(tmp_path)
    stub.state()
    return stub


def test_lists_gpus_with_uuids_that_stay(smi: Stub) -> None:
    first, again = smi("-L"), smi("-L")
    assert first.returncode == 0
    assert first.stdout == again.stdout
    assert len(first.stdout.splitlines()) == len(set(first.stdout.splitlines())) == 4
    assert first.stdout.startswith("GPU 0: LAB-GPU (UUID: GPU-")


def test_uuids_and_serials_differ_between_machines(smi: Stub) -> None:
    here = smi.rows("uuid,serial")
    smi.machine_id.write_text("e" * 32, encoding="utf-8")
    there = smi.rows("uuid,serial")
    assert not {tuple(x) for x in here} & {tuple(x) for x in there}


def test_query_has_header_and_units_unless_told_otherwise(smi: Stub) -> None:
    done = smi("--query-gpu=index,memory.total,temperature.gpu", "--format=csv")
    assert done.stdout.splitlines()[:2] == [
        "index, memory.total [MiB], temperature.gpu",
        "0, 81920 MiB, 35",
    ]
    assert smi.rows("index,memory.total")[3] == ["3", "81920"]


def test_every_field_of_the_health_checks_can_be_queried(smi: Stub) -> None:
    fields = (
        "index,name,uuid,serial,pci.bus_id,driver_version,memory.total,temperature.gpu,"
        "ecc.errors.uncorrected.volatile.total,clocks_event_reasons.active,clocks.sm,"
        "pcie.link.gen.current,pcie.link.gen.max,pcie.link.width.current,pcie.link.width.max,count"
    )
    rows = smi.rows(fields)
    assert {len(row) for row in rows} == {16}
    assert rows[2][4] == "00000000:30:00.0"


def test_one_gpu_can_be_chosen_by_index_uuid_or_bus_id(smi: Stub) -> None:
    uuid, bus = smi.rows("uuid,pci.bus_id")[2]
    for name in ("2", uuid, bus):
        assert smi.rows("index", "-i", name) == [["2"]]
    done = smi("-i", "9", "-L")
    assert (done.returncode, done.stdout) == (6, "No devices were found\n")


def test_values_of_one_gpu_can_differ(smi: Stub) -> None:
    smi.state({"1": {"ecc.errors.uncorrected.volatile.total": 4, "pcie.link.width.current": 8}})
    assert smi.rows("ecc.errors.uncorrected.volatile.total,pcie.link.width.current") == [
        ["0", "16"], ["4", "8"], ["0", "16"], ["0", "16"],
    ]  # fmt: skip


def test_an_absent_gpu_moves_indices_but_not_bus_ids(smi: Stub) -> None:
    before = smi.rows("pci.bus_id,serial")
    smi.state({"1": {"state": "absent"}})
    assert [row[0] for row in smi.rows("index")] == ["0", "1", "2"]
    assert smi.rows("pci.bus_id,serial") == [before[0], before[2], before[3]]
    assert smi.rows("count")[0] == ["3"]


def test_a_lost_gpu_ends_every_question_about_it(smi: Stub) -> None:
    smi.state({"3": {"state": "lost"}})
    done = smi("-L")
    assert done.returncode == 255
    assert done.stdout == (
        "Unable to determine the device handle for GPU3: 00000000:40:00.0: Unknown Error\n"
    )
    assert smi.rows("index", "-i", "0") == [["0"]]


def test_without_a_driver_it_fails_as_the_real_one(smi: Stub) -> None:
    smi.state(mode="nodriver")
    done = smi("-L")
    assert done.returncode == 9
    assert "couldn't communicate with the NVIDIA driver" in done.stdout
    smi.state_file.unlink()
    assert smi("-L").returncode == 9
    smi.state_file.write_text("{cut", encoding="utf-8")
    assert smi("-L").returncode == 9


def test_it_can_hang(smi: Stub) -> None:
    smi.state(mode="hang")
    with pytest.raises(subprocess.TimeoutExpired):
        smi("-L")


def test_what_it_does_not_know_it_refuses(smi: Stub) -> None:
    done = smi("--query-gpu=index,colour", "--format=csv")
    assert done.returncode == 2
    assert 'Field "colour" is not a valid field to query.' in done.stdout
    assert smi("--query-gpu=index").returncode == 2
    assert smi("topo", "-m").returncode == 2


def test_no_gpus_are_no_devices(smi: Stub) -> None:
    smi.state({str(i): {"state": "absent"} for i in range(4)})
    assert smi("-L").returncode == 6
