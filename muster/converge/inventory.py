"""Fleet -> Ansible inventory; pure. Paths and public facts only, never a secret or a text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from muster.converge.options import ConvergeOptions, NodeType
from muster.converge.slurm_config import RenderedFile
from muster.errors import UsageError
from muster.fleet import Fleet, Node, SshAccess
from muster.software.fleet import FleetUses
from muster.ssh import flags, node_options

Inventory = dict[str, Any]

_NOT_IN_A_GROUP = re.compile(r"[^A-Za-z0-9_]")


def build_inventory(
    fleet: Fleet,
    types: Mapping[str, NodeType],
    files: Iterable[RenderedFile],
    options: ConvergeOptions,
    *,
    rendered: Path,
    munge_key: Path,
    known_hosts: str,
    software: FleetUses | None = None,
) -> Inventory:
    """Return groups head, slurm_nodes, pool_<name> and others, with role variables.

    `rendered` is where the files' texts lie, `known_hosts` the text of the known_hosts file,
    `software` the roles that each machine's hardware needs: a group software_<role> for each.

    Raises:
        UsageError: a host's key is missing from known_hosts, so its identity could not be checked.

    """
    _check_known_hosts(fleet, known_hosts)
    everyone = (fleet.head, *fleet.nodes)
    variables = _file_variables(files, rendered)
    pools: dict[str, list[str]] = {}
    for node in fleet.nodes:
        pools.setdefault(f"pool_{_NOT_IN_A_GROUP.sub('_', node.pool)}", []).append(node.name)
    return {
        "all": {
            "hosts": {
                node.name: _connection(fleet.ssh, node) | _arguments(software, node.name)
                for node in everyone
            },
            "vars": {
                "ansible_user": fleet.ssh.user,
                "ansible_port": fleet.ssh.port,
                "ansible_ssh_private_key_file": fleet.ssh.key_file,
                "ansible_become": fleet.ssh.user != "root",
                "munge_key_file": str(munge_key),
                "shared_directory_path": options.shared_directory,
                "shared_directory_marker": options.shared_marker,
                "slurm_reservation_enabled": options.reserve_unaccepted,
            },
            "children": {
                "head": _group([fleet.head.name], variables["head"]),
                "slurm_nodes": _group([node.name for node in fleet.nodes], variables["nodes"]),
                "mounting_machines": _group(n.name for n in everyone if fleet.mounts),
                "named_machines": _group(n.name for n in everyone if options.set_hostname),
                "gpu_nodes": _group(n.name for n in fleet.nodes if types[n.type].gpu_count),
                **{pool: _group(names) for pool, names in pools.items()},
                **_software_groups(software or {}),
            },
        }
    }


def _group(names: Iterable[str], variables: dict[str, Any] | None = None) -> dict[str, Any]:
    group: dict[str, Any] = {"hosts": dict.fromkeys(names)}
    return group | ({"vars": variables} if variables else {})


def _software_groups(software: FleetUses) -> dict[str, dict[str, Any]]:
    found: dict[str, list[str]] = {}
    for name, uses in software.items():
        for use in uses:
            found.setdefault(f"software_{use.role}", []).append(name)
    return {group: _group(names) for group, names in found.items()}


def _arguments(software: FleetUses | None, name: str) -> dict[str, Any]:
    """Return the arguments of all roles of a machine; each begins with its role's name."""
    uses = (software or {}).get(name, ())
    return {key: value for use in uses for key, value in use.variables.items()}


def _file_variables(files: Iterable[RenderedFile], rendered: Path) -> dict[str, dict[str, Any]]:
    """Return per kind of machine `<role>_files`, the argument of each role."""
    found: dict[str, dict[str, Any]] = {"head": {}, "nodes": {}}
    for file in files:
        entry = {
            "path": file.path,
            "owner": file.owner,
            "group": file.group,
            "mode": file.mode,
        }
        if file.text is not None:
            entry["src"] = str(rendered / file.relative_path)
        found[file.machine].setdefault(f"{file.role}_files", []).append(entry)
    return found


def _connection(access: SshAccess, node: Node) -> dict[str, str]:
    arguments = shlex.join(flags(node_options(access, node)))
    return {"ansible_host": node.host, "ansible_ssh_common_args": arguments}


def _check_known_hosts(fleet: Fleet, known_hosts: str) -> None:
    known = set()
    for line in known_hosts.splitlines():
        names, _, key = line.strip().partition(" ")
        known |= {(name, " ".join(key.split()[:2])) for name in names.split(",")}
    everyone = (fleet.head, *fleet.nodes)
    lacking = [node.name for node in everyone if not _is_known(node, fleet.ssh, known)]
    if lacking:
        what = f"no line with the host key of {', '.join(lacking)}"
        hint = "The inventory of the stack is out of date: run `muster up` again."
        raise UsageError(what, where=fleet.ssh.known_hosts_file, hint=hint)


def _is_known(node: Node, access: SshAccess, known: set[tuple[str, str]]) -> bool:
    key = " ".join(node.host_key.split()[:2])
    if access.known_by == "serial":
        return (node.serial, key) in known
    return (node.address, key) in known or (f"[{node.address}]:{access.port}", key) in known
