"""What faults do inside nodes and to their cgroups; each can be done twice and undone."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from muster import shell
from muster.errors import MusterError
from muster.files import write_atomic
from muster.lab import cgroups, fault_model, netns, network, node_files
from muster.lab.fault_model import Fault, Kind
from muster.lab.locks import locked
from muster.lab.paths import LabPaths

_TIMEOUT_S = 60.0
_CPU_PERIOD_US = 50_000
_BYTES_PER_MB = 1_000_000
_ECC_ERRORS = 4
_ENDED_BY_BOOT = (Kind.HUNG_NODE, Kind.DAEMON_DEAD)
_GONE_WHEN_DOWN = (*_ENDED_BY_BOOT, Kind.SLOW_DISK, Kind.CPU_THROTTLED)
_PRELOAD = Path("etc/ld.so.preload")
_FAKETIME = Path("etc/faketimerc")


def cgroup_of(paths: LabPaths, node: str) -> str:
    """Name a node's cgroup."""
    return f"{paths.cgroup}/{node}"


def first_process(paths: LabPaths, node: str) -> int | None:
    """Return the node's PID 1 as the host numbers it; None where the node does not run."""
    return cgroups.first_process(cgroup_of(paths, node))


def _inside(paths: LabPaths, node: str, *argv: str) -> shell.Completed:
    """Run a program inside a node without its sshd."""
    pid = first_process(paths, node)
    if pid is None:
        raise MusterError("it does not run", where=node, hint="Bring the lab up again first.")
    command = ["nsenter", f"--target={pid}", "--all", "--", *argv]
    return shell.run(command, timeout_s=_TIMEOUT_S)


def _edit_gpu(paths: LabPaths, fault: Fault, field: str, value: object | None) -> None:
    root = paths.node(fault.node).root
    path = root / node_files.GPU_STATE
    state = json.loads(path.read_text(encoding="utf-8"))
    gpu = state["gpus"].setdefault(str(fault.gpu), {})
    gpu.pop(field, None)
    if value is not None:
        gpu[field] = value
    state["gpus"] = {key: own for key, own in state["gpus"].items() if own}
    write_atomic(path, json.dumps(state, indent=2) + "\n")
    node_files.write_gpu_devices(root, int(state["count"]))


def _gpu_device(paths: LabPaths, fault: Fault, *, there: bool) -> None:
    pid = first_process(paths, fault.node)
    if pid is None:
        return
    # As the node's own processes see it: its /dev is not below its root on the host.
    device = Path(f"/proc/{pid}/root/dev/nvidia{fault.gpu}")
    if there and not device.exists():
        os.mknod(device, 0o020666, os.makedev(node_files.NVIDIA_MAJOR, fault.gpu or 0))
        device.chmod(0o666)
    elif not there:
        device.unlink(missing_ok=True)


def _missing_gpu(paths: LabPaths, fault: Fault, *, broken: bool) -> str:
    _edit_gpu(paths, fault, "state", "absent" if broken else None)
    _gpu_device(paths, fault, there=not broken)
    return f"/dev/nvidia{fault.gpu} of {fault.node} is gone, the driver does not see it"


def _ecc_error(paths: LabPaths, fault: Fault, *, broken: bool) -> str:
    field = "ecc.errors.uncorrected.volatile.total"
    _edit_gpu(paths, fault, field, _ECC_ERRORS if broken else None)
    return f"GPU {fault.gpu} of {fault.node} counts {_ECC_ERRORS} uncorrected memory errors"


def _daemon_dead(paths: LabPaths, fault: Fault, *, broken: bool) -> str:
    if not broken:
        _inside(paths, fault.node, "systemctl", "reset-failed", fault.unit)
        done = _inside(paths, fault.node, "systemctl", "start", fault.unit)
        if not done.ok:
            raise MusterError(f"{fault.unit} does not start: {done.stderr}", where=fault.node)
        return f"{fault.unit} of {fault.node} runs"
    _inside(paths, fault.node, "systemctl", "kill", "--signal=KILL", fault.unit)
    # Without this a unit with Restart= would come back.
    _inside(paths, fault.node, "systemctl", "stop", fault.unit)
    return f"{fault.unit} of {fault.node} was killed and stays down"


def _disk_number(path: Path) -> str:
    """Return "major:minor" of the whole disk below a path."""
    device = path.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    entry = Path(f"/sys/dev/block/{number}")
    if not entry.exists():
        what = f"{path} is not on a disk of its own but on device {number}"
        raise MusterError(what, where=Kind.SLOW_DISK, hint="Put MUSTER_LAB_ROOT on a disk.")
    if (entry / "partition").is_file():
        number = (entry.resolve().parent / "dev").read_text(encoding="utf-8").strip()
    return number


def _slow_disk(paths: LabPaths, fault: Fault, *, broken: bool) -> str:
    found, cgroup = cgroups.hierarchies(), cgroup_of(paths, fault.node)
    number, limit = _disk_number(paths.directory), int((fault.mbps or 0) * _BYTES_PER_MB)
    if "blkio" in found.v1:
        directory = found.v1["blkio"] / cgroup
        for way in ("read", "write"):
            line = f"{number} {limit if broken else 0}"
            _write(directory / f"blkio.throttle.{way}_bps_device", line, fault)
    else:
        rate = str(limit) if broken else "max"
        _write(found.v2 / cgroup / "io.max", f"{number} rbps={rate} wbps={rate}", fault)
    return f"the disk of {fault.node} gives {fault.mbps:g} MB/s each way"


