"""A node takes what was signed and nothing else, and stays out of service until it is applied."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.converge.bundle import Bundle, BundledFile, pack
from muster.converge.bundle_release import Release, publish
from muster.converge.node import boot
from muster.converge.node.boot import Node, NotAcceptedError, Places
from muster.converge.signing import allowed_signers, ensure_signing_key, sign
from tests.unit.converge.sample import UNHURRIED

BUNDLE = pack(
    {
        "nodes/n1.json": BundledFile(data=b"{}"),
        "playbooks/boot.yml": BundledFile(data=b"[]\n"),
        # Regular packages: the real Ansible of the environment must not come first.
        "runtime/ansible/__init__.py": BundledFile(data=b""),
        "runtime/ansible/cli/__init__.py": BundledFile(data=b""),
        "runtime/ansible/cli/playbook.py": BundledFile(
            data=b"import os, pathlib\n"
            b"pathlib.Path(os.environ['MUSTER_BOOT_RESULT']).write_text(os.environ['RESULT'])\n"
        ),
    }
)
FINE = json.dumps({"changed": 3, "ok": 9, "failures": []})
CONFIG = {"stack": "lab", "node": "n1", "unit": "slurmd", "attempts": 1, "reboot_allowed": False}


class Stage:
    """A store that publishes, and a node below a root of its own."""

    def __init__(self, folder: Path) -> None:
        self.store, self.root = folder / "store", folder / "root"
        self.depot = self.publish(BUNDLE)
        self.key = ensure_signing_key(self.store / "secrets", "lab")
        self.places = Places(self.root)
        self.places.config.parent.mkdir(parents=True)
        self.places.signers.write_text(allowed_signers(self.key, "lab"), encoding="utf-8")
        self.config: dict[str, Any] = {**CONFIG, "source": str(self.depot)}

    def publish(self, bundle: Bundle) -> Path:
        return publish(bundle, "lab", self.store)

    def release(self, **change: Any) -> None:
        """Sign another statement."""
        says: dict[str, Any] = {
            "stack": "lab",
            "bundle": BUNDLE.sha256,
            "size": len(BUNDLE.data),
            "sequence": 1,
        }
        text = Release(**{**says, **change}).text()
        (self.depot / "release.json").write_text(text, encoding="utf-8")
        (self.depot / "release.json.sig").write_text(sign(self.key, text), encoding="utf-8")

    @property
    def archive(self) -> Path:
        return self.depot / BUNDLE.name

    def node(self) -> Node:
        return Node(self.places, self.config)

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.places.status.read_text(encoding="utf-8"))
        return found


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    _no_systemd(monkeypatch)
    return Stage(tmp_path)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Stage(tmp_path_factory.mktemp("shared"))


def _no_systemd(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(boot, "_systemctl", lambda *words: asked.append(words))
    real = boot._environment
    monkeypatch.setattr(boot, "_environment", lambda *a: real(*a) | {"RESULT": FINE})
    return asked


def say(monkeypatch: pytest.MonkeyPatch, result: str) -> None:
    """Have the bundle's playbook leave this result."""
    real = boot._environment
    monkeypatch.setattr(boot, "_environment", lambda *a: real(*a) | {"RESULT": result})


def flipped(data: bytes, at: int, bit: int) -> bytes:
    place = at % len(data)
    return data[:place] + bytes([data[place] ^ (1 << bit)]) + data[place + 1 :]


ANY_BIT = {"at": st.integers(0, 10**9), "bit": st.integers(0, 7)}


def test_the_program_needs_nothing_but_python() -> None:
    tree = ast.parse(Path(boot.__file__).read_text(encoding="utf-8"))
    found = {n.name for i in ast.walk(tree) if isinstance(i, ast.Import) for n in i.names}
    found |= {i.module or "" for i in ast.walk(tree) if isinstance(i, ast.ImportFrom)}
    assert {name.split(".")[0] for name in found} <= set(sys.stdlib_module_names)


def test_what_was_signed_is_pulled_and_unpacked(stage: Stage) -> None:
    place = stage.node().pull()
    assert place.name == BUNDLE.sha256
    assert (place / "nodes" / "n1.json").read_bytes() == b"{}"


