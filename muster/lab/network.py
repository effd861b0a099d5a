"""A lab's network: made once, then compared with the wish and repaired, never rebuilt.

Host namespace: the management bridge only. Namespace `<lab>-fabric`: all leaves, spines and
uplinks, so that fabric addresses cannot collide with the host's and one `ip netns del` ends it.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from muster import shell
from muster.errors import MusterError, UsageError
from muster.files import write_atomic
from muster.lab import addresses, fault_model, host, keys, links, netns, node_files
from muster.lab.locks import locked
from muster.lab.model import HEAD_NAME, Network, NetworkWish
from muster.lab.paths import LabPaths, check_node_name, lab_paths

_TIMEOUT_S = 60.0
_FABRIC_STRAY = ""
"""Everything in the fabric's namespace is ours, so every unplanned link there is a stray."""


def check_wish(wish: NetworkWish) -> None:
    """Refuse a network that cannot be made.

    Raises:
        UsageError: as said.

    """
    names = wish.node_names()
    for name in names:
        check_node_name(name)
    where = f"lab {wish.lab}"
    if len(set(names)) != len(names) or HEAD_NAME in names:
        what = f"node names must differ, and none may be {HEAD_NAME!r}: {', '.join(names)}"
        raise UsageError(what, where=where)
    if not 1 <= wish.rails <= addresses.RAILS_MAX or len(names) > addresses.NODES_MAX:
        what = f"{wish.rails} rails and {len(names)} nodes"
        hint = f"A lab has 1 to {addresses.RAILS_MAX} rails and up to {addresses.NODES_MAX} nodes."
        raise UsageError(what, where=where, hint=hint)
    if min(wish.rail_rate_mbit, wish.uplink_rate_mbit) < 1:
        raise UsageError("a rate below 1 Mbit/s", where=where)


def load_network(paths: LabPaths) -> tuple[NetworkWish, Network] | None:
    """Return the network as it was last wished for, or None if the lab has none."""
    if not paths.network_file.is_file():
        return None
    record = json.loads(paths.network_file.read_text(encoding="utf-8"))
    wish = dict(record["wish"])
    wish["leaves"] = {leaf: tuple(nodes) for leaf, nodes in wish["leaves"].items()}
    return NetworkWish(**wish), _network(NetworkWish(**wish), record["management_cidr"])


def require_network(paths: LabPaths) -> tuple[NetworkWish, Network]:
    """Return the lab's network.

    Raises:
        UsageError: there is no such lab.

    """
    found = load_network(paths)
    if found is None:
        what = f"no lab {paths.lab!r} on this machine"
        raise UsageError(what, hint="Bring it up first: `make lab`.")
    return found


def _network(wish: NetworkWish, cidr: str) -> Network:
    rails = tuple(addresses.rail_cidr(rail) for rail in range(wish.rails))
    gateway = addresses.gateway(cidr)
    return Network(lab=wish.lab, management_cidr=cidr, gateway=gateway, rail_cidrs=rails)


def claim(paths: LabPaths, project: Path) -> None:
    """Note whose lab it is.

    Raises:
        UsageError: it belongs to another project directory that still exists.

    """
    here = str(project.resolve())
    if paths.owner_file.is_file():
        owner: dict[str, Any] = json.loads(paths.owner_file.read_text(encoding="utf-8"))
        if owner["project"] == here:
            return
        if Path(owner["project"]).is_dir():
            what = f"the lab belongs to {owner['project']}"
            hint = "Choose another lab name, or take it down there first: `make down`."
            raise UsageError(what, where=f"lab {paths.lab}", hint=hint)
    record = {"project": here, "pid": os.getpid()}
    write_atomic(paths.owner_file, json.dumps(record) + "\n")


def _claim_range(paths: LabPaths) -> str:
    """Keep the lab's management range, or choose a free one, under the machine's registry lock."""
    registry = paths.root / "ranges.json"
    with locked(paths.root / "locks" / "ranges.lock"):
        taken: dict[str, str] = {}
        if registry.is_file():
            taken = json.loads(registry.read_text(encoding="utf-8"))
        known = {p.name for p in (paths.root / "labs").iterdir()}
        taken = {lab: cidr for lab, cidr in taken.items() if lab in known}
        mine = taken.pop(paths.lab, "")
        used = addresses.used_ranges(*netns.routes_and_addresses(), own_links=[paths.bridge])
        used = [net for net in used if str(net) != mine]
        used += [IPv4Network(cidr) for cidr in taken.values()]
        clash = addresses.overlaps(mine, used) if mine else []
        if clash and paths.bridge in netns.read(""):
            what = f"its range {mine} overlaps {', '.join(map(str, clash))} of this machine"
            hint = "Remove that route, or take the lab down and up again."
            raise MusterError(what, where=f"lab {paths.lab}", hint=hint)
        cidr = mine if mine and not clash else addresses.choose_range(used)
        taken[paths.lab] = cidr
        write_atomic(registry, json.dumps(taken, indent=2, sort_keys=True) + "\n")
    return cidr


def _release_range(paths: LabPaths) -> None:
    """Remove the range's blackhole route and its entry, found even if the lab's files are gone."""
    registry = paths.root / "ranges.json"
    with locked(paths.root / "locks" / "ranges.lock"):
        taken = json.loads(registry.read_text(encoding="utf-8")) if registry.is_file() else {}
        if paths.lab not in taken:
            return
        shell.run(["ip", "route", "del", *_blackhole(taken.pop(paths.lab))], timeout_s=_TIMEOUT_S)
        write_atomic(registry, json.dumps(taken, indent=2, sort_keys=True) + "\n")


