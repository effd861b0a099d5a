"""Scripts that roles of the fabric put on nodes, run here on a directory that stands for sysfs."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from muster import shell
from muster.converge.digest import PLAYBOOKS
from muster.shell import Completed
from tests.unit.converge.filters import filters, said


def script(role: str, variable: str, folder: Path) -> Path:
    """Write a script of a role's variables to a file."""
    variables = yaml.safe_load((PLAYBOOKS / "roles" / role / "vars" / "main.yml").read_text())
    path = folder / variable
    path.write_text(variables[variable], encoding="utf-8")
    path.chmod(0o755)
    return path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n", encoding="utf-8")


@pytest.fixture
def sysfs(tmp_path: Path) -> Path:
    """Two devices, with a state, counters and a traffic class."""
    root = tmp_path / "sys"
    for i in range(2):
        device = root / "class" / "infiniband" / f"rdmap{i}"
        write(device / "ports/1/state", "4: ACTIVE" if i else "1: DOWN")
        write(device / "ports/1/counters/port_xmit_data", "18446744073709551615")
        write(device / "ports/1/hw_counters/rx_drops", str(i))
        write(device / "ports/1/hw_counters/lifespan", "10")
        write(device / "tc/1/traffic_class", "Global tclass=0")
    return root


def test_metrics_hold_every_counter_and_end_whole(sysfs: Path, tmp_path: Path) -> None:
    program = script("fabric_exporter", "__fabric_exporter_script", tmp_path)
    done = shell.run([str(program), str(sysfs)], timeout_s=30)
    where = 'device="rdmap1",port="1"'
    assert f"muster_fabric_port_up{{{where}}} 1\n" in done.stdout
    assert 'muster_fabric_port_up{device="rdmap0",port="1"} 0\n' in done.stdout
    assert f'muster_fabric_counter_total{{{where},counter="rx_drops"}} 1\n' in done.stdout
    assert 'counter="port_xmit_data"} 18446744073709551615\n' in done.stdout
    assert "lifespan" not in done.stdout
    assert filters("node_fabric").fabric_metrics_problems(said(done.stdout), 2) == []


def test_metrics_are_written_at_once_and_readable(sysfs: Path, tmp_path: Path) -> None:
    program = script("fabric_exporter", "__fabric_exporter_script", tmp_path)
    target = tmp_path / "textfiles" / "muster_fabric.prom"
    target.parent.mkdir()
    assert shell.run([str(program), str(sysfs), str(target)], timeout_s=30).rc == 0
    assert target.read_text(encoding="utf-8").endswith("# EOF\n")
    assert target.stat().st_mode & 0o777 == 0o644
    assert [path.name for path in target.parent.iterdir()] == [target.name]


def test_no_devices_are_no_counters(tmp_path: Path) -> None:
    program = script("fabric_exporter", "__fabric_exporter_script", tmp_path)
    done = shell.run([str(program), str(tmp_path / "none")], timeout_s=30)
    assert filters("node_fabric").fabric_metrics_problems(said(done.stdout), 1)


def traffic_class(sysfs: Path, tmp_path: Path, wanted: str) -> Completed:
    program = script("roce", "__roce_script", tmp_path)
    return shell.run([str(program), str(sysfs / "class" / "infiniband"), wanted], timeout_s=30)


def test_a_traffic_class_is_set_once(sysfs: Path, tmp_path: Path) -> None:
    first = traffic_class(sysfs, tmp_path, "41")
    assert (first.rc, first.stdout.count("now 41")) == (0, 2)
    file = sysfs / "class/infiniband/rdmap0/tc/1/traffic_class"
    assert file.read_text(encoding="utf-8") == "41\n"
    assert traffic_class(sysfs, tmp_path, "41").stdout == ""


def test_no_traffic_class_leaves_devices_alone(sysfs: Path, tmp_path: Path) -> None:
    assert traffic_class(sysfs, tmp_path, "0").stdout == ""
    file = sysfs / "class/infiniband/rdmap0/tc/1/traffic_class"
    assert file.read_text(encoding="utf-8") == "Global tclass=0\n"