@given(**ANY_BIT)
@settings(UNHURRIED, max_examples=20)
def test_a_bundle_with_any_bit_altered_is_refused(shared: Stage, at: int, bit: int) -> None:
    shared.archive.write_bytes(flipped(BUNDLE.data, at, bit))
    for kept in shared.places.kept.glob("*.tar.gz"):
        kept.unlink()
    with pytest.raises(NotAcceptedError, match="sha256 is .* was signed"):
        shared.node().pull()
    assert not list(shared.places.kept.glob("*.tar.gz"))


@given(length=st.integers(0, len(BUNDLE.data) - 1))
@settings(UNHURRIED, max_examples=20)
def test_a_bundle_that_came_in_part_is_refused(shared: Stage, length: int) -> None:
    shared.archive.write_bytes(BUNDLE.data[:length])
    with pytest.raises(NotAcceptedError, match=f"{length} bytes came, {len(BUNDLE.data)} were"):
        shared.node().pull()


def test_a_bundle_with_more_after_it_is_refused(stage: Stage) -> None:
    stage.archive.write_bytes(BUNDLE.data + b"x")
    with pytest.raises(NotAcceptedError, match="or more bytes came"):
        stage.node().pull()


@given(**ANY_BIT)
@settings(UNHURRIED, max_examples=20)
def test_a_statement_with_any_bit_altered_is_refused(shared: Stage, at: int, bit: int) -> None:
    statement = shared.depot / "release.json"
    good = statement.read_bytes()
    statement.write_bytes(flipped(good, at, bit))
    try:
        with pytest.raises(NotAcceptedError, match="not signed by the stack's key"):
            shared.node().pull()
    finally:
        statement.write_bytes(good)


@given(**ANY_BIT)
@settings(UNHURRIED, max_examples=20)
def test_an_altered_signature_never_lets_other_bytes_through(
    shared: Stage, at: int, bit: int
) -> None:
    """White space of the armour may differ: what counts is that only signed bytes get in."""
    shared.archive.write_bytes(BUNDLE.data)
    signature = shared.depot / "release.json.sig"
    good = signature.read_bytes()
    signature.write_bytes(flipped(good, at, bit))
    try:
        pulled = _pulled(shared.node())
    finally:
        signature.write_bytes(good)
    assert pulled == BUNDLE.sha256 or "not signed by the stack's key" in pulled


def test_a_bundle_without_signature_is_refused(stage: Stage) -> None:
    (stage.depot / "release.json.sig").unlink()
    with pytest.raises(NotAcceptedError, match=r"release\.json is not signed"):
        stage.node().pull()


def test_a_signature_of_another_key_is_refused(stage: Stage, tmp_path: Path) -> None:
    stage.key = ensure_signing_key(tmp_path / "other", "lab")
    stage.release()
    with pytest.raises(NotAcceptedError, match="not signed by the stack's key"):
        stage.node().pull()


def test_a_release_of_another_stack_is_refused_though_signed(stage: Stage) -> None:
    stage.release(stack="prod")
    with pytest.raises(NotAcceptedError, match="for stack 'prod', not 'lab'"):
        stage.node().pull()


def test_an_older_release_is_refused_though_signed(stage: Stage) -> None:
    stage.release(sequence=5)
    stage.node().pull()
    stage.release(sequence=4)
    with pytest.raises(NotAcceptedError, match="release 4 is older than 5, seen before"):
        stage.node().pull()


@pytest.mark.parametrize("source", ["ftp://x/y", "gopher:x", "relative/path"])
def test_a_source_of_an_unknown_kind_is_refused(stage: Stage, source: str) -> None:
    stage.config["source"] = source
    with pytest.raises(NotAcceptedError, match="expected http"):
        stage.node().pull()


def test_a_kept_archive_that_was_altered_since_is_fetched_again(stage: Stage) -> None:
    stage.node().pull()
    kept = stage.places.kept / BUNDLE.name
    kept.write_bytes(flipped(BUNDLE.data, 30, 1))
    stage.node().pull()
    assert kept.read_bytes() == BUNDLE.data


def test_what_a_kill_left_half_unpacked_is_not_used(stage: Stage) -> None:
    half = stage.places.kept / f".{BUNDLE.sha256}.new"
    (half / "nodes").mkdir(parents=True)
    (half / "stale").touch()
    place = stage.node().pull()
    assert not (place / "stale").exists()
    assert not half.exists()