def _blackhole(cidr: str) -> list[str]:
    """Words of the route that keeps traffic from the default gateway if the bridge is gone."""
    return ["blackhole", cidr, "metric", "4000000"]


def _present(paths: LabPaths, wish: NetworkWish) -> list[str]:
    """Nodes of the wish that have a namespace."""
    existing = set(netns.names())
    return [n for n in (HEAD_NAME, *wish.node_names()) if paths.machine(n) in existing]


def _bent_plan(
    paths: LabPaths, wish: NetworkWish, cidr: str, nodes: list[str]
) -> dict[str, list[links.Link]]:
    changes = fault_model.link_changes(paths, wish, fault_model.load(paths.faults_file))
    return links.with_changes(links.full_plan(paths, wish, cidr, nodes), changes)


def ensure_network(wish: NetworkWish, project: Path | None = None) -> Network:
    """Make the network, or repair and change what differs from the wish; keeps its range.

    `project` is the directory that owns the lab (the current one if left out).

    Raises:
        UsageError: the wish is wrong, or the lab belongs to another project.
        MusterError: no free range, or the kernel refused.

    """
    check_wish(wish)
    paths = lab_paths(wish.lab)
    with locked(paths.lock("network")):
        paths.nodes.mkdir(parents=True, exist_ok=True)
        claim(paths, Path.cwd() if project is None else project)
        keys.ensure_key(paths.key_file, f"muster-{wish.lab}")
        _make_shared(paths)
        host.raise_limits()
        cidr = _claim_range(paths)
        record = {"wish": asdict(wish), "management_cidr": cidr}
        write_atomic(paths.network_file, json.dumps(record, indent=2) + "\n")
        nodes = _present(paths, wish)
        netns.ensure(paths.fabric_netns)
        plan = _bent_plan(paths, wish, cidr, nodes)
        netns.apply(plan, {paths.fabric_netns: _FABRIC_STRAY})
        shell.must_run(["ip", "route", "replace", *_blackhole(cidr)], timeout_s=_TIMEOUT_S)
        _write_hosts(paths, wish, cidr, nodes)
        network = _network(wish, cidr)
        netns.require_route(addresses.management_address(cidr, 0), paths.bridge)
    return network


def _write_hosts(paths: LabPaths, wish: NetworkWish, cidr: str, nodes: list[str]) -> None:
    """Tell the nodes that run of nodes that came since."""
    names = node_files.host_names(wish, cidr)
    for node in nodes:
        if paths.node(node).merged.is_mount():
            node_files.write_hosts(paths.node(node).merged, names)


def _make_shared(paths: LabPaths) -> None:
    """Make the shared directory; its marker tells "not mounted" from "empty"."""
    paths.shared.mkdir(exist_ok=True)
    marker = paths.shared / ".muster-fs-id"
    if not marker.is_file():
        write_atomic(marker, f"{paths.lab}\n")


def attach_node(paths: LabPaths, wish: NetworkWish, network: Network, node: str) -> None:
    """Make or repair a node's namespace and its links; safe beside other nodes' calls."""
    cidr, name = network.management_cidr, paths.machine(node)
    netns.ensure(name)
    changes = fault_model.link_changes(paths, wish, fault_model.load(paths.faults_file))
    plan = links.with_changes(links.node_plan(paths, wish, cidr, node), changes)
    netns.apply_node(plan, name)
    route = f"route replace default via {network.gateway}"
    netns.batch(name, "ip", [route])


def detach_node(paths: LabPaths, node: str) -> None:
    """Remove a node's namespace and links."""
    found = load_network(paths)
    if found is not None:
        wish, network = found
        plan = links.node_plan(paths, wish, network.management_cidr, node)
        for where in ("", paths.fabric_netns):
            if where and where not in netns.names():
                continue
            have = netns.read(where)
            netns.delete_links(where, [x.name for x in plan[where] if x.name in have])
    netns.remove(paths.machine(node))


def restore_links(paths: LabPaths) -> None:
    """Make all links as wished and as the active faults bend them."""
    with locked(paths.lock("network")):
        wish, network = require_network(paths)
        plan = _bent_plan(paths, wish, network.management_cidr, _present(paths, wish))
        netns.apply(plan, {})


def network_problems(wish: NetworkWish) -> list[str]:
    """Say what of the network differs from the wish; faults that we injected do not count."""
    paths = lab_paths(wish.lab)
    found = load_network(paths)
    if found is None:
        return [f"lab {wish.lab} has no network"]
    cidr = found[1].management_cidr
    plan = _bent_plan(paths, wish, cidr, _present(paths, wish))
    problems = [] if paths.fabric_netns in netns.names() else ["the fabric is missing"]
    for where, diff in netns.compare(plan, {paths.fabric_netns: _FABRIC_STRAY}).items():
        problems += [f"{where or 'host'}: {text}" for text in diff.problems]
    if not problems and netns.route_device(addresses.management_address(cidr, 0)) != paths.bridge:
        problems.append(f"host: {cidr} is not routed to {paths.bridge}")
    return problems


def remove_network(lab: str) -> None:
    """Remove all links, namespaces and routes of the lab, and give its range back."""
    paths = lab_paths(lab)
    for name in netns.names():
        if name.startswith(paths.prefix):
            netns.remove(name)
    ours = [name for name in netns.read("") if name.startswith(paths.prefix)]
    netns.delete_links("", ours)
    paths.network_file.unlink(missing_ok=True)
    _release_range(paths)
