"""A bundle is the same bytes for the same input, and holds what a node needs and no secret."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.converge.boot_bundle import make_bundle
from muster.converge.bundle import BundledFile, node_inventory, pack, refuse_secrets
from muster.converge.bundle_files import ansible_files, project_files
from muster.converge.bundle_release import parse_release, publish
from muster.converge.inventory import build_inventory
from muster.converge.options import ConvergeOptions
from muster.converge.slurm_config import render
from muster.errors import MusterError
from muster.fleet import Fleet
from muster.software.model import RoleUse
from tests.unit.converge.sample import TYPES, UNHURRIED, known_hosts, lab_fleet, mixed_fleet

NAMES = st.text("abcxyz0-_.", min_size=1, max_size=120).filter(lambda n: n not in {".", ".."})
FILES = st.dictionaries(
    st.lists(NAMES, min_size=1, max_size=3).map("/".join),
    st.builds(BundledFile, data=st.binary(max_size=200), executable=st.booleans()),
    max_size=8,
)


def fleet_in(folder: Path) -> Fleet:
    fleet = lab_fleet(2)
    path = folder / "known_hosts"
    path.write_text(known_hosts(fleet), encoding="utf-8")
    access = fleet.ssh.model_copy(update={"known_hosts_file": str(path)})
    return fleet.model_copy(update={"ssh": access})


def members(data: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        found = {m.name: archive.extractfile(m) for m in archive.getmembers()}
        return {name: stream.read() for name, stream in found.items() if stream}


@given(FILES, st.randoms())
@settings(UNHURRIED, max_examples=40)
def test_same_files_are_the_same_bytes_in_whatever_order(
    files: dict[str, BundledFile], random: Random
) -> None:
    turned = list(files.items())
    random.shuffle(turned)
    assert pack(dict(turned)) == pack(files)
    assert members(pack(files).data) == {path: file.data for path, file in files.items()}


@given(FILES, NAMES, st.binary(max_size=20))
@settings(UNHURRIED, max_examples=40)
def test_any_other_content_has_another_name(
    files: dict[str, BundledFile], path: str, data: bytes
) -> None:
    other = {**files, path: BundledFile(data=data)}
    assert (pack(other).sha256 == pack(files).sha256) == (other == files)


@pytest.mark.parametrize("path", ["/etc/passwd", "../up", "a/../../b", "", ".", "a//b"])
def test_a_path_that_leaves_the_bundle_is_refused(path: str) -> None:
    with pytest.raises(MusterError, match="not a plain path"):
        pack({path: BundledFile(data=b"")})


@given(st.binary(min_size=16), st.binary(), st.binary())
@settings(UNHURRIED, max_examples=50)
def test_a_secret_anywhere_in_a_file_is_found(secret: bytes, before: bytes, after: bytes) -> None:
    files = {"roles/a": BundledFile(data=before + secret + after)}
    with pytest.raises(MusterError):
        refuse_secrets(files, {"key": secret})


def test_an_empty_secret_proves_nothing() -> None:
    with pytest.raises(MusterError, match="'key' is empty"):
        refuse_secrets({}, {"key": b"\n"})


def test_a_node_gets_itself_and_its_groups_without_any_way_to_others() -> None:
    fleet = mixed_fleet()
    inventory = build_inventory(
        fleet,
        TYPES,
        render(fleet, TYPES, ConvergeOptions()),
        ConvergeOptions(),
        rendered=Path("/r"),
        munge_key=Path("/k"),
        known_hosts=known_hosts(fleet),
    )
    found = node_inventory(inventory, "cpu-1")
    assert set(found["all"]["hosts"]) == {"cpu-1"}
    assert set(found["all"]["children"]) == {"slurm_nodes", "pool_cpu"}
    assert found["all"]["hosts"]["cpu-1"]["ansible_connection"] == "local"
    text = json.dumps(found)
    assert "ssh" not in text
    assert "train-1" not in text
    full = inventory["all"]["children"]["slurm_nodes"]["vars"]
    assert found["all"]["children"]["slurm_nodes"]["vars"] == full


def test_the_bundle_of_a_fleet_is_reproducible_and_has_no_secret(tmp_path: Path) -> None:
    fleet = fleet_in(tmp_path)
    bundle = make_bundle(fleet, TYPES, ConvergeOptions(), tmp_path)
    assert make_bundle(fleet, TYPES, ConvergeOptions(), tmp_path) == bundle
    found = members(bundle.data)
    assert {"nodes/gpu-1.json", "nodes/gpu-2.json", "playbooks/boot.yml"} <= set(found)
    assert not [path for path in found if path.startswith("rendered/head")]
    key = (tmp_path / "secrets" / "munge.key").read_bytes().strip()
    assert all(key not in data for data in found.values())
    assert str(tmp_path).encode() not in found["nodes/gpu-1.json"]


def test_the_roles_that_the_hardware_needs_come_with_their_arguments(tmp_path: Path) -> None:
    use = RoleUse(role="cuda", variables={"cuda_packages": [{"name": "cuda", "version": "13"}]})
    software = {"gpu-1": (use,), "gpu-2": (), "head": ()}
    data = make_bundle(
        fleet_in(tmp_path), TYPES, ConvergeOptions(), tmp_path, software=software
    ).data
    found = {n: json.loads(members(data)[f"nodes/{n}.json"])["all"] for n in ("gpu-1", "gpu-2")}
    assert "software_cuda" in found["gpu-1"]["children"]
    assert found["gpu-1"]["hosts"]["gpu-1"]["cuda_packages"][0]["version"] == "13"
    assert "software_cuda" not in found["gpu-2"]["children"]


def test_every_rendered_file_that_a_node_is_told_of_is_in_the_bundle(tmp_path: Path) -> None:
    found = members(make_bundle(fleet_in(tmp_path), TYPES, ConvergeOptions(), tmp_path).data)
    groups = json.loads(found["nodes/gpu-1.json"])["all"]["children"]
    sources = [
        item["src"]
        for group in groups.values()
        for name, value in group.get("vars", {}).items()
        if name.endswith("_files")
        for item in value
        if "src" in item
    ]
    assert len(sources) > 5
    assert all(s.replace("{{ inventory_dir }}/../", "") in found for s in sources)


def test_ansible_comes_along_whole_and_without_compiled_parts() -> None:
    found = ansible_files()
    assert {
        "runtime/ansible/cli/playbook.py",
        "runtime/jinja2/__init__.py",
        "runtime/markupsafe/_native.py",
        "runtime/yaml/__init__.py",
        "runtime/resolvelib/__init__.py",
        "runtime/packaging/__init__.py",
    } <= set(found)
    assert any(path.endswith("METADATA") and "inja2" in path for path in found)
    assert not [path for path in found if path.endswith((".so", ".pyc"))]


def test_the_project_comes_along_without_what_was_compiled_from_it() -> None:
    found = project_files()
    assert {"ansible.cfg", "playbooks/site.yml", "playbooks/roles/slurmd/tasks/main.yml"} <= set(
        found
    )
    assert not [path for path in found if "__pycache__" in path]


def test_the_number_of_a_release_grows_with_each_new_bundle_only(tmp_path: Path) -> None:
    texts = []
    for data in (b"1", b"1", b"2", b"1"):
        directory = publish(pack({"file": BundledFile(data=data)}), "lab", tmp_path)
        texts.append((directory / "release.json").read_text(encoding="utf-8"))
    assert [parse_release(text).sequence for text in texts] == [1, 1, 2, 3]
    assert texts[0] == texts[1]


def test_only_the_last_few_bundles_are_kept(tmp_path: Path) -> None:
    bundles = [pack({"file": BundledFile(data=bytes([data]))}) for data in b"abcdefg"]
    directories = {publish(bundle, "lab", tmp_path) for bundle in bundles}
    kept = {path.name for path in directories.pop().glob("*.tar.gz")}
    assert bundles[-1].name in kept
    assert len(kept) == 3


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"stack": "a"}', "\x00"])
def test_what_is_no_statement_is_said_to_be_none(text: str) -> None:
    with pytest.raises(MusterError, match="not a release statement"):
        parse_release(text)
