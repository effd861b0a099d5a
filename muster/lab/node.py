"""One lab node: a real Debian that boots in a container of its own, from image plus own layer."""

from __future__ import annotations

import json
import shutil
import socket
from dataclasses import asdict, dataclass
from pathlib import Path

from muster import shell
from muster.clock import Clock, SystemClock
from muster.errors import CommandError, MusterError, UsageError
from muster.files import write_atomic
from muster.lab import addresses, cgroups, fault_effects, keys, network, node_files
from muster.lab.locks import locked
from muster.lab.model import HEAD_NAME, Image, LabNode, Network, NetworkWish, NodeState, NodeWish
from muster.lab.paths import LabPaths, NodePaths, check_node_name, lab_paths
from muster.progress import Progress

_TIMEOUT_S = 60.0
_BOOT_TIMEOUT_S = 180.0
_POLL_S = 0.2
_PROGRESS_EVERY_S = 2.0
_CAPABILITIES = "CAP_SYS_ADMIN,CAP_NET_ADMIN,CAP_IPC_LOCK,CAP_SYS_NICE"
_LAUNCH = Path(__file__).parent / "launch.sh"


def _cgroup(paths: LabPaths, name: str) -> str:
    return f"{paths.cgroup}/{name}"


def _launcher_cgroup(paths: LabPaths, name: str) -> str:
    """Apart from the node's: the launcher outlives a reboot of the node. No node has a dot."""
    return f"{paths.cgroup}/{name}.launcher"


def _command_name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def node_state(lab: str, name: str) -> NodeState:
    """Say whether the node lives; a node whose supervisor was killed is dead, whatever runs on."""
    paths = lab_paths(lab)
    if not paths.node(name).directory.is_dir():
        return NodeState.ABSENT
    cgroup = _cgroup(paths, name)
    pids = cgroups.pids(cgroup)
    if not any(_command_name(pid).startswith("systemd-nspawn") for pid in pids):
        return NodeState.DEAD
    return NodeState.FROZEN if cgroups.frozen(cgroup) else NodeState.RUNNING


def first_process(lab: str, name: str) -> int:
    """Return the host's process id of the node's PID 1.

    Raises:
        MusterError: the node does not run.

    """
    paths = lab_paths(lab)
    pid = cgroups.first_process(_cgroup(paths, name))
    if pid is None:
        raise MusterError("it does not run", where=f"lab {lab}: {name}", hint="Run `up` again.")
    return pid


def boot_id(lab: str, name: str) -> str:
    """Return the id of the node's present boot; works on a frozen node too."""
    path = Path(f"/proc/{first_process(lab, name)}/root/proc/sys/kernel/random/boot_id")
    return path.read_text(encoding="utf-8").strip()


@dataclass(frozen=True, slots=True)
class _Making:
    """All that the making of one node needs."""

    paths: LabPaths
    wish: NodeWish
    network_wish: NetworkWish
    image: Image
    network: Network
    progress: Progress
    clock: Clock

    @property
    def address(self) -> str:
        return addresses.management_address(self.network.management_cidr, self.wish.ordinal)

    @property
    def where(self) -> str:
        return f"lab {self.wish.lab}: {self.wish.name}"


def ensure_node(
    wish: NodeWish,
    network_wish: NetworkWish,
    image: Image,
    network_now: Network,
    progress: Progress,
    *,
    clock: Clock | None = None,
) -> LabNode:
    """Make the node, or adopt it, or boot it again; returns when its systemd is up.

    Raises:
        UsageError: the node is not in the network, or has another ordinal there.
        MusterError: it does not come up; the message says which units failed.

    """
    _check(wish, network_wish)
    paths = lab_paths(wish.lab)
    making = _Making(
        paths, wish, network_wish, image, network_now, progress, clock or SystemClock()
    )
    with locked(paths.lock(f"node.{wish.name}"), progress, f"node {wish.name}"):
        _replace_if_other_image(making)
        state = node_state(wish.lab, wish.name)
        if state is NodeState.FROZEN:
            hint = "Mend it: `muster lab mend`."
            raise MusterError("its processes are frozen", where=making.where, hint=hint)
        if state is NodeState.RUNNING:
            network.attach_node(paths, network_wish, network_now, wish.name)
            _write_settings(making, paths.node(wish.name).merged)
        else:
            progress(f"{wish.name}: boot")
            _boot(making)
        _write_known_hosts(making)
        _wait_until_up(making)
        if state is not NodeState.RUNNING:
            fault_effects.reapply(paths, wish.name)
        return _describe(making)


