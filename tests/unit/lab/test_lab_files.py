"""What a node's layer and an image are made of, and how the machine's tables are read."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.errors import UsageError
from muster.lab import cgroups, image, keys, network, node_files, testing
from muster.lab.model import NodeWish
from muster.lab.paths import check_node_name, lab_paths

NAMES = {"head": "10.211.0.10", "gpu-1": "10.211.0.11"}


def _known(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in text.splitlines():
        words = line.split("#", 1)[0].split()
        for name in words[1:]:
            found.setdefault(name, words[0])
    return found


def test_hosts_get_a_block_with_every_node() -> None:
    text = node_files.hosts_text("127.0.0.1 localhost\n", NAMES)
    assert text == (
        "127.0.0.1 localhost\n# muster lab: begin\n10.211.0.10 head\n10.211.0.11 gpu-1\n"
        "# muster lab: end\n"
    )


def test_hosts_that_a_playbook_wrote_are_left_alone() -> None:
    written = (
        "127.0.0.1 localhost\n10.211.0.11 gpu-1 gpu-1.cluster # by a playbook\n10.211.0.10 head\n"
    )
    assert node_files.hosts_text(written, NAMES) == written


def test_a_wrong_address_in_hosts_gives_way() -> None:
    text = node_files.hosts_text("10.9.9.9 gpu-1\n10.9.9.8 other\n", NAMES)
    assert _known(text)["gpu-1"] == "10.211.0.11"
    assert _known(text)["other"] == "10.9.9.8"


labels = st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True)
entries = st.dictionaries(labels, st.ip_addresses(v=4).map(str), max_size=5)


@given(entries, entries, entries)
def test_hosts_know_every_node_whatever_was_there_and_settle(
    present: dict[str, str], first: dict[str, str], second: dict[str, str]
) -> None:
    text = "".join(f"{address} {name}\n" for name, address in present.items())
    once = node_files.hosts_text(text, first)
    assert node_files.hosts_text(once, first) == once
    twice = node_files.hosts_text(once, second)
    assert {name: _known(twice)[name] for name in second} == second
    assert twice.count("# muster lab: begin") <= 1


def test_gpu_devices_leave_out_absent_ones() -> None:
    assert node_files.gpu_devices(0) == ""
    assert node_files.gpu_devices(3, absent=[1]) == (
        "c /dev/nvidia0 0666 root root - 195:0\n"
        "c /dev/nvidia2 0666 root root - 195:2\n"
        "c /dev/nvidiactl 0666 root root - 195:255\n"
    )


def _wish(gpus: int) -> NodeWish:
    return NodeWish(lab="lab", name="gpu-1", pool="p", type="t", ordinal=1, gpu_count=gpus)


def test_a_layer_is_made_once_with_an_identity_of_its_own(tmp_path: Path) -> None:
    paths = lab_paths("lab", tmp_path)
    first, second = paths.node("gpu-1"), paths.node("gpu-2")
    for node in (first, second):
        node.directory.mkdir(parents=True)
        node_files.create_layer(node, _wish(gpus=2))
    assert node_files.read_serial(first) != node_files.read_serial(second)
    assert node_files.read_host_key(first).startswith("ssh-ed25519 ")
    serial = node_files.read_serial(first)
    node_files.create_layer(first, _wish(gpus=2))
    assert node_files.read_serial(first) == serial
    machine_id = (first.upper / "etc/machine-id").read_text(encoding="utf-8").strip()
    assert machine_id == keys.machine_id(serial)
    assert (
        json.loads((first.upper / node_files.GPU_STATE).read_text(encoding="utf-8"))["count"] == 2
    )
    assert (first.upper / "usr/bin/nvidia-smi").is_symlink()
    assert oct((first.upper / "root").stat().st_mode & 0o777) == "0o700"


def test_a_layer_that_a_kill_left_half_made_is_made_anew(tmp_path: Path) -> None:
    node = lab_paths("lab", tmp_path).node("gpu-1")
    (node.directory / "upper.new" / "etc").mkdir(parents=True)
    (node.directory / "upper.new" / "junk").touch()
    node_files.create_layer(node, _wish(gpus=0))
    assert not (node.upper / "junk").exists()
    assert not (node.upper / "usr/bin/nvidia-smi").exists()
    assert not (node.upper / node_files.GPU_STATE).exists()


def test_a_key_pair_that_is_not_whole_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "id"
    (tmp_path / "id.pub").write_text("ssh-ed25519 stale\n", encoding="utf-8")
    made = keys.ensure_key(path, "me")
    assert "stale" not in made
    assert keys.ensure_key(path, "me") == made
    assert oct(path.stat().st_mode & 0o777) == "0o600"


HYBRID = """\
tmpfs /sys/fs/cgroup tmpfs rw,mode=755 0 0
cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0
cgroup /sys/fs/cgroup/systemd cgroup rw,relatime,name=systemd 0 0
cgroup /sys/fs/cgroup/net_cls cgroup rw,relatime,net_cls,net_prio 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0
"""


def test_hybrid_cgroups_are_read() -> None:
    found = cgroups.parse_mounts(HYBRID)
    assert found is not None
    assert found.directories("muster-lab/gpu-1") == [
        Path("/sys/fs/cgroup/unified/muster-lab/gpu-1"),
        Path("/sys/fs/cgroup/systemd/muster-lab/gpu-1"),
        Path("/sys/fs/cgroup/cpu/muster-lab/gpu-1"),
    ]


def test_pure_v2_is_read_and_no_v2_is_nothing() -> None:
    pure = cgroups.parse_mounts("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")
    assert pure is not None
    assert pure.directories("muster-lab") == [Path("/sys/fs/cgroup/muster-lab")]
    assert cgroups.parse_mounts("cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n") is None


def test_packages_are_names_without_comments_and_doubles() -> None:
    assert image.packages("# all\nb  # why\n\na\nb\n") == ("a", "b")
    assert "slurmctld" in image.packages((image.RECIPE / "packages.txt").read_text("utf-8"))


def test_mirrors_are_those_of_the_host_for_the_suite_of_the_image() -> None:
    listed = (
        "Debian http://mirror.example/debian/\nDebian http://mirror.example/debian/\n"
        "Debian-Security http://mirror.example/security/\nOther http://other.example/\n"
    )
    assert image.mirrors(listed, "trixie", "main") == (
        "deb http://mirror.example/debian/ trixie main",
        "deb http://mirror.example/security/ trixie-security main",
    )
    assert image.mirrors("Ubuntu http://ubuntu.example/\n", "trixie", "main") == ()
    assert image.mirrors("", "trixie", "main") == ()


def test_the_digest_changes_with_the_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = image.recipe_digest()
    base = image.base_digest()
    assert image.recipe_digest() == before
    program = image.ALLREDUCE.parents[2] / "nowhere.c"
    monkeypatch.setattr(image, "ALLREDUCE", program)
    other = image.recipe_digest()
    assert other != before or not image.ALLREDUCE.is_file()
    assert image.base_digest() == base
    recipe = tmp_path / "recipe"
    recipe.mkdir()
    for name in ("recipe.json", "packages.txt", "bake.sh"):
        (recipe / name).write_bytes((image.RECIPE / name).read_bytes())
    (recipe / "packages.txt").write_text("one\n", encoding="utf-8")
    monkeypatch.setattr(image, "RECIPE", recipe)
    assert image.base_digest() != base


def test_only_images_that_nobody_uses_or_asked_for_are_forgotten(tmp_path: Path) -> None:
    for name in ("new", "old", "used", "base-x"):
        (tmp_path / "img" / name).mkdir(parents=True)
        os.utime(tmp_path / "img" / name, (1000.0, 1000.0))
    os.utime(tmp_path / "img" / "new", (9000.0, 9000.0))
    record = tmp_path / "labs/lab/nodes/gpu-1/node.json"
    record.parent.mkdir(parents=True)
    record.write_text('{"image": "used"}', encoding="utf-8")
    found = image.unused(tmp_path, keep={"base-x"}, now_s=9500.0)
    assert [path.name for path in found] == ["old"]


@pytest.mark.parametrize("name", ["", "Lab", "1lab", "lab-1", "ninechars", "lab\n", "../x"])
def test_a_bad_lab_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="bad lab name"):
        lab_paths(name)


@pytest.mark.parametrize("name", ["", "fabric", "a.b", "../x", "GPU", "1a", "x" * 40])
def test_a_bad_node_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="bad node name"):
        check_node_name(name)


def test_no_name_of_one_lab_begins_with_the_prefix_of_another() -> None:
    one, ten = lab_paths("lb1"), lab_paths("lb10")
    for name in (ten.bridge, ten.fabric_netns, ten.machine("gpu-1")):
        assert not name.startswith(one.prefix)
    assert one.cgroup != ten.cgroup


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"leaves": {"leaf0": ("a", "a")}}, "must differ"),
        ({"leaves": {"leaf0": ("head",)}}, "must differ"),
        ({"leaves": {"leaf0": ("fabric",)}}, "bad node name"),
        ({"rails": 0}, "0 rails"),
        ({"rails": 17}, "17 rails"),
        ({"rail_rate_mbit": 0}, "below 1 Mbit"),
    ],
)
def test_a_network_that_cannot_be_is_refused(changes: dict[str, object], message: str) -> None:
    wish = testing.network_wish("lab", nodes=2)
    for name, value in changes.items():
        object.__setattr__(wish, name, value)
    with pytest.raises(UsageError, match=message):
        network.check_wish(wish)


def test_a_trial_network_spreads_nodes_over_leaves() -> None:
    wish = testing.network_wish("lab", nodes=5, leaves=2)
    assert wish.leaves == {"leaf0": ("gpu-1", "gpu-2", "gpu-3"), "leaf1": ("gpu-4", "gpu-5")}
    assert [w.ordinal for w in testing.node_wishes(wish)] == [0, 1, 2, 3, 4, 5]
