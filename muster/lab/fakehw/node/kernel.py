"""Kernel and modules: uname, lsmod, modinfo, modprobe, rmmod, dkms."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from muster.lab.fakehw.node.machine import Answer, Machine, Tools, option, refused

NEEDS = {
    "nvidia_modeset": ("nvidia",),
    "nvidia_uvm": ("nvidia",),
    "nvidia_drm": ("nvidia_modeset",),
    "nvidia_peermem": ("nvidia", "ib_core"),
    "gdrdrv": ("nvidia",),
    "efa": ("ib_uverbs",),
    "ib_uverbs": ("ib_core",),
    "mlx5_ib": ("mlx5_core", "ib_uverbs"),
    "lnet": ("libcfs",),
    "ptlrpc": ("lnet",),
    "lustre": ("ptlrpc",),
    "ksocklnd": ("lnet",),
    "kefalnd": ("lnet", "efa"),
    "ko2iblnd": ("lnet", "ib_core"),
}
"""What a module loads before itself."""


def canonical(name: str) -> str:
    """Spell a module's name as lsmod does."""
    return name.replace("-", "_")


def source_version(name: str, module: Mapping[str, Any]) -> str:
    """Return what differs between any two builds of a module, as the kernel's own sum does."""
    told = f"{name}/{module.get('version', '')}/{module.get('license', '')}"
    return hashlib.sha256(told.encode()).hexdigest()[:23].upper()


def uname(machine: Machine, arguments: list[str]) -> Answer:
    """Answer `uname` with -r, -m, -s, -n, -v or -o; Ansible asks for -v before a reboot."""
    known = {
        "-r": machine.kernel,
        "-m": machine.state["kernel"]["architecture"],
        "-s": "Linux",
        "-v": "#1 SMP PREEMPT_DYNAMIC Debian (fake hardware)",
        "-o": "GNU/Linux",
        "-n": Path("/etc/hostname").read_text(encoding="utf-8").strip()
        if Path("/etc/hostname").is_file()
        else "",
    }
    known["--kernel-release"], known["--machine"] = known["-r"], known["-m"]
    if not arguments:
        return Answer("Linux\n")
    if set(arguments) - set(known):
        return refused("uname", arguments)
    return Answer(" ".join(known[word] for word in arguments) + "\n")


def lsmod(machine: Machine, _arguments: list[str]) -> Answer:
    """List the loaded modules with who uses them."""
    lines = ["Module                  Size  Used by\n"]
    for name in machine.loaded:
        users = sorted(u for u, needs in NEEDS.items() if name in needs and u in machine.loaded)
        lines.append(f"{name:<19} {4096:>8}  {len(users)} {','.join(users)}".rstrip() + "\n")
    return Answer("".join(lines))


def modinfo(machine: Machine, arguments: list[str]) -> Answer:
    """Describe the module file of a kernel; it says nothing of what is loaded."""
    kernel = option(arguments, "-k", "--set-version") or machine.kernel
    field = option(arguments, "-F", "--field")
    short = {"-a": "author", "-d": "description", "-l": "license", "-p": "parm", "-n": "filename"}
    field = next((short[word] for word in arguments if word in short), field)
    name = canonical(arguments[-1]) if arguments else ""
    module = machine.installed(kernel).get(name)
    if module is None:
        return Answer(err=f"modinfo: ERROR: Module {arguments[-1]} not found.\n", status=1)
    facts = {
        "filename": f"/lib/modules/{kernel}/updates/dkms/{name}.ko",
        "version": module.get("version", ""),
        "license": module.get("license", "GPL"),
        "srcversion": source_version(name, module),
        "depends": ",".join(NEEDS.get(name, ())),
        "vermagic": f"{kernel} SMP preempt mod_unload modversions",
    }
    facts = {key: value for key, value in facts.items() if value}
    if field:
        return Answer(f"{facts[field]}\n" if field in facts else "")
    return Answer("".join(f"{key + ':':<16}{value}\n" for key, value in facts.items()))


def modprobe(machine: Machine, arguments: list[str]) -> Answer:
    """Load or, with -r, unload modules as the kernel would: with what they need, or not at all."""
    names = [canonical(word) for word in arguments if not word.startswith("-")]
    remove = any(word in {"-r", "--remove"} for word in arguments)
    dry = any(word in {"-n", "--dry-run", "--show-depends", "-D"} for word in arguments)
    if not names:
        return refused("modprobe", arguments)
    if remove:
        return rmmod(machine, names, quiet_absent=True)
    known = machine.installed()
    for name in names:
        error = _missing(machine, known, name)
        if error:
            return Answer(err=error, status=1)
    if not dry:
        for name in names:
            _load(machine, known, name)
        machine.save()
    return Answer()