def _check(wish: NodeWish, network_wish: NetworkWish) -> None:
    check_node_name(wish.name)
    known = {HEAD_NAME: 0, **{n: i for i, n in enumerate(network_wish.node_names(), start=1)}}
    if known.get(wish.name) != wish.ordinal or wish.lab != network_wish.lab:
        what = f"{wish.name} is not node {wish.ordinal} of the network"
        raise UsageError(what, where=f"lab {wish.lab}")


def _replace_if_other_image(making: _Making) -> None:
    """Remove a node that was made from another image: its layer does not fit this one."""
    record = making.paths.node(making.wish.name).record
    if record.is_file():
        made = json.loads(record.read_text(encoding="utf-8"))
        if made["image"] != making.image.digest:
            _remove(making.paths, making.wish.name, making.clock)


def _describe(making: _Making) -> LabNode:
    wish, node = making.wish, making.paths.node(making.wish.name)
    rails = range(making.network_wish.rails if wish.ordinal else 0)
    return LabNode(
        name=wish.name,
        serial=node_files.read_serial(node),
        address=making.address,
        rail_addresses=tuple(addresses.rail_address(rail, wish.ordinal) for rail in rails),
        host_key=node_files.read_host_key(node),
        boot_id=boot_id(wish.lab, wish.name),
    )


def _write_settings(making: _Making, root: Path) -> None:
    names = node_files.host_names(making.network_wish, making.network.management_cidr)
    node_files.write_settings(making.paths, making.wish, names, root)


def _boot(making: _Making) -> None:
    paths, name = making.paths, making.wish.name
    node = paths.node(name)
    _reap(paths, name, making.clock)
    node.directory.mkdir(parents=True, exist_ok=True)
    node_files.create_layer(node, making.wish)
    _write_settings(making, node.upper)
    record = {"wish": asdict(making.wish), "image": making.image.digest}
    write_atomic(node.record, json.dumps(record) + "\n")
    network.attach_node(paths, making.network_wish, making.network, name)
    _mount(node, paths.machine(name), making.image)
    own = cgroups.make(_launcher_cgroup(paths, name))
    inner = cgroups.make(_cgroup(paths, name))
    argv = ["setsid", "--fork", "sh", str(_LAUNCH), str(node.console)]
    argv += [*map(str, own), "--", *map(str, inner), "--", *_nspawn(paths, name)]
    # nspawn's own lock on the root is off: ours does that, and one that a kill left would block.
    settings = {"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1", "SYSTEMD_NSPAWN_LOCK": "0"}
    path = "/usr/sbin:/usr/bin:/sbin:/bin"
    shell.must_run(argv, timeout_s=_TIMEOUT_S, env={"PATH": path, **settings})


def _nspawn(paths: LabPaths, name: str) -> list[str]:
    machine = paths.machine(name)
    # Not --network-namespace-path: with it (systemd 252) the node sees the host's /sys/class/net.
    # Not `ip netns exec`: it mounts a /sys without cgroups, and nspawn refuses that.
    return [
        "nsenter", f"--net=/run/netns/{machine}",
        "systemd-nspawn", "--quiet", "--boot", "--register=no", "--keep-unit",
        f"--directory={paths.node(name).merged}", f"--machine={machine}", f"--hostname={name}",
        "--console=pipe", "--link-journal=no", "--resolv-conf=off", "--timezone=off",
        f"--bind={paths.shared}:/shared", f"--capability={_CAPABILITIES}",
        "--system-call-filter=bpf",
    ]  # fmt: skip


def _mount(node: NodePaths, label: str, image: Image) -> None:
    """Mount the node's root; "volatile" spares syncs, and needs a fresh work directory."""
    shutil.rmtree(node.work, ignore_errors=True)
    for directory in (node.work, node.merged):
        directory.mkdir(exist_ok=True)
    options = f"lowerdir={image.path},upperdir={node.upper},workdir={node.work}"
    options += ",index=off,metacopy=off,volatile"
    argv = ["mount", "-t", "overlay", label, "-o", options, str(node.merged)]
    shell.must_run(argv, timeout_s=_TIMEOUT_S)


