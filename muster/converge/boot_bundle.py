"""Make and sign the bundle of a fleet: the same inventory and files as a push, for each node."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from muster.converge.boot_files import MUNGE_KEY
from muster.converge.bundle import (
    RENDERED,
    Bundle,
    BundledFile,
    node_files,
    pack,
    refuse_secrets,
)
from muster.converge.bundle_files import ansible_files, project_files
from muster.converge.bundle_release import publish
from muster.converge.inventory import build_inventory
from muster.converge.options import ConvergeOptions, NodeType
from muster.converge.secret import ensure_munge_key
from muster.converge.signing import ensure_signing_key
from muster.converge.slurm_config import render, texts
from muster.fleet import Fleet
from muster.software.fleet import FleetUses


def make_bundle(
    fleet: Fleet,
    types: Mapping[str, NodeType],
    options: ConvergeOptions,
    store_dir: Path,
    *,
    software: FleetUses | None = None,
) -> Bundle:
    """Return the bundle of the fleet's nodes; the head is converged by push.

    `software` has the roles that the machines' hardware needs.

    Raises:
        MusterError: a secret of the stack is in a file.
        UsageError: as `build_inventory`.

    """
    files = render(fleet, types, options)
    inventory = build_inventory(
        fleet,
        types,
        files,
        options,
        rendered=Path(RENDERED),
        munge_key=Path(MUNGE_KEY),
        known_hosts=Path(fleet.ssh.known_hosts_file).read_text(encoding="utf-8"),
        software=software,
    )
    rendered = {
        f"rendered/{path}": BundledFile(data=text.encode())
        for path, text in texts(files).items()
        if not path.startswith("head/")
    }
    found = project_files() | ansible_files() | rendered
    found |= node_files(inventory, (node.name for node in fleet.nodes))
    secrets = store_dir / "secrets"
    refuse_secrets(
        found,
        {
            "munge key": ensure_munge_key(secrets).read_bytes(),
            "signing key": ensure_signing_key(secrets, fleet.stack).read_bytes(),
        },
    )
    return pack(found)


def publish_bundle(
    fleet: Fleet,
    types: Mapping[str, NodeType],
    options: ConvergeOptions,
    store_dir: Path,
    *,
    software: FleetUses | None = None,
) -> tuple[Bundle, Path]:
    """Make the bundle, sign it, and return it with the directory that nodes may pull from."""
    bundle = make_bundle(fleet, types, options, store_dir, software=software)
    return bundle, publish(bundle, fleet.stack, store_dir)
