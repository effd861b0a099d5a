"""The stack's key is made once, kept from others, and signs so that OpenSSH agrees."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from muster import shell
from muster.converge.signing import (
    NAMESPACE,
    allowed_signers,
    ensure_signing_key,
    public_key,
    sign,
)
from muster.errors import MusterError
from muster.shell import Completed


def verified(
    folder: Path, text: str, signature: str, signers: str, *, namespace: str = NAMESPACE
) -> bool:
    (folder / "signers").write_text(signers, encoding="utf-8")
    (folder / "sig").write_text(signature, encoding="utf-8")
    who = ["-I", "lab", "-n", namespace, "-s", str(folder / "sig")]
    argv = ["ssh-keygen", "-Y", "verify", "-f", str(folder / "signers"), *who]
    return shell.run(argv, timeout_s=20, stdin=text).ok


def test_a_key_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    key = ensure_signing_key(tmp_path / "secrets", "lab")
    before = key.read_bytes()
    assert ensure_signing_key(tmp_path / "secrets", "lab").read_bytes() == before
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE(key.parent.stat().st_mode) == 0o700
    assert [path.name for path in key.parent.iterdir()] == [key.name]


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    key = ensure_signing_key(tmp_path, "lab")
    key.chmod(0o644)
    with pytest.raises(MusterError, match="mode 0644"):
        ensure_signing_key(tmp_path, "lab")


def test_openssh_accepts_the_signature_of_the_same_text_key_and_use_only(tmp_path: Path) -> None:
    key = ensure_signing_key(tmp_path / "a", "lab")
    other = ensure_signing_key(tmp_path / "b", "lab")
    signers, signature = allowed_signers(key, "lab"), sign(key, "text\n")
    assert verified(tmp_path, "text\n", signature, signers)
    assert not verified(tmp_path, "test\n", signature, signers)
    assert not verified(tmp_path, "text\n", signature, signers, namespace="file")
    assert not verified(tmp_path, "text\n", sign(other, "text\n"), signers)
    assert not verified(tmp_path, "text\n", signature, allowed_signers(key, "another"))


def test_the_same_text_has_the_same_signature(tmp_path: Path) -> None:
    key = ensure_signing_key(tmp_path, "lab")
    assert sign(key, "text") == sign(key, "text")


def test_the_private_half_is_in_no_argument_and_not_in_what_nodes_get(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    real = shell.run

    def run(argv: list[str], **more: Any) -> Completed:
        seen.extend(argv)
        return real(argv, **more)

    monkeypatch.setattr(shell, "run", run)
    key = ensure_signing_key(tmp_path, "lab")
    given = allowed_signers(key, "lab") + sign(key, "text") + "".join(seen)
    secret = key.read_text(encoding="utf-8").splitlines()[1:-1]
    # The first two lines hold the format and the public half.
    assert not [line for line in secret[2:] if line in given]
    assert public_key(key).startswith("ssh-ed25519 ")