def _missing(machine: Machine, known: dict[str, dict[str, object]], name: str) -> str:
    if name in machine.loaded:
        return ""
    if name not in known:
        where = f"/lib/modules/{machine.kernel}"
        return f"modprobe: FATAL: Module {name} not found in directory {where}\n"
    if name == "nvidia" and "nouveau" in machine.loaded:
        return "modprobe: ERROR: could not insert 'nvidia': No such device\n"
    errors = (_missing(machine, known, needed) for needed in NEEDS.get(name, ()))
    return next((error for error in errors if error), "")


def _load(machine: Machine, known: dict[str, dict[str, object]], name: str) -> None:
    for needed in NEEDS.get(name, ()):
        _load(machine, known, needed)
    if name not in machine.loaded:
        loaded = dict(known.get(name, {}))
        loaded["parameters"] = _options(machine.root).get(name, {})
        machine.loaded[name] = loaded


def _options(root: Path) -> dict[str, dict[str, str]]:
    """Return the options of modprobe.d by module: a module takes them when it is loaded."""
    found: dict[str, dict[str, str]] = {}
    for file in sorted((root / "etc/modprobe.d").glob("*.conf")):
        for line in file.read_text(encoding="utf-8").splitlines():
            words = line.split()
            if len(words) > 1 and words[0] == "options":
                split = (word.partition("=") for word in words[2:])
                pairs = {name: value for name, equals, value in split if equals}
                found.setdefault(canonical(words[1]), {}).update(pairs)
    return found


def rmmod(machine: Machine, arguments: list[str], *, quiet_absent: bool = False) -> Answer:
    """Unload modules; refused while another loaded module needs them."""
    for name in map(canonical, arguments):
        if name not in machine.loaded:
            if quiet_absent:
                continue
            err = f"rmmod: ERROR: Module {name} is not currently loaded\n"
            return Answer(err=err, status=1)
        users = [user for user, needs in NEEDS.items() if name in needs and user in machine.loaded]
        if users:
            err = f"rmmod: ERROR: Module {name} is in use by: {' '.join(users)}\n"
            return Answer(err=err, status=1)
        del machine.loaded[name]
    machine.save()
    return Answer()


def dkms(machine: Machine, arguments: list[str]) -> Answer:
    """Answer `dkms status`: each source, with the kernels that it was built for."""
    if arguments[:1] != ["status"]:
        return refused("dkms", arguments)
    broken = machine.state.get("dkms_failed", [])
    lines = []
    for brought in machine.packages().values():
        source = brought.get("dkms")
        if not source:
            continue
        name, version = source["name"], source["version"]
        if name in broken:
            lines.append(f"{name}/{version}: added\n")
        else:
            lines.append(f"{name}/{version}, {machine.kernel}, x86_64: installed\n")
    wanted = [word for word in arguments[1:] if not word.startswith("-")]
    return Answer("".join(line for line in lines if all(word in line for word in wanted)))


def boot(machine: Machine) -> None:
    """Do what a boot does: run the newest kernel, load what the hardware and its list ask for."""
    kernels = [b["kernel"] for b in machine.packages().values() if "kernel" in b]
    if kernels:
        machine.state["kernel"]["running"] = max(kernels, key=_in_order)
    machine.state["loaded"] = {}
    machine.state["lustre"] |= {"networks": {}, "parameters": {}, "mounted": []}
    known = machine.installed()
    barred = _barred(machine.root)
    found = [name for name in machine.state["kernel"]["autoload"] if name not in barred]
    for name in [*found, *_listed(machine.root)]:
        if name in known and not _missing(machine, known, name):
            _load(machine, known, name)


def _barred(root: Path) -> set[str]:
    """Names that modprobe.d keeps from being loaded for their hardware."""
    found = set()
    for folder in ("usr/lib/modprobe.d", "etc/modprobe.d"):
        for file in (root / folder).glob("*.conf"):
            words = map(str.split, file.read_text(encoding="utf-8").splitlines())
            found |= {canonical(w[1]) for w in words if len(w) > 1 and w[0] == "blacklist"}
    return found


def _in_order(release: str) -> list[int]:
    words = "".join(c if c.isdigit() else " " for c in release).split()
    return [int(word) for word in words]


def _listed(root: Path) -> list[str]:
    """Names in modules-load.d."""
    found: list[str] = []
    for file in sorted((root / "etc/modules-load.d").glob("*.conf")):
        lines = file.read_text(encoding="utf-8").splitlines()
        found += [
            canonical(line.strip()) for line in lines if line.strip()[:1] not in {"", "#", ";"}
        ]
    return found


def _no_operation(_machine: Machine, _arguments: list[str]) -> Answer:
    return Answer()


TOOLS: Tools = {
    "uname": uname,
    "lsmod": lsmod,
    "modinfo": modinfo,
    "modprobe": modprobe,
    "rmmod": rmmod,
    "dkms": dkms,
    "depmod": _no_operation,
    "update-initramfs": _no_operation,
    "dracut": _no_operation,
    "udevadm": _no_operation,
}