def test_only_the_newest_bundle_is_kept(stage: Stage) -> None:
    stage.node().pull()
    other = pack({"nodes/n1.json": BundledFile(data=b"{ }")})
    stage.publish(other)
    stage.node().pull()
    names = {path.name for path in stage.places.kept.iterdir()}
    assert {other.name, other.sha256} <= names
    assert not {BUNDLE.name, BUNDLE.sha256} & names


def test_a_node_that_converged_is_in_service(stage: Stage) -> None:
    assert stage.node().run() == 0
    assert stage.places.released.exists()
    status = stage.status()
    assert (status["state"], status["in_service"], status["changed"]) == ("converged", True, 3)
    assert status["bundle"] == BUNDLE.sha256


def _pulled(node: Node) -> str:
    """Pull; returns the bundle's name, or why it was refused."""
    try:
        return node.pull().name
    except NotAcceptedError as error:
        return str(error)


def _unsigned(stage: Stage) -> None:
    (stage.depot / "release.json.sig").unlink()


def _altered(stage: Stage) -> None:
    stage.archive.write_bytes(flipped(BUNDLE.data, 99, 3))


def _half(stage: Stage) -> None:
    stage.archive.write_bytes(BUNDLE.data[: len(BUNDLE.data) // 2])


@pytest.mark.parametrize("spoil", [_unsigned, _altered, _half])
def test_a_node_that_refuses_stays_out_of_service(
    stage: Stage, spoil: Callable[[Stage], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = _no_systemd(monkeypatch)
    # Left by a start that was killed while it applied.
    stage.places.released.touch()
    spoil(stage)
    assert stage.node().run() == 1
    assert not stage.places.released.exists()
    assert ("stop", "slurmd") in asked
    status = stage.status()
    assert (status["state"], status["in_service"]) == ("refused", False)
    assert "\n" not in status["message"]


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ('{"changed": 0, "ok": 3, "failures": ["Run slurmd: no"]}', "Run slurmd: no"),
        ('{"changed": 0, "ok": 0, "failures": []}', "after 0 tasks"),
        ("", "left no result"),
    ],
)
def test_a_node_that_fails_to_apply_stays_out_of_service(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, result: str, said: str
) -> None:
    say(monkeypatch, result)
    assert stage.node().run() == 1
    assert not stage.places.released.exists()
    assert stage.status()["state"] == "failed"
    assert said in stage.status()["message"]


def test_a_node_in_service_keeps_its_jobs_when_a_later_bundle_is_refused(stage: Stage) -> None:
    stage.node().run()
    _unsigned(stage)
    assert stage.node().run() == 1
    assert stage.places.released.exists()
    assert stage.status()["in_service"] is True
    assert stage.status()["state"] == "refused"


def test_a_node_that_must_reboot_first_waits_for_leave(stage: Stage) -> None:
    stage.places.reboot_reasons.mkdir(parents=True)
    (stage.places.reboot_reasons / "nvidia_driver").write_text("nvidia_driver: 580 is new\n")
    assert stage.node().run() == 0
    assert stage.status()["state"] == "reboot-required"
    assert "580 is new" in stage.status()["message"]
    assert not stage.places.in_service.exists()
    assert not stage.places.released.exists()


def test_a_node_reboots_by_itself_but_not_for_ever(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = _no_systemd(monkeypatch)
    stage.config["reboot_allowed"] = True
    stage.places.reboot_reasons.mkdir(parents=True)
    (stage.places.reboot_reasons / "kernel").write_text("kernel: moved\n")
    states = []
    for _ in range(5):
        stage.node().run()
        states.append(stage.status()["state"])
    assert states == ["rebooting"] * 3 + ["reboot-required"] * 2
    assert asked.count(("reboot",)) == 3


@given(attempt=st.integers(1, 10_000))
@settings(UNHURRIED)
def test_attempts_are_spread_and_never_further_apart_than_the_longest(
    shared: Stage, attempt: int
) -> None:
    node = shared.node()
    node.report["attempt"] = attempt
    upper = min(300.0, 10.0 * 2.0 ** min(attempt - 1, 9))
    assert upper / 2 <= node.delay_s() <= upper
