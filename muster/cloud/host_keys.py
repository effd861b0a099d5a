"""Public SSH host keys of new instances, from the console that only AWS can write to us."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence

from muster.clock import Clock
from muster.cloud.calls import CloudError, call, side_by_side
from muster.cloud.gateway import Gateway
from muster.progress import Progress

_BEGIN = "-----BEGIN SSH HOST KEY KEYS-----"
_END = "-----END SSH HOST KEY KEYS-----"
_KEY = re.compile(r"\b((?:ssh|ecdsa)-[a-z0-9-]+) ([A-Za-z0-9+/]+={0,2})")
_BEST_FIRST = ("ssh-ed25519", "ecdsa-sha2-nistp256", "ssh-rsa")
_NO_LATEST = "UnsupportedOperation"


def parse_host_key(console: str) -> str:
    """Return the best key of the last block that cloud-init wrote; empty where there is none.

    Lines may begin with the kernel's time and end with a carriage return. A block without its end
    is still being written.
    """
    begin = console.rfind(_BEGIN, 0, max(console.rfind(_END), 0))
    if begin < 0:
        return ""
    block = console[begin : console.index(_END, begin)]
    found = {kind: key for kind, key in _KEY.findall(block) if _is_key(kind, key)}
    best = next((kind for kind in _BEST_FIRST if kind in found), "")
    return f"{best} {found[best]}" if best else ""


def _is_key(kind: str, key: str) -> bool:
    """Does the text decode to a key of this kind (RFC 4253, 6.6)? A cut line does not."""
    try:
        raw = base64.b64decode(key, validate=True)
    except binascii.Error:
        return False
    fields = []
    while raw:
        length = int.from_bytes(raw[:4])
        if len(raw) < 4 + length:
            return False
        fields.append(raw[4 : 4 + length])
        raw = raw[4 + length :]
    return len(fields) > 1 and fields[0] == kind.encode()


def read_host_keys(
    gateway: Gateway,
    ids: Sequence[str],
    clock: Clock,
    progress: Progress,
    *,
    limit_s: float,
    pause_s: float,
) -> dict[str, str]:
    """Read the consoles until each gave a key or the time is over; who gave none is left out."""
    end_s = clock.monotonic_s() + limit_s
    keys: dict[str, str] = {}
    while True:
        lacking = [name for name in ids if name not in keys]
        answers = side_by_side(lambda name: _console(gateway, name), lacking)
        found = zip(lacking, map(parse_host_key, answers), strict=True)
        keys |= {name: key for name, key in found if key}
        if len(keys) == len(set(ids)) or clock.monotonic_s() >= end_s:
            return keys
        progress(f"host keys: {len(keys)} of {len(set(ids))} nodes")
        clock.sleep(pause_s)


def _console(gateway: Gateway, instance_id: str) -> str:
    """Return the console's text; whatever refuses it, the key stays unknown."""
    try:
        pages = list(
            call(gateway, "ec2", "get_console_output", InstanceId=instance_id, Latest=True)
        )
    except CloudError as error:
        if error.code != _NO_LATEST:
            return ""
        try:
            pages = list(call(gateway, "ec2", "get_console_output", InstanceId=instance_id))
        except CloudError:
            return ""
    return "".join(page.get("Output", "") for page in pages)


def known_hosts_text(keys: Mapping[str, str]) -> str:
    """Write a known_hosts file: a line for each instance, by its id."""
    return "".join(f"{name} {key}\n" for name, key in sorted(keys.items()))


def read_known_hosts(text: str) -> dict[str, str]:
    """Read such a file back."""
    lines = [line.partition(" ") for line in text.splitlines()]
    return {name: key for name, _, key in lines if key and not name.startswith("#")}
