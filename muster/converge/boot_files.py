"""What a node is given once, so that it can pull and apply bundles by itself. Pure, but for reads.

The unit `muster-boot` runs one program. A drop-in keeps slurmd from starting before the program
says so, at every boot.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from muster.converge.bundle import NODE_SECRETS
from muster.converge.node import boot

PROGRAM = "/usr/local/lib/muster/boot.py"
STATUS = "/var/lib/muster/boot/status.json"
IN_SERVICE = "/run/muster/boot/in-service"
MUNGE_KEY = f"{NODE_SECRETS}/munge.key"
UNIT = "muster-boot.service"
DEPOT_DIRECTORY = "/srv/muster/bundles"
DEPOT_UNIT = "muster-depot.service"

_UNIT_TEXT = """\
# Written by muster; local edits are lost.
[Unit]
Description=Bring this node to what the stack's signed bundle says
After=network-online.target
Wants=network-online.target

[Service]
Type=exec
ExecStart={python} -I {program}
# Killed or crashed: begin again. Refused and failed attempts are repeated by the program itself.
Restart=on-failure
RestartSec=5
KillMode=control-group

[Install]
WantedBy=multi-user.target
"""
# After 90-muster.conf, which takes all conditions of the package away.
_GATE_TEXT = """\
# Written by muster: {unit} starts only when a bundle has been verified in this boot.
[Unit]
ConditionPathExists=/run/muster/boot/released
"""
_DEPOT_TEXT = """\
# Written by muster: nodes pull their signed bundle from here. It holds no secret.
[Unit]
Description=Bundles for the nodes of this stack
After=network-online.target

[Service]
ExecStart=/usr/bin/python3 -m http.server {port} --bind {address} --directory {directory}
User=nobody
Restart=always
RestartSec=2

[Install]
WantedBy=multi-user.target
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class BootSettings:
    """How the nodes of a stack boot."""

    stack: str
    source: str
    """Where bundles are: http(s)://, file:///, or a path on the node."""
    unit: str = "slurmd"
    """What keeps a node in service; it starts only when a bundle is being applied."""
    reboot_allowed: bool = True
    """May a node that is not in service yet reboot by itself where a role asks for it?"""
    first_delay_s: float = 10.0
    longest_delay_s: float = 300.0
    apply_timeout_s: float = 1800.0
    attempts: int = 0
    """How often to try; 0 is until it is done."""
    python: str = "/usr/bin/python3"
    """A Python that runs the bundled Ansible: 3.11 or newer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Placed:
    """A file to put on a machine."""

    text: str
    mode: int = 0o644


def node_boot_files(
    node: str, settings: BootSettings, *, signers: str, munge_key: str
) -> dict[str, Placed]:
    """Return by path all that the node needs before its first pull."""
    config = {
        "stack": settings.stack,
        "node": node,
        "source": settings.source,
        "unit": settings.unit,
        "reboot_allowed": settings.reboot_allowed,
        "first_delay_s": settings.first_delay_s,
        "longest_delay_s": settings.longest_delay_s,
        "apply_timeout_s": settings.apply_timeout_s,
        "attempts": settings.attempts,
    }
    program = Path(boot.__file__).read_text(encoding="utf-8")
    return {
        PROGRAM: Placed(text=program, mode=0o755),
        "/etc/muster/boot/config.json": Placed(text=json.dumps(config, indent=1) + "\n"),
        "/etc/muster/boot/allowed_signers": Placed(text=signers),
        MUNGE_KEY: Placed(text=munge_key, mode=0o600),
        f"/etc/systemd/system/{UNIT}": Placed(
            text=_UNIT_TEXT.format(python=settings.python, program=PROGRAM)
        ),
        f"/etc/systemd/system/{settings.unit}.service.d/95-muster-boot.conf": Placed(
            text=_GATE_TEXT.format(unit=settings.unit)
        ),
    }


def depot_files(address: str, port: int) -> dict[str, Placed]:
    """Return by path what serves the bundles on the head node."""
    text = _DEPOT_TEXT.format(port=port, address=address, directory=DEPOT_DIRECTORY)
    return {f"/etc/systemd/system/{DEPOT_UNIT}": Placed(text=text)}
