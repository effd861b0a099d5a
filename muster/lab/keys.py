"""SSH keys and known hosts: known before the first connection, so no key is ever taken on trust."""

from __future__ import annotations

import hashlib
from pathlib import Path

from muster import shell
from muster.files import write_atomic


def ensure_key(path: Path, comment: str) -> str:
    """Return the public key at `path`.pub; makes the pair if it is not whole."""
    public = path.with_name(f"{path.name}.pub")
    if not (path.is_file() and public.is_file()):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.new")
        for old in (temporary, temporary.with_name(f"{temporary.name}.pub")):
            old.unlink(missing_ok=True)
        argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(temporary)]
        shell.must_run(argv, timeout_s=30)
        # The public half goes first: a pair counts as whole only with the private half in place.
        temporary.with_name(f"{temporary.name}.pub").rename(public)
        temporary.rename(path)
    kind, key, *_ = public.read_text(encoding="utf-8").split()
    return f"{kind} {key}"


def write_known_hosts(path: Path, keys: dict[str, str]) -> None:
    """Write known_hosts for {address: public key}."""
    lines = [f"{address} {key}\n" for address, key in sorted(keys.items())]
    write_atomic(path, "".join(lines), mode=0o600)


def machine_id(serial: str) -> str:
    """Return the machine id that belongs to a serial: 32 hexadecimal digits."""
    return hashlib.sha256(serial.encode()).hexdigest()[:32]
