"""The controller's part of booting: what nodes are given, and what is believed of their answers."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster import shell
from muster.converge import boot
from muster.converge.boot import BootStatus, collect, enrol, follow, parse_status, serve
from muster.converge.boot_files import (
    MUNGE_KEY,
    PROGRAM,
    STATUS,
    BootSettings,
    Placed,
    node_boot_files,
)
from muster.converge.bundle import BundledFile, pack
from muster.converge.bundle_release import publish
from muster.errors import RemoteError
from muster.progress import silent
from muster.shell import Completed
from tests.unit.converge.sample import UNHURRIED, lab_fleet
from tests.unit.converge.test_rolling import Hours

SHA = "a" * 64
SETTINGS = BootSettings(stack="lab", source="http://head:8421")


def status(state: str = "converged", **change: Any) -> str:
    says = {
        "state": state,
        "message": "",
        "bundle": SHA,
        "in_service": True,
        "attempt": 1,
        "changed": 0,
    }
    return json.dumps({**says, **change})


class Nodes:
    """Remote machines that answer by a function; what they were asked is kept."""

    def __init__(self, answer: Callable[[str, str], str | int | RemoteError]) -> None:
        self.answer = answer
        self.asked: list[tuple[str, str, str]] = []

    def run(self, node: str, command: str, *, timeout_s: float, stdin: str = "") -> Completed:
        self.asked.append((node, command, stdin))
        said = self.answer(node, command)
        if isinstance(said, RemoteError):
            raise said
        rc, out = (said, "") if isinstance(said, int) else (0, said)
        return Completed(argv=("sh",), rc=rc, stdout=out, stderr="")


def test_a_node_counts_as_converged_only_with_this_bundle_and_in_service() -> None:
    assert parse_status("n", status()).converged_with(SHA)
    assert not parse_status("n", status(bundle="b" * 64)).converged_with(SHA)
    assert not parse_status("n", status(in_service=False)).converged_with(SHA)
    assert not parse_status("n", status("refused")).converged_with(SHA)


@given(st.text())
@settings(UNHURRIED)
def test_an_answer_that_makes_no_sense_is_silence(text: str) -> None:
    assert parse_status("n", text).state == "silent"


@pytest.mark.parametrize("missing", ["state", "bundle", "in_service", "attempt", "changed"])
def test_an_answer_that_lacks_something_is_silence(missing: str) -> None:
    data = json.loads(status())
    del data[missing]
    assert parse_status("n", json.dumps(data)).state == "silent"


def test_a_node_that_cannot_be_asked_is_silent() -> None:
    remote = Nodes(lambda node, _: RemoteError("no route") if node == "b" else status())
    found = collect(remote, ["a", "b"])
    assert found["a"].state == "converged"
    assert found["b"] == BootStatus(node="b", state="silent", message="no route")


def test_nodes_are_waited_for_until_all_are_done() -> None:
    clock, lines = Hours(), list[str]()
    remote = Nodes(
        lambda node, _: status() if node == "a" or clock.t > 60 else status("failed", message="no")
    )
    found = follow(remote, ["a", "b"], SHA, clock, lines.append, timeout_s=600)
    assert all(s.converged_with(SHA) for s in found.values())
    assert lines[0] == "boot 1/2; b failed: no"
    assert lines[-1] == "boot 2/2"
    assert 60 < clock.t < 80
    assert len([1 for node, _, _ in remote.asked if node == "b"]) < 12


def test_who_does_not_end_in_time_is_returned_as_it_is() -> None:
    clock = Hours()
    found = follow(Nodes(lambda *_: status("refused")), ["a"], SHA, clock, silent, timeout_s=30)
    assert found["a"].state == "refused"
    assert clock.t == pytest.approx(30)


def test_a_secret_goes_over_standard_input_and_never_in_a_command(tmp_path: Path) -> None:
    remote = Nodes(lambda *_: "")
    assert enrol(lab_fleet(2), ["gpu-1", "gpu-2"], SETTINGS, remote, tmp_path) == {}
    key = (tmp_path / "secrets" / "munge.key").read_text(encoding="utf-8")
    private = (tmp_path / "secrets" / "release_ed25519").read_text(encoding="utf-8")
    assert all(key.strip() not in command for _, command, _ in remote.asked)
    assert all(private not in stdin for _, _, stdin in remote.asked)
    given_files = json.loads(next(stdin for _, _, stdin in remote.asked if stdin))
    assert given_files[MUNGE_KEY] == [0o600, key]


def test_a_node_that_cannot_be_enrolled_is_named_and_holds_nobody_up(tmp_path: Path) -> None:
    remote = Nodes(lambda node, _: 1 if node == "gpu-1" else "")
    lost = enrol(lab_fleet(2), ["gpu-1", "gpu-2"], SETTINGS, remote, tmp_path)
    assert set(lost) == {"gpu-1"}
    assert any(f"rm -f {STATUS}" in command for node, command, _ in remote.asked if node == "gpu-2")


def test_slurmd_waits_for_a_verified_bundle_after_all_other_settings() -> None:
    files = node_boot_files("gpu-1", SETTINGS, signers="s\n", munge_key="k")
    gate = "/etc/systemd/system/slurmd.service.d/95-muster-boot.conf"
    assert "ConditionPathExists=/run/muster/boot/released" in files[gate].text
    assert Path(gate).name > "90-muster.conf"
    assert json.loads(files["/etc/muster/boot/config.json"].text)["node"] == "gpu-1"
    assert "def main(" in files[PROGRAM].text


def test_the_files_are_put_in_place_once_with_their_modes(tmp_path: Path) -> None:
    files = {
        f"{tmp_path}/a/secret": Placed(text="key\n", mode=0o600),
        f"{tmp_path}/b/unit": Placed(text="ü\n"),
    }
    content = json.dumps({path: (file.mode, file.text) for path, file in files.items()})
    for _ in range(2):
        shell.must_run(["python3", "-c", boot._PLACE], timeout_s=20, stdin=content)
    secret, unit = tmp_path / "a" / "secret", tmp_path / "b" / "unit"
    assert (secret.read_text(encoding="utf-8"), secret.stat().st_mode & 0o777) == ("key\n", 0o600)
    assert secret.parent.stat().st_mode & 0o777 == 0o700
    assert (unit.read_text(encoding="utf-8"), unit.stat().st_mode & 0o777) == ("ü\n", 0o644)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b", "secret", "unit"]


def test_the_head_keeps_only_an_archive_that_came_whole(tmp_path: Path) -> None:
    data = b"archive"
    for sent, rc in ((data, 0), (data[:3], 1)):
        command = boot._RECEIVE.format(
            directory=tmp_path / str(rc), name="x.tar.gz", sha256=hashlib.sha256(data).hexdigest()
        )
        stdin = base64.b64encode(sent).decode("ascii")
        assert shell.run(["sh", "-c", command], timeout_s=20, stdin=stdin).rc == rc
        assert (tmp_path / str(rc) / "x.tar.gz").exists() == (rc == 0)


def _answer_to(part: str, answer: str, _node: str, command: str) -> str:
    return answer if part in command else ""


def test_an_archive_that_the_head_has_is_not_sent_again(tmp_path: Path) -> None:
    bundle = pack({"a": BundledFile(data=b"1")})
    directory = publish(bundle, "lab", tmp_path)
    for have, sent in ((f"{bundle.sha256}  x", False), ("", True)):
        remote = Nodes(partial(_answer_to, "2>/dev/null", have))
        address = serve(lab_fleet(2), remote, directory, 8421)
        assert any("base64 -d" in command for _, command, _ in remote.asked) == sent
        assert address == "http://10.0.0.10:8421"
