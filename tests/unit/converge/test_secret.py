"""The munge key is made once and stays private."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from muster.converge.secret import ensure_munge_key
from muster.errors import MusterError


def test_key_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = ensure_munge_key(tmp_path / "secrets")
    first = path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(first) >= 128
    assert ensure_munge_key(tmp_path / "secrets").read_bytes() == first


def test_two_stacks_have_two_keys(tmp_path: Path) -> None:
    keys = {ensure_munge_key(tmp_path / name).read_bytes() for name in "ab"}
    assert len(keys) == 2


def test_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    ensure_munge_key(tmp_path).chmod(0o644)
    with pytest.raises(MusterError, match=r"others can read it \(mode 0644\)"):
        ensure_munge_key(tmp_path)


def test_key_cut_short_is_refused(tmp_path: Path) -> None:
    path = ensure_munge_key(tmp_path)
    path.write_bytes(b"short")
    with pytest.raises(MusterError, match="5 bytes"):
        ensure_munge_key(tmp_path)