def mounts_below(directory: Path) -> list[str]:
    """Return the mount points at and below a directory, newest first."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    points = [line.split()[4].replace("\\040", " ") for line in lines]
    prefix = f"{directory}/"
    return [p for p in reversed(points) if f"{p}/".startswith(prefix)]


def _reap(paths: LabPaths, name: str, clock: Clock) -> None:
    """End whatever an earlier boot or a killed one left."""
    cgroups.remove(_launcher_cgroup(paths, name), clock)
    cgroups.remove(_cgroup(paths, name), clock)
    for point in mounts_below(paths.node(name).directory):
        shell.must_run(["umount", "--lazy", point], timeout_s=_TIMEOUT_S)
    propagate = Path("/run/systemd/nspawn/propagate") / paths.machine(name)
    if propagate.is_dir():
        propagate.rmdir()


def _write_known_hosts(making: _Making) -> None:
    """Write the host keys of all nodes that have one."""
    paths = making.paths
    with locked(paths.lock("known_hosts")):
        names = node_files.host_names(making.network_wish, making.network.management_cidr)
        found = {at: node_files.read_host_key(paths.node(name)) for name, at in names.items()}
        keys.write_known_hosts(paths.known_hosts, {at: key for at, key in found.items() if key})


def ssh_argv(paths: LabPaths, address: str) -> list[str]:
    """Return the ssh command line that reaches a node, up to and with the destination."""
    options = {
        "BatchMode": "yes",
        "ConnectTimeout": "5",
        "IdentitiesOnly": "yes",
        "LogLevel": "ERROR",
        "StrictHostKeyChecking": "yes",
        "UserKnownHostsFile": str(paths.known_hosts),
    }
    flags = [part for key, value in options.items() for part in ("-o", f"{key}={value}")]
    return ["ssh", "-F", "none", "-i", str(paths.key_file), *flags, f"root@{address}"]


def _answers(address: str) -> bool:
    """Does a node's sshd say who it is?"""
    try:
        with socket.create_connection((address, 22), timeout=1) as connection:
            connection.settimeout(1)
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def _wait_until_up(making: _Making) -> None:
    """Wait for sshd, then for systemd.

    Raises:
        MusterError: it did not come up, or it is degraded; the message says which units failed.

    """
    _wait_for_sshd(making)
    ask = "timeout 120 systemctl is-system-running --wait; systemctl --failed --no-legend --plain"
    argv = [*ssh_argv(making.paths, making.address), "--", ask]
    try:
        done = shell.run(argv, timeout_s=_BOOT_TIMEOUT_S)
    except CommandError as error:
        raise MusterError(error.what, where=making.where) from error
    word, *failed = done.stdout.splitlines() or [""]
    if word != "running":
        units = ", ".join(line.split()[0] for line in failed if line.strip()) or "none"
        said = word or done.stderr.strip() or "nothing"
        what = f"systemd says {said!r}, failed units: {units}"
        hint = f"See {making.paths.node(making.wish.name).console}."
        raise MusterError(what, where=making.where, hint=hint)


def _wait_for_sshd(making: _Making) -> None:
    name, clock = making.wish.name, making.clock
    began_s = said_s = clock.monotonic_s()
    while not _answers(making.address):
        now_s = clock.monotonic_s()
        dead = node_state(making.wish.lab, name) is NodeState.DEAD and now_s - began_s > 1
        if dead or now_s - began_s > _BOOT_TIMEOUT_S:
            what = "it ended while it booted" if dead else f"no sshd after {_BOOT_TIMEOUT_S:g} s"
            tail = _console_tail(making.paths.node(name))
            raise MusterError(f"{what}: {tail}", where=making.where)
        if now_s - said_s > _PROGRESS_EVERY_S:
            making.progress(f"{name}: boots, {now_s - began_s:.0f} s")
            said_s = now_s
        clock.sleep(_POLL_S)


def _console_tail(node: NodePaths) -> str:
    if not node.console.is_file():
        return "it printed nothing"
    lines = node.console.read_text(encoding="utf-8", errors="replace").splitlines()
    return " | ".join(lines[-3:]) or "it printed nothing"


def _remove(paths: LabPaths, name: str, clock: Clock) -> None:
    _reap(paths, name, clock)
    network.detach_node(paths, name)
    directory = paths.node(name).directory
    if mounts_below(directory):
        raise MusterError("still mounted", where=str(directory), hint="See `findmnt`.")
    if directory.is_dir():
        shutil.rmtree(directory)
    fault_effects.forget(paths, name)


def remove_node(lab: str, name: str, clock: Clock | None = None) -> None:
    """Remove the node, whatever state it is in; no error if there is none."""
    check_node_name(name)
    paths = lab_paths(lab)
    with locked(paths.lock(f"node.{name}")):
        _remove(paths, name, clock or SystemClock())