def _cpu_throttled(paths: LabPaths, fault: Fault, *, broken: bool) -> str:
    found, cgroup = cgroups.hierarchies(), cgroup_of(paths, fault.node)
    quota = round(_CPU_PERIOD_US * (1 - (fault.percent or 0) / 100))
    if "cpu" in found.v1:
        directory = found.v1["cpu"] / cgroup
        _write(directory / "cpu.cfs_period_us", str(_CPU_PERIOD_US), fault)
        _write(directory / "cpu.cfs_quota_us", str(quota if broken else -1), fault)
    else:
        line = f"{quota if broken else 'max'} {_CPU_PERIOD_US}"
        _write(found.v2 / cgroup / "cpu.max", line, fault)
    return f"{fault.node} gets {quota / _CPU_PERIOD_US:.0%} of one core"


def _write(path: Path, text: str, fault: Fault) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        what = f"this kernel cannot: {path.name}: {error.strerror}"
        raise MusterError(what, where=fault.describe()) from error


def _wrong_clock(paths: LabPaths, fault: Fault, *, broken: bool) -> str:
    root = paths.node(fault.node).root
    if broken:
        library = next(iter(sorted((root / "usr/lib").glob("*/faketime/libfaketime.so.1"))), None)
        if library is None:
            raise MusterError("the image has no libfaketime", where=fault.describe())
        write_atomic(root / _FAKETIME, f"{fault.seconds:+g}s\n")
        write_atomic(root / _PRELOAD, f"/{library.relative_to(root)}\n")
    else:
        (root / _PRELOAD).unlink(missing_ok=True)
        (root / _FAKETIME).unlink(missing_ok=True)
    return f"new processes of {fault.node} see a clock that is {fault.seconds:+g} s off"


def _hung_node(paths: LabPaths, fault: Fault, *, broken: bool) -> str:
    cgroup = cgroup_of(paths, fault.node)
    cgroups.freeze(cgroup, stop=broken)
    return f"all processes of {fault.node} are stopped; its kernel still answers pings"


_INSIDE: dict[Kind, Callable[..., str]] = {
    Kind.MISSING_GPU: _missing_gpu,
    Kind.ECC_ERROR: _ecc_error,
    Kind.DAEMON_DEAD: _daemon_dead,
    Kind.SLOW_DISK: _slow_disk,
    Kind.CPU_THROTTLED: _cpu_throttled,
    Kind.WRONG_CLOCK: _wrong_clock,
    Kind.HUNG_NODE: _hung_node,
}


def unit_active(paths: LabPaths, node: str, unit: str) -> bool:
    """Does a service of the node run?"""
    return _inside(paths, node, "systemctl", "is-active", "--quiet", unit).ok


def set_loss(paths: LabPaths) -> None:
    """Make the fabric drop what the recorded faults say, and nothing else."""
    wish, _ = network.require_network(paths)
    links = netns.read(paths.fabric_netns)
    rules = fault_model.loss_rules(wish, fault_model.load(paths.faults_file), set(links))
    # Naming the table first makes the deletion succeed where there is none yet.
    text = f"table netdev loss\ndelete table netdev loss\n{rules}"
    argv = ["nsenter", f"--net=/run/netns/{paths.fabric_netns}", "nft", "-f", "-"]
    done = shell.run(argv, timeout_s=_TIMEOUT_S, stdin=text)
    if not done.ok:
        raise MusterError(f"this kernel cannot: {done.stderr}", where=Kind.PACKET_LOSS)


def apply(paths: LabPaths, fault: Fault, *, broken: bool) -> str:
    """Break, or mend, one fault; the record of active faults already says so.

    Raises:
        MusterError: the kernel, the image or the node's state does not allow it.

    """
    inside = _INSIDE.get(fault.kind)
    down = inside is not None and first_process(paths, fault.node) is None
    if down and broken:
        where, hint = fault.describe(), "Bring the lab up again first."
        raise MusterError("the node does not run", where=where, hint=hint)
    if down and fault.kind in _GONE_WHEN_DOWN:
        return fault.describe()
    if inside is not None:
        return inside(paths, fault, broken=broken)
    if fault.kind is Kind.PACKET_LOSS:
        set_loss(paths)
        return f"{fault.percent:g} % of the packets of {fault.node} rail {fault.rail} are lost"
    network.restore_links(paths)
    return fault.describe()


def reapply(paths: LabPaths, node: str) -> None:
    """Break again, after a boot, what was broken before it; some faults end with a boot."""
    with locked(paths.lock("faults")):
        active = fault_model.load(paths.faults_file)
        kept = tuple(f for f in active if f.node != node or f.kind not in _ENDED_BY_BOOT)
        if kept != active:
            fault_model.save(paths.faults_file, kept)
        for fault in kept:
            if fault.node == node:
                apply(paths, fault, broken=True)


def forget(paths: LabPaths, node: str) -> None:
    """Drop the faults of a node that is removed."""
    with locked(paths.lock("faults")):
        active = fault_model.load(paths.faults_file)
        kept = tuple(fault for fault in active if fault.node != node)
        if kept != active:
            fault_model.save(paths.faults_file, kept)
