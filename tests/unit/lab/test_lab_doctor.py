"""What the doctor says: pass, fail and unknown, each with what to do."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from muster import shell
from muster.errors import CommandError, MusterError
from muster.findings import Outcome
from muster.lab import doctor, host, privileges
from muster.lab.doctor import Probe
from muster.shell import Completed

FULL = "Name:\tpython\nCapEff:\t000001ffffffffff\n"


def _done(rc: int = 0, stdout: str = "", stderr: str = "") -> Completed:
    return Completed(argv=("x",), rc=rc, stdout=stdout, stderr=stderr)


def test_root_with_all_capabilities_may_build_a_lab() -> None:
    assert privileges.lacking("linux", 0, FULL) == ""


@pytest.mark.parametrize(
    ("platform", "euid", "status", "answer"),
    [
        ("darwin", 501, "", "needs Linux; this is darwin"),
        ("linux", 1000, FULL, "needs root; this is user 1000"),
        ("linux", 0, "CapEff:\t00000000a80425fb\n", "CAP_NET_ADMIN, CAP_SYS_ADMIN"),
        ("linux", 0, "", "CAP_SYS_ADMIN"),
    ],
)
def test_what_lacks_is_named(platform: str, euid: int, status: str, answer: str) -> None:
    assert answer in privileges.lacking(platform, euid, status)


def test_privileges_run_as_a_program_without_muster() -> None:
    argv = [sys.executable, "-I", "-S", privileges.__file__]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode in {0, 1}
    assert len((done.stdout + done.stderr).splitlines()) == 1


def _probes(monkeypatch: pytest.MonkeyPatch, answer: str) -> dict[str, Probe]:
    monkeypatch.setattr(doctor, "lacking", lambda *_: answer)
    return {probe.name: probe for probe in doctor.probe()}


def test_without_root_nothing_is_tried_and_the_rest_is_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_: object, **__: object) -> Completed:
        raise AssertionError

    monkeypatch.setattr(doctor, "_in_namespace", never)
    found = _probes(monkeypatch, "a lab needs root; this is user 1000.")
    assert found["privileges"].outcome is Outcome.FAIL
    for name in ("overlay", "links", "cgroups", "netem"):
        assert found[name].outcome is Outcome.UNKNOWN
    with pytest.raises(MusterError, match="privileges: a lab needs root"):
        doctor.require()


@pytest.mark.parametrize("name", ["overlay", "links"])
def test_what_the_kernel_refuses_fails_with_its_message(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    refused = _done(rc=32, stderr="mount: unknown filesystem type")
    monkeypatch.setattr(doctor, "_in_namespace", lambda *_, **__: refused)
    found = _probes(monkeypatch, "")[name]
    assert found.outcome is Outcome.FAIL
    assert "unknown filesystem type" in found.summary
    assert found.hint


@pytest.mark.parametrize("name", ["overlay", "links", "netem"])
def test_a_probe_that_could_not_run_is_unknown(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def broken(*_: object, **__: object) -> Completed:
        what = "`unshare` could not be started"
        raise CommandError(what)

    monkeypatch.setattr(doctor, "_in_namespace", broken)
    assert _probes(monkeypatch, "")[name].outcome is Outcome.UNKNOWN


def test_what_works_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_in_namespace", lambda *_, **__: _done())
    found = _probes(monkeypatch, "")
    assert {found[n].outcome for n in ("overlay", "links", "netem")} == {Outcome.PASS}


def test_the_link_step_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_tbf(script: str, **_: object) -> Completed:
        return _done(rc=2, stderr="Unknown qdisc") if "tbf" in script else _done()

    monkeypatch.setattr(doctor, "_in_namespace", no_tbf)
    found = _probes(monkeypatch, "")["links"]
    assert "tc qdisc add" in found.summary
    assert "sch_tbf" in found.hint


def test_missing_tools_are_named_with_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        shutil, "which", lambda tool, **_: None if tool in {"nft", "nsenter"} else tool
    )
    found = _probes(monkeypatch, "no")["tools"]
    assert found.outcome is Outcome.FAIL
    assert "nsenter" in found.summary
    assert "nft" in found.summary
    assert "apt-get install --no-install-recommends nftables util-linux" in found.hint


@pytest.mark.parametrize(
    ("version", "outcome"),
    [
        ("systemd 257 (257)", Outcome.PASS),
        ("systemd 251 (251)", Outcome.FAIL),
        ("?", Outcome.UNKNOWN),
    ],
)
def test_the_version_of_nspawn_is_judged(
    monkeypatch: pytest.MonkeyPatch, version: str, outcome: Outcome
) -> None:
    monkeypatch.setattr(shutil, "which", lambda tool, **_: tool)
    monkeypatch.setattr(shell, "must_run", lambda *_, **__: _done(stdout=version))
    assert doctor._tools().outcome is outcome


def test_low_limits_fail_only_where_they_cannot_be_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(host, "low_limits", lambda: {"kernel.pid_max": 32768})
    found = _probes(monkeypatch, "no root")["limits"]
    assert found.outcome is Outcome.FAIL
    assert "kernel.pid_max=32768" in found.summary
    assert _probes(monkeypatch, "")["limits"].outcome is Outcome.PASS


def test_too_many_nodes_for_the_memory_fail() -> None:
    few = {p.name: p for p in doctor.probe(nodes=1)}
    many = {p.name: p for p in doctor.probe(nodes=10_000_000)}
    assert few["memory"].outcome is Outcome.PASS
    assert many["memory"].outcome is Outcome.FAIL
    assert many["disk"].outcome is Outcome.FAIL
    assert many["processor"].outcome is Outcome.FAIL
    assert not many["processor"].required


def test_the_doctor_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_LAB_ROOT", str(tmp_path / "not" / "there"))
    found = {p.name: p for p in doctor.probe()}
    assert list(tmp_path.iterdir()) == []
    assert found["image"].outcome is Outcome.UNKNOWN
    assert not found["image"].required


def test_an_unknown_that_is_required_stands_in_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def probes(*outcomes: Outcome) -> Callable[..., list[Probe]]:
        return lambda *_: [Probe(f"p{i}", o, "seen", "do") for i, o in enumerate(outcomes)]

    monkeypatch.setattr(doctor, "probe", probes(Outcome.PASS, Outcome.UNKNOWN, Outcome.FAIL))
    with pytest.raises(MusterError, match="p1: seen. do"):
        doctor.require()
    monkeypatch.setattr(doctor, "probe", probes(Outcome.PASS))
    doctor.require()


def test_every_limit_is_a_setting_of_this_kernel_and_positive() -> None:
    assert all(value > 0 for value in host.wanted_limits().values())
    assert set(host.low_limits()) <= set(host.wanted_limits())
