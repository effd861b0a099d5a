"""Rendered files: byte for byte against golden ones, and the rules behind them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import jinja2
import pytest
import yaml

from muster.converge.options import CgroupMode, ConvergeOptions, lab_options
from muster.converge.slurm_config import TEMPLATES, gres_type, render, texts
from muster.errors import UsageError
from muster.fleet import Fleet, Node
from tests.conftest import GOLDEN, Golden
from tests.unit.converge.sample import TYPES, fleet, lab_fleet, mixed_fleet, node

CASES: dict[str, tuple[Fleet, ConvergeOptions]] = {
    "lab-8-nodes-4-leaves": (lab_fleet(), lab_options()),
    "mixed-pools-cgroup-v2": (mixed_fleet(), ConvergeOptions(time_servers=("10.0.0.1",))),
    "one-leaf-cgroup-v1": (
        lab_fleet(2),
        replace(lab_options(), cgroup_mode="v1", clock_settable=True),
    ),
}


@pytest.mark.parametrize("case", sorted(CASES))
def test_rendered_files_are_the_golden_ones(case: str, golden: Golden) -> None:
    found = texts(render(CASES[case][0], TYPES, CASES[case][1]))
    for path, text in found.items():
        golden(f"slurm/{case}/{path}", text)
    base = GOLDEN / "slurm" / case
    assert {p.relative_to(base).as_posix() for p in base.rglob("*") if p.is_file()} == set(found)


def slurm_conf(wanted: Fleet, options: ConvergeOptions) -> str:
    return texts(render(wanted, TYPES, options))["head/etc/slurm/slurm.conf"]


def test_same_input_gives_the_same_bytes() -> None:
    first, second = (render(lab_fleet(), TYPES, lab_options()) for _ in range(2))
    assert first == second


def test_type_that_the_catalog_lacks_is_named_with_its_node() -> None:
    wanted = fleet(node("gpu-1", pool="gpu", kind="nope", leaf="", number=11))
    with pytest.raises(UsageError, match=r"gpu-1: type 'nope' is not in the catalog"):
        render(wanted, TYPES, lab_options())


def test_variable_that_a_template_lacks_is_an_error_not_an_empty_text(tmp_path: Path) -> None:
    (tmp_path / "x.j2").write_text("{{ misspelt }}\n", encoding="utf-8")
    manifest = "- {role: base, scope: all, path: /etc/x, template: x.j2}\n"
    (tmp_path / "manifest.yaml").write_text(manifest, encoding="utf-8")
    with pytest.raises(jinja2.UndefinedError, match="misspelt"):
        render(lab_fleet(1), TYPES, lab_options(), templates=tmp_path)


@pytest.mark.parametrize(
    ("mode", "proctrack"),
    [("disabled", "linuxproc"), ("v1", "cgroup"), ("v2", "cgroup")],
)
def test_processes_are_tracked_as_the_cgroup_mode_allows(mode: CgroupMode, proctrack: str) -> None:
    options = replace(lab_options(), cgroup_mode=mode)
    assert f"ProctrackType=proctrack/{proctrack}\n" in slurm_conf(lab_fleet(2), options)


def test_cpus_are_overridden_only_where_nodes_share_them() -> None:
    assert "config_overrides" in slurm_conf(lab_fleet(), lab_options())
    assert "config_overrides" not in slurm_conf(mixed_fleet(), ConvergeOptions())


def test_nodes_of_unknown_leaves_get_a_switch_so_that_they_can_run_jobs() -> None:
    found = texts(render(mixed_fleet(), TYPES, ConvergeOptions()))
    assert "SwitchName=unplaced Nodes=cpu-[1-2]" in found["head/etc/slurm/topology.conf"]


def placed(name: str, number: int, *path: str, domain: str = "") -> Node:
    found = node(name, pool="gpu", kind="big", leaf=path[-1], number=number)
    return found.model_copy(update={"switches": path[:-1], "domain": domain})


def test_switches_above_leaves_are_told_level_by_level() -> None:
    wanted = fleet(
        placed("gpu-1", 1, "nn-a", "nn-b1", "nn-c1"),
        placed("gpu-2", 2, "nn-a", "nn-b1", "nn-c1"),
        placed("gpu-3", 3, "nn-a", "nn-b2", "nn-c2"),
    )
    found = texts(render(wanted, TYPES, ConvergeOptions()))["head/etc/slurm/topology.conf"]
    assert found.splitlines()[2:] == [
        "SwitchName=nn-c1 Nodes=gpu-[1-2]",
        "SwitchName=nn-c2 Nodes=gpu-3",
        "SwitchName=nn-b1 Switches=nn-c1",
        "SwitchName=nn-b2 Switches=nn-c2",
        "SwitchName=nn-a Switches=nn-b[1-2]",
    ]


def test_a_fleet_of_ultraservers_is_told_as_blocks() -> None:
    wanted = fleet(
        placed("gpu-1", 1, "nn-a", "nn-c", domain="us-1"),
        placed("gpu-2", 2, "nn-a", "nn-c", domain="us-1"),
        placed("gpu-3", 3, "nn-a", "nn-d", domain="us-2"),
        placed("gpu-4", 4, "nn-a", "nn-d", domain="us-2"),
    )
    found = texts(render(wanted, TYPES, ConvergeOptions()))["head/etc/slurm/topology.conf"]
    assert found.splitlines()[2:] == [
        "BlockName=us-1 Nodes=gpu-[1-2]",
        "BlockName=us-2 Nodes=gpu-[3-4]",
        "BlockSizes=2",
    ]
    assert "TopologyPlugin=topology/block\n" in slurm_conf(wanted, ConvergeOptions())


def test_without_a_shared_file_system_nodes_do_not_look_for_one() -> None:
    check = "nodes/usr/local/sbin/muster-node-check"
    without = texts(render(lab_fleet(2), TYPES, replace(lab_options(), shared_directory="")))
    assert "shared-mount" not in without[check]
    assert "shared-mount" in texts(render(lab_fleet(2), TYPES, lab_options()))[check]


def test_without_any_known_leaf_the_topology_is_flat() -> None:
    wanted = fleet(node("gpu-1", pool="gpu", kind="big", leaf="", number=11))
    assert "TopologyPlugin=topology/default\n" in slurm_conf(wanted, ConvergeOptions())


def test_no_rendered_file_holds_a_secret() -> None:
    for path, text in texts(render(mixed_fleet(), TYPES, ConvergeOptions())).items():
        assert "munge.key" not in path
        assert "StoragePass" not in text


def test_every_template_is_used_and_every_path_has_one_writer() -> None:
    manifest = yaml.safe_load((TEMPLATES / "manifest.yaml").read_text(encoding="utf-8"))
    folders = {"base", "hosts", "limits", "mariadb", "monitoring", "mounts", "slurm", "time"}
    present = {
        path.relative_to(TEMPLATES).as_posix()
        for folder in folders
        for path in (TEMPLATES / folder).iterdir()
    }
    assert {entry["template"] for entry in manifest if "template" in entry} == present
    files = render(mixed_fleet(), TYPES, ConvergeOptions())
    assert len({file.relative_path for file in files}) == len(files)


@pytest.mark.parametrize(
    ("model", "expected"),
    [("NVIDIA H100", "nvidia-h100"), ("Muster Lab GPU", "muster-lab-gpu"), ("", "gpu")],
)
def test_gres_type_has_no_blank(model: str, expected: str) -> None:
    assert gres_type(model) == expected
