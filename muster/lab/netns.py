"""Network namespaces and their links, through `ip` and `tc`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from muster import shell
from muster.errors import MusterError
from muster.lab.links import Difference, Link, difference, read_links

_RUN = Path("/run/netns")
_TIMEOUT_S = 60.0
# One address per interface and no IPv6: what is measured goes where it is sent.
_SYSCTLS = (
    "net.ipv6.conf.all.disable_ipv6=1",
    "net.ipv4.conf.all.arp_ignore=1",
    "net.ipv4.conf.all.arp_announce=2",
)


def _in(netns: str) -> list[str]:
    return ["-n", netns] if netns else []


def names() -> list[str]:
    """Return all named network namespaces."""
    return sorted(p.name for p in _RUN.iterdir()) if _RUN.is_dir() else []


def ensure(netns: str) -> None:
    """Make the namespace unless it is there; mends one that a kill left without its mount."""
    path = _RUN / netns
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    if path.exists() and f" {path} " not in mounts:
        path.unlink()
    if not path.exists():
        shell.must_run(["ip", "netns", "add", netns], timeout_s=_TIMEOUT_S)
    argv = ["nsenter", f"--net={path}", "sysctl", "-qw", *_SYSCTLS]
    shell.must_run(argv, timeout_s=_TIMEOUT_S)


def remove(netns: str) -> None:
    """Remove the namespace if it is there."""
    if (_RUN / netns).exists():
        shell.must_run(["ip", "netns", "del", netns], timeout_s=_TIMEOUT_S)


def read(netns: str) -> dict[str, Link]:
    """Return the links of a namespace; "" is the host's own."""
    where = _in(netns)
    queries = (
        ["ip", *where, "-j", "-d", "link", "show"],
        ["ip", *where, "-j", "addr", "show"],
        ["tc", *where, "-j", "qdisc", "show"],
    )
    link, address, qdisc = (shell.must_run(q, timeout_s=_TIMEOUT_S).stdout for q in queries)
    return read_links(link, address, qdisc)


def batch(netns: str, tool: str, lines: Sequence[str]) -> None:
    """Give lines to `ip -batch` or `tc -batch`."""
    if lines:
        argv = [tool, *_in(netns), "-batch", "-"]
        shell.must_run(argv, timeout_s=_TIMEOUT_S, stdin="\n".join(lines) + "\n")


def delete_links(netns: str, doomed: Sequence[str]) -> None:
    """Delete links. The kernel may be at it already: a namespace that ends takes its pairs along.

    Raises:
        MusterError: one of them stays.

    """
    if not doomed:
        return
    lines = "".join(f"link del dev {name}\n" for name in doomed)
    shell.run(["ip", *_in(netns), "-force", "-batch", "-"], timeout_s=_TIMEOUT_S, stdin=lines)
    left = sorted(set(doomed) & set(read(netns)))
    if left:
        raise MusterError(f"cannot delete {', '.join(left)}", where=netns or "host")


def compare(plan: Mapping[str, Sequence[Link]], strays: Mapping[str, str]) -> dict[str, Difference]:
    """Compare namespaces with their plan; `strays` as in `difference`, by namespace."""
    existing = set(names())
    found: dict[str, Difference] = {}
    for netns, links in plan.items():
        have = read(netns) if not netns or netns in existing else {}
        found[netns] = difference(links, have, strays.get(netns))
    return found


def apply(plan: Mapping[str, Sequence[Link]], strays: Mapping[str, str]) -> None:
    """Make namespaces as planned, one after the other: a veth made in one appears in another."""
    for netns, links in plan.items():
        todo = difference(links, read(netns), strays.get(netns))
        delete_links(netns, todo.strays)
        batch(netns, "ip", todo.ip)
        batch(netns, "tc", todo.tc)


def apply_node(plan: Mapping[str, Sequence[Link]], netns: str) -> None:
    """Make one node's links; ends whose other half is not in the node are made anew."""
    outer = {n: links for n, links in plan.items() if n != netns}
    apply(outer, {})
    inside = read(netns)
    for where, links in outer.items():
        have = read(where) if links else {}
        lost = [x.name for x in links if x.name in have and x.peer and x.peer not in inside]
        delete_links(where, lost)
    apply(outer, {})
    apply({netns: plan[netns]}, {})


def route_device(address: str) -> str:
    """Return the interface by which this machine would reach an address; empty if by none."""
    done = shell.run(["ip", "route", "get", address], timeout_s=_TIMEOUT_S)
    words = done.stdout.split()
    return words[words.index("dev") + 1] if done.ok and "dev" in words[:-1] else ""


def routes_and_addresses() -> tuple[str, str]:
    """Return `ip -j route show table all` and `ip -j addr` of the host."""
    routes = shell.must_run(["ip", "-j", "route", "show", "table", "all"], timeout_s=_TIMEOUT_S)
    address = shell.must_run(["ip", "-j", "addr", "show"], timeout_s=_TIMEOUT_S)
    return routes.stdout, address.stdout


def require_route(address: str, device: str) -> None:
    """Refuse to go on where an address is reached by another interface than expected.

    Raises:
        MusterError: another network took the address.

    """
    through = route_device(address)
    if through != device:
        what = f"{address} is reached through {through or 'nothing'}, not {device}"
        raise MusterError(what, hint="Another network has this range; see `ip route get`.")
