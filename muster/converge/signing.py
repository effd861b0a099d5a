"""Signatures that a node can check with OpenSSH alone: ssh-keygen -Y, ed25519, one key per stack.

The private key lies in the run store, is read by its owner only, and is named to ssh-keygen by its
path: it is never in an argument, a state file or a log.
"""

from __future__ import annotations

import stat
import tempfile
from pathlib import Path

from muster import shell
from muster.errors import MusterError

NAMESPACE = "muster-release"
"""What the signature is for: one made for another use of the same key does not count."""
_TIMEOUT_S = 20.0
_KEY = "release_ed25519"


def ensure_signing_key(directory: Path, stack: str) -> Path:
    """Return the path of the stack's private key below `directory`; one that exists stays.

    Raises:
        MusterError: others can read the key.

    """
    path = directory / _KEY
    if not path.exists():
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Made beside its place and renamed: a kill leaves no half key under the name.
        with tempfile.TemporaryDirectory(dir=directory, prefix=".key.") as beside:
            made = Path(beside) / _KEY
            argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", stack, "-f", str(made)]
            shell.must_run(argv, timeout_s=_TIMEOUT_S)
            made.chmod(0o600)
            made.rename(path)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        what = f"others can read it (mode {mode:04o}); expected 0600"
        raise MusterError(what, where=str(path), hint=f"Run `chmod 600 {path}`.")
    return path


def public_key(key: Path) -> str:
    """Return the public half, as "ssh-ed25519 AAAA…"."""
    done = shell.must_run(["ssh-keygen", "-y", "-f", str(key)], timeout_s=_TIMEOUT_S)
    return " ".join(done.stdout.split()[:2])


def allowed_signers(key: Path, stack: str) -> str:
    """Return the line by which a node knows the stack's key (ssh-keygen(1), ALLOWED SIGNERS)."""
    return f'{stack} namespaces="{NAMESPACE}" {public_key(key)}\n'


def sign(key: Path, text: str) -> str:
    """Return the signature of a text, armoured; the same for the same key and text."""
    argv = ["ssh-keygen", "-Y", "sign", "-q", "-f", str(key), "-n", NAMESPACE]
    return shell.must_run(argv, timeout_s=_TIMEOUT_S, stdin=text).stdout
