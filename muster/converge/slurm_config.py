"""Which files does each machine get? Fleet, instance types and options in, texts out; pure.

Cluster-wide files are rendered once here, not by Ansible on each node: the same bytes for the same
input, whatever the number of nodes, and checked by golden tests.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from muster.converge.hostlist import compress
from muster.converge.options import ConvergeOptions, NodeType
from muster.errors import UsageError
from muster.fabric.switches import domains, switch_tree
from muster.fleet import Fleet, Node

TEMPLATES = Path(__file__).parents[2] / "templates"

Machine = Literal["head", "nodes"]
"""The two kinds of machines: the head, and all others."""

_NOT_IN_A_GRES_TYPE = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class RenderedFile:
    """A file (or, with no text, a directory) that a role puts on one kind of machine."""

    role: str
    machine: Machine
    path: str
    text: str | None
    owner: str
    group: str
    mode: str

    @property
    def relative_path(self) -> str:
        """Where the text lies below a directory of rendered files: "head/etc/slurm/slurm.conf"."""
        return f"{self.machine}{self.path}"


def render(
    fleet: Fleet,
    types: Mapping[str, NodeType],
    options: ConvergeOptions,
    *,
    templates: Path = TEMPLATES,
) -> tuple[RenderedFile, ...]:
    """Render every file of templates/manifest.yaml.

    Raises:
        UsageError: a node has a type that is not in `types`.

    """
    environment = Environment(
        loader=FileSystemLoader(templates),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 these are configuration files, not HTML
    )
    context = _context(fleet, types, options)
    found = []
    for entry in yaml.safe_load((templates / "manifest.yaml").read_text(encoding="utf-8")):
        for machine in _machines(entry["scope"]):
            text = None
            if "template" in entry:
                template = environment.get_template(entry["template"])
                text = template.render(context, is_head=machine == "head")
            found.append(_rendered(entry, machine=machine, text=text))
    return tuple(found)


def texts(files: tuple[RenderedFile, ...]) -> dict[str, str]:
    """Return {relative path: text} of all files that are not directories."""
    return {file.relative_path: file.text for file in files if file.text is not None}


def gres_type(gpu_model: str) -> str:
    """Write a GPU's name as Slurm's GRES type: "NVIDIA H100" is "nvidia-h100".

    A type must not be a number and holds no blank, colon or comma (gres.conf(5)).
    """
    return _NOT_IN_A_GRES_TYPE.sub("-", gpu_model.lower()).strip("-") or "gpu"


def _machines(scope: str) -> tuple[Machine, ...]:
    both: tuple[Machine, ...] = ("head", "nodes")
    return both if scope == "all" else tuple(m for m in both if m == scope)


def _rendered(entry: Mapping[str, Any], *, machine: Machine, text: str | None) -> RenderedFile:
    return RenderedFile(
        role=entry["role"],
        machine=machine,
        path=entry["path"],
        text=text,
        owner=entry.get("owner", "root"),
        group=entry.get("group", "root"),
        mode=entry.get("mode", "0644"),
    )


def _context(
    fleet: Fleet, types: Mapping[str, NodeType], options: ConvergeOptions
) -> dict[str, Any]:
    of_node = {node.name: _type_of(node, types) for node in fleet.nodes}
    return {
        "cgroup_mode": options.cgroup_mode,
        "clock_settable": options.clock_settable,
        "cluster_name": fleet.stack,
        "exporters": _exporters(fleet),
        "groups": _groups(fleet, of_node, options),
        "head": fleet.head.name,
        "head_address": fleet.head.address,
        "health_interval_s": options.health_interval_s,
        "innodb_buffer_pool_mib": options.innodb_buffer_pool_mib,
        "machines": (fleet.head, *fleet.nodes),
        "mounts": fleet.mounts,
        "nodes": [
            {"name": n.name, "serial": n.serial, "gpu_count": of_node[n.name].gpu_count}
            for n in fleet.nodes
        ],
        "nofile": options.nofile,
        "partitions": _partitions(fleet),
        "scrape_interval_s": options.scrape_interval_s,
        "shared_cpus": any(kind.shared_cpus for kind in of_node.values()),
        "shared_directory": options.shared_directory,
        "shared_marker": options.shared_marker,
        "topology": _topology(fleet),
        "upstreams": options.time_servers,
    }


def _type_of(node: Node, types: Mapping[str, NodeType]) -> NodeType:
    try:
        return types[node.type]
    except KeyError as error:
        what = f"type {node.type!r} is not in the catalog"
        raise UsageError(what, where=node.name, hint=f"Known: {', '.join(types)}.") from error


def _groups(
    fleet: Fleet, of_node: Mapping[str, NodeType], options: ConvergeOptions
) -> list[dict[str, Any]]:
    """One line of slurm.conf per instance type, in order of the type's name."""
    lines = []
    ordered = sorted(fleet.nodes, key=lambda node: node.type)
    for _, members in groupby(ordered, key=lambda node: node.type):
        names = [node.name for node in members]
        kind = of_node[names[0]]
        fraction = 1.0 if kind.shared_cpus else options.memory_usable_fraction
        lines.append(
            {
                "nodes": compress(names),
                "cpus": kind.vcpus,
                "memory_mib": int(kind.memory_mib * fraction),
                "gpu_count": kind.gpu_count,
                "gpu_type": gres_type(kind.gpu_model),
            }
        )
    return lines


def _partitions(fleet: Fleet) -> list[dict[str, str]]:
    """One partition per pool, in fleet order: the first is the default."""
    pools: dict[str, list[str]] = {}
    for node in fleet.nodes:
        pools.setdefault(node.pool, []).append(node.name)
    return [{"name": pool, "nodes": compress(names)} for pool, names in pools.items()]


def _exporters(fleet: Fleet) -> list[dict[str, Any]]:
    pools: dict[str, list[str]] = {"head": [fleet.head.name]}
    for node in fleet.nodes:
        pools.setdefault(node.pool, []).append(node.name)
    return [{"name": pool, "nodes": names} for pool, names in pools.items()]


def _topology(fleet: Fleet) -> dict[str, Any]:
    """Return Slurm's plugin, and the switches or blocks that it is told.

    Before 25.05 Slurm takes one of the two, from topology.conf, which later ones read as well.
    """
    blocks = domains(fleet.nodes)
    if blocks:
        lines = [{"name": block.name, "nodes": compress(block.nodes)} for block in blocks]
        # The first size is that of the smallest block: a larger one would leave nodes out.
        size = min(len(block.nodes) for block in blocks)
        return {"plugin": "block", "blocks": lines, "block_size": size}
    switches = [
        {
            "name": switch.name,
            "nodes": compress(switch.nodes),
            "switches": compress(switch.switches),
        }
        for switch in switch_tree(fleet.nodes)
    ]
    return {"plugin": "tree" if switches else "default", "switches": switches}
