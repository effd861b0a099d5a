"""Can this machine run a lab? Each probe tries the real thing and leaves nothing behind."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from muster import shell
from muster.errors import MusterError
from muster.findings import Outcome
from muster.lab import addresses, cgroups, host, image, netns
from muster.lab.paths import FABRIC, lab_root
from muster.lab.privileges import lacking

_TIMEOUT_S = 30.0
_MIB = 1024 * 1024
_KIB_PER_MIB = 1024
_LOSS_RULE = r"""table netdev probe {
 chain loss {
  type filter hook ingress device "probea" priority 0
  numgen random mod 100 < 1 counter drop
 }
}
"""
# Each line is one step; the first that fails is the one that is named.
_LINK_STEPS = (
    "ip link add name probebr type bridge mcast_snooping 0",
    "ip link add name probea type veth peer name probeb",
    "ip link set dev probea master probebr",
    "tc qdisc add dev probea root tbf rate 40mbit burst 32kb latency 50ms",
    f"printf '%s' '{_LOSS_RULE}' | nft -f -",
)


@dataclass(frozen=True, slots=True)
class Probe:
    """What one probe saw. Only a `required` one stands in the way of a lab."""

    name: str
    outcome: Outcome
    summary: str
    hint: str = ""
    required: bool = True


def probe(nodes: int = 9, rails: int = 2, rail_rate_mbit: int = 40) -> list[Probe]:
    """Try all that a lab of this size needs; changes nothing, and works without root."""
    rights = _privileges()
    allowed = rights.outcome is Outcome.PASS
    needing_root: list[tuple[str, Callable[[], Probe]]] = [
        ("overlay", _overlay), ("links", _links), ("cgroups", _cgroups), ("netem", _netem),
    ]  # fmt: skip
    tried = [_guarded(name, check) if allowed else _untried(name) for name, check in needing_root]
    return [
        rights,
        _tools(),
        *tried,
        _limits(allowed=allowed),
        _guarded("addresses", _addresses),
        _memory(nodes),
        _disk(nodes),
        _processor(nodes, rails, rail_rate_mbit),
        _guarded("stale", _stale),
        _init(),
        _image(),
    ]


def require(nodes: int = 9, rails: int = 2, rail_rate_mbit: int = 40) -> None:
    """Refuse to go on where a lab cannot run.

    Raises:
        MusterError: names the first thing that lacks, or that could not be tried.

    """
    for found in probe(nodes, rails, rail_rate_mbit):
        if found.required and found.outcome is not Outcome.PASS:
            raise MusterError(found.summary, where=found.name, hint=found.hint)


def _pass(name: str, summary: str, *, required: bool = True) -> Probe:
    return Probe(name, Outcome.PASS, summary, required=required)


def _fail(name: str, summary: str, hint: str, *, required: bool = True) -> Probe:
    return Probe(name, Outcome.FAIL, summary, hint, required)


def _untried(name: str) -> Probe:
    summary = "not tried: it needs root"
    required = name != "netem"
    return Probe(name, Outcome.UNKNOWN, summary, "Run `sudo muster doctor`.", required)


def _guarded(name: str, check: Callable[[], Probe]) -> Probe:
    """Turn a probe that could not run into an unknown."""
    try:
        return check()
    except (MusterError, OSError) as error:
        required = name not in {"netem", "stale"}
        return Probe(name, Outcome.UNKNOWN, f"could not be tried: {error}", "", required)


def _privileges() -> Probe:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    answer = lacking(sys.platform, os.geteuid(), status)
    if answer:
        # The answer says what to do itself.
        return _fail("privileges", answer, "")
    return _pass("privileges", "root with the capabilities that a lab needs")


def _tools() -> Probe:
    needs = host.needs()
    wanted: dict[str, str] = dict(needs["tools"])
    if not _image_is_there():
        wanted |= needs["tools_for_the_image"]
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    lacking_tools = [tool for tool in wanted if shutil.which(tool, path=path) is None]
    if lacking_tools:
        packages = " ".join(sorted({wanted[tool] for tool in lacking_tools}))
        hint = f"Run `apt-get install --no-install-recommends {packages}`."
        return _fail("tools", f"not installed: {', '.join(lacking_tools)}", hint)
    return _guarded("tools", lambda: _nspawn_version(int(needs["nspawn_version"])))


def _nspawn_version(least: int) -> Probe:
    text = shell.must_run(["systemd-nspawn", "--version"], timeout_s=_TIMEOUT_S).stdout
    found = re.match(r"systemd (\d+)", text)
    if found is None:
        return Probe("tools", Outcome.UNKNOWN, f"cannot read the version of nspawn: {text[:40]!r}")
    if int(found[1]) < least:
        summary = f"systemd-nspawn is {found[1]}; expected {least} or newer"
        return _fail("tools", summary, "Use Debian 12 or newer.")
    return _pass("tools", f"all there; systemd-nspawn {found[1]}")


def _existing_root() -> Path:
    """Return the lab root, or what exists of the path to it."""
    path = lab_root()
    while not path.is_dir():
        path = path.parent
    return path


def _in_namespace(script: str, *, kind: str) -> shell.Completed:
    argv = ["unshare", kind, "sh", "-c", script]
    return shell.run(argv, timeout_s=_TIMEOUT_S)


def _overlay() -> Probe:
    with tempfile.TemporaryDirectory(dir=_existing_root(), prefix=".doctor-") as name:
        for part in ("lower", "upper", "work", "merged"):
            (Path(name) / part).mkdir()
        options = "lowerdir={0}/lower,upperdir={0}/upper,workdir={0}/work,index=off,metacopy=off"
        mount = f"mount -t overlay probe -o {options.format(name)},volatile {name}/merged"
        done = _in_namespace(mount, kind="--mount")
    if not done.ok:
        hint = "Set MUSTER_LAB_ROOT to a directory on ext4, xfs or tmpfs."
        return _fail("overlay", f"no overlay on {_existing_root()}: {done.stderr.strip()}", hint)
    return _pass("overlay", f"works on {_existing_root()}")


def _links() -> Probe:
    for count in range(1, len(_LINK_STEPS) + 1):
        done = _in_namespace(" && ".join(_LINK_STEPS[:count]), kind="--net")
        if not done.ok:
            step = _LINK_STEPS[count - 1].split(" name ")[0]
            hint = "The kernel lacks a module: bridge, veth, sch_tbf, nft_numgen or nf_tables."
            return _fail("links", f"`{step}` failed: {done.stderr.strip()[:200]}", hint)
    return _pass("links", "bridge, veth, rate limit and packet loss work")


def _netem() -> Probe:
    script = "ip link set dev lo up && tc qdisc add dev lo root netem delay 1ms"
    if _in_namespace(script, kind="--net").ok:
        return _pass("netem", "there", required=False)
    return _fail("netem", "not in this kernel; no fault of ours needs it", "", required=False)


def _cgroups() -> Probe:
    found = cgroups.hierarchies()
    name = f"muster.doctor.{os.getpid()}"
    trial = found.v2 / name
    trial.mkdir()
    try:
        killable = (trial / "cgroup.kill").exists()
    finally:
        trial.rmdir()
    if not killable:
        return _fail("cgroups", "no cgroup.kill", "Use a kernel of 5.14 or newer.")
    mode = ", ".join(sorted(found.v1)) or "none: v2 alone"
    return _pass("cgroups", f"v2 at {found.v2}; v1 controllers: {mode}")


def _limits(*, allowed: bool) -> Probe:
    low = host.low_limits()
    if low and not allowed:
        names = ", ".join(f"{name}={value}" for name, value in low.items())
        return _fail("limits", f"too low: {names}", "As root they are raised when a lab is made.")
    what = f"{len(low)} will be raised when a lab is made" if low else "high enough"
    return _pass("limits", what)


def _addresses() -> Probe:
    used = addresses.used_ranges(*netns.routes_and_addresses())
    return _pass("addresses", f"{addresses.choose_range(used)} is free")


def _memory(nodes: int) -> Probe:
    need = host.needs()["memory_mib"]
    wanted = need["node"] * nodes + need["head"] + need["jobs"]
    text = Path("/proc/meminfo").read_text(encoding="utf-8")
    found = re.search(r"MemAvailable:\s+(\d+) kB", text)
    if found is None:
        return Probe("memory", Outcome.UNKNOWN, "/proc/meminfo has no MemAvailable")
    have = int(found[1]) // _KIB_PER_MIB
    summary = f"{have} MiB available; {nodes} nodes need {wanted} MiB"
    if have < wanted:
        return _fail("memory", summary, "Ask for fewer nodes, or end other programs.")
    return _pass("memory", summary)


def _disk(nodes: int) -> Probe:
    need = host.needs()["disk_mib"]
    wanted = need["node"] * nodes + (0 if _image_is_there() else need["images"])
    have = shutil.disk_usage(_existing_root()).free // _MIB
    summary = f"{have} MiB free at {_existing_root()}; {wanted} MiB needed"
    if have < wanted:
        return _fail("disk", summary, "Free some space, or set MUSTER_LAB_ROOT.")
    return _pass("disk", summary)


def _processor(nodes: int, rails: int, rate_mbit: int) -> Probe:
    cores = os.cpu_count() or 1
    most = cores * int(host.needs()["link_mbit_per_core"])
    traffic = nodes // 2 * rails * rate_mbit
    summary = f"{cores} cores carry {most} Mbit/s; all pairs and rails at once are {traffic} Mbit/s"
    if traffic > most:
        hint = "Pair tests will run in batches; or lower the rate of the rails."
        return _fail("processor", summary, hint, required=False)
    return _pass("processor", summary, required=False)


def _stale() -> Probe:
    """Find labs that have no files: their root was deleted by hand, or is another one."""
    known = {p.name for p in (lab_root() / "labs").glob("*")}
    found = {p.name.removeprefix("muster-") for p in cgroups.hierarchies().v2.glob("muster-*")}
    suffix = f"-{FABRIC}"
    found |= {name.removesuffix(suffix) for name in netns.names() if name.endswith(suffix)}
    stale = sorted(found - known)
    if stale:
        call = f"from muster.lab.teardown import remove_lab; remove_lab({stale[0]!r})"
        hint = f'Remove it: `python -c "{call}"`.'
        return _fail("stale", f"labs without files: {', '.join(stale)}", hint, required=False)
    return _pass("stale", "nothing left of earlier labs", required=False)


def _init() -> Probe:
    name = Path("/proc/1/comm").read_text(encoding="utf-8").strip()
    return _pass("init", f"PID 1 is {name}; nodes get cgroups of their own", required=False)


def _image_is_there() -> bool:
    return (lab_root() / "img" / image.recipe_digest() / "root").is_dir()


def _image() -> Probe:
    digest = image.recipe_digest()
    if _image_is_there():
        return _pass("image", f"{digest} is baked", required=False)
    summary = f"{digest} is not baked yet"
    hint = "It is made by the first `make lab`: some minutes, and a Debian mirror."
    return Probe("image", Outcome.UNKNOWN, summary, hint, required=False)
