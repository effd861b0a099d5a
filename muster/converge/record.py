"""How the last converge ended on each node, kept for whoever has to prove the node."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from muster.converge.result import TaskFailure
from muster.files import write_atomic
from muster.fleet import Fleet

_FILE = "converge.json"


def outcomes(fleet: Fleet, failures: tuple[TaskFailure, ...]) -> dict[str, str]:
    """Say for each node why it is not converged, or "" where it is. Pure.

    A failure that is not a node's own (the head's, or of the whole run) cut the run short for all.
    """
    names = {node.name for node in fleet.nodes}
    own = {f.host: f"{f.task}: {f.message}" for f in failures if f.host in names}
    general = next((str(f) for f in failures if f.host not in names), "")
    return {name: own.get(name, general) for name in names}


def write_outcomes(store_dir: Path, fleet: Fleet, found: Mapping[str, str]) -> None:
    """Keep the outcomes, by name and serial."""
    record = {n.name: {"serial": n.serial, "failure": found[n.name]} for n in fleet.nodes}
    write_atomic(store_dir / _FILE, json.dumps(record, indent=2, sort_keys=True) + "\n")


def read_outcomes(store_dir: Path, fleet: Fleet) -> dict[str, str]:
    """Read them back; what was said of other hardware under the same name is left out."""
    path = store_dir / _FILE
    if not path.is_file():
        return {}
    record = json.loads(path.read_text(encoding="utf-8"))
    return {
        node.name: record[node.name]["failure"]
        for node in fleet.nodes
        if record.get(node.name, {}).get("serial") == node.serial
    }
