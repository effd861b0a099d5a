"""What makes one node different from the image: written into its layer before it boots."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path

from muster import shell
from muster.files import write_atomic
from muster.lab import addresses, keys
from muster.lab.model import HEAD_NAME, NetworkWish, NodeWish
from muster.lab.paths import LabPaths, NodePaths

_BEGIN, _END = "# muster lab: begin", "# muster lab: end"
NVIDIA_MAJOR = 195
_NVIDIA_CONTROL_MINOR = 255
_STUB = "/usr/local/lib/fakegpu/nvidia-smi"
SERIAL = "etc/muster/serial"
HOST_KEY = "etc/ssh/ssh_host_ed25519_key"
GPU_STATE = "etc/fakegpu/state.json"
GPU_DEVICES = "etc/tmpfiles.d/fakegpu.conf"


def host_names(wish: NetworkWish, cidr: str) -> dict[str, str]:
    """Return {name: management address} of the head and all nodes."""
    names = (HEAD_NAME, *wish.node_names())
    return {name: addresses.management_address(cidr, i) for i, name in enumerate(names)}


def hosts_text(present: str, names: Mapping[str, str]) -> str:
    """Return /etc/hosts in which every name has its address; unchanged text where it already has.

    Playbooks may have written the file: only what lacks is added, in a block of our own.
    """
    known: dict[str, str] = {}
    for line in present.splitlines():
        words = line.split("#", 1)[0].split()
        for name in words[1:]:
            known.setdefault(name, words[0])
    if all(known.get(name) == address for name, address in names.items()):
        return present
    before, _, rest = present.partition(f"{_BEGIN}\n")
    after = rest.partition(f"{_END}\n")[2] if rest else ""
    kept = [line for line in (before + after).splitlines() if not _names(line) & set(names)]
    ours = [f"{address} {name}" for name, address in names.items()]
    return "\n".join([*kept, _BEGIN, *ours, _END]) + "\n"


def _names(line: str) -> set[str]:
    return set(line.split("#", 1)[0].split()[1:])


def gpu_state(wish: NodeWish) -> dict[str, object]:
    """Return what the stub of the vendor's tool reads."""
    return {
        "mode": None,
        "model": wish.gpu_model,
        "count": wish.gpu_count,
        "memory_mib": wish.gpu_memory_mib,
        "gpus": {},
    }


def gpu_devices(count: int, absent: Collection[int] = ()) -> str:
    """Return the tmpfiles lines that make the device nodes at boot, but not of absent GPUs."""
    minors = {f"nvidia{i}": i for i in range(count) if i not in absent}
    if count:
        minors["nvidiactl"] = _NVIDIA_CONTROL_MINOR
    lines = [f"c /dev/{n} 0666 root root - {NVIDIA_MAJOR}:{m}\n" for n, m in minors.items()]
    return "".join(lines)


def read_serial(node: NodePaths) -> str:
    """Return the node's serial; empty if it has none."""
    path = node.upper / SERIAL
    return path.read_text(encoding="utf-8").strip() if path.is_file() else ""


def read_host_key(node: NodePaths) -> str:
    """Return the node's public host key; empty if it has none."""
    path = node.upper / f"{HOST_KEY}.pub"
    return " ".join(path.read_text(encoding="utf-8").split()[:2]) if path.is_file() else ""


def create_layer(node: NodePaths, wish: NodeWish) -> None:
    """Make the layer of a new node, with a serial and keys of its own, unless it has one."""
    if node.upper.is_dir():
        return
    temporary = node.directory / "upper.new"
    shutil.rmtree(temporary, ignore_errors=True)
    serial = f"LAB-{secrets.token_hex(6).upper()}"
    for name in ("etc", "etc/ssh", "usr", "usr/bin"):
        (temporary / name).mkdir(mode=0o755, parents=True, exist_ok=True)
    for name in ("root", "root/.ssh"):
        (temporary / name).mkdir(mode=0o700)
    write_atomic(temporary / SERIAL, f"{serial}\n")
    write_atomic(temporary / "etc/hostname", f"{wish.name}\n")
    write_atomic(temporary / "etc/machine-id", f"{keys.machine_id(serial)}\n", mode=0o444)
    write_atomic(temporary / "etc/hosts", f"127.0.0.1 localhost\n127.0.1.1 {wish.name}.lab\n")
    keys.ensure_key(temporary / HOST_KEY, wish.name)
    if wish.gpu_count:
        write_atomic(temporary / GPU_STATE, json.dumps(gpu_state(wish), indent=2) + "\n")
        (temporary / "usr/bin/nvidia-smi").symlink_to(_STUB)
    shell.must_run(["chmod", "0755", str(temporary)], timeout_s=10)
    temporary.rename(node.upper)


def write_settings(paths: LabPaths, wish: NodeWish, names: Mapping[str, str], root: Path) -> None:
    """Write what may change between boots below `root` (the layer, or a running node's root)."""
    public = paths.key_file.with_name(f"{paths.key_file.name}.pub").read_text(encoding="utf-8")
    _write_changed(root / "root/.ssh/authorized_keys", public, mode=0o600)
    write_hosts(root, names)
    write_gpu_devices(root, wish.gpu_count)


def write_hosts(root: Path, names: Mapping[str, str]) -> None:
    """Make /etc/hosts below `root` know every name."""
    path = root / "etc/hosts"
    present = path.read_text(encoding="utf-8") if path.is_file() else ""
    _write_changed(path, hosts_text(present, names))


def write_gpu_devices(root: Path, count: int) -> None:
    """Write which device nodes the next boot makes, from the GPU state below `root`."""
    path = root / GPU_STATE
    state = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"gpus": {}}
    absent = [int(i) for i, own in state["gpus"].items() if own.get("state") == "absent"]
    _write_changed(root / GPU_DEVICES, gpu_devices(count, absent))


def _write_changed(path: Path, text: str, *, mode: int = 0o644) -> None:
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        write_atomic(path, text, mode=mode)
