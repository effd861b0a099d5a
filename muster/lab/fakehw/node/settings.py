"""sysctl and systemd-tmpfiles on the fake /proc/sys and /sys, which a container may not write."""

from __future__ import annotations

from pathlib import Path

from muster.lab.fakehw.node.machine import PROCFS, SYSFS, Answer, Machine, Tools, refused

_WRITE_FIELDS = 7
_PLACES = ("usr/lib/sysctl.d", "etc/sysctl.d")


def _file(machine: Machine, key: str) -> Path:
    return machine.root / PROCFS / "sys" / key.replace(".", "/")


def sysctl(machine: Machine, arguments: list[str]) -> Answer:
    """Read (-n), write (-w, name=value) or apply files (-p FILE, --system)."""
    words = [word for word in arguments if not word.startswith("-")]
    if "--system" in arguments:
        pairs = _from_files(_every_file(machine.root))
    elif {"-p", "--load"} & set(arguments) or any(
        w.startswith(("-p", "--load=")) for w in arguments
    ):
        glued = [w.removeprefix("--load=").removeprefix("-p") for w in arguments if w[:1] == "-"]
        names = words or [w for w in glued if w.startswith("/")] or ["/etc/sysctl.conf"]
        pairs = _from_files([machine.root / name.lstrip("/") for name in names])
    elif any("=" in word for word in words):
        pairs = dict(_pair(word) for word in words)
    elif not words:
        return refused("sysctl", arguments)
    else:
        return _read(machine, words, names="-n" not in "".join(arguments))
    return _write(machine, pairs, ignore="-e" in arguments or "--ignore" in arguments)


def _every_file(root: Path) -> list[Path]:
    found = {path.name: path for place in _PLACES for path in (root / place).glob("*.conf")}
    return [found[name] for name in sorted(found)]


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name.strip().lstrip("-"), " ".join(value.split())


def _from_files(files: list[Path]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.strip()[:1] not in {"", "#", ";"} and "=" in line:
                pairs.update([_pair(line)])
    return pairs


def _read(machine: Machine, words: list[str], *, names: bool) -> Answer:
    out, err = "", ""
    for word in words:
        file = _file(machine, word)
        if file.is_file():
            value = file.read_text(encoding="utf-8").strip()
            out += f"{word} = {value}\n" if names else f"{value}\n"
        else:
            path = f"/proc/sys/{word.replace('.', '/')}"
            err += f"sysctl: cannot stat {path}: No such file or directory\n"
    return Answer(out, err, 1 if err else 0)


def _write(machine: Machine, pairs: dict[str, str], *, ignore: bool) -> Answer:
    out, err = "", ""
    ceilings = machine.state.get("sysctl_ceilings", {})
    for name, value in pairs.items():
        file = _file(machine, name)
        if not file.is_file():
            path = f"/proc/sys/{name.replace('.', '/')}"
            err += "" if ignore else f"sysctl: cannot stat {path}: No such file or directory\n"
            continue
        # The kernel takes what it can get: fewer huge pages than asked for are no error.
        real = str(min(int(value), int(ceilings[name]))) if name in ceilings else value
        file.write_text(f"{real}\n", encoding="utf-8")
        out += f"{name} = {value}\n"
    return Answer(out, err, 1 if err else 0)


def write_setting(machine: Machine, path: str, value: str) -> None:
    """Write a file of the fake /sys as the kernel takes it: a choice comes back in brackets."""
    file = machine.root / SYSFS / path.removeprefix("/sys/").lstrip("/")
    present = file.read_text(encoding="utf-8")
    if "[" in present:
        choices = present.replace("[", "").replace("]", "").split()
        text = " ".join(f"[{word}]" if word == value else word for word in choices)
    else:
        text = value
    file.write_text(f"{text}\n", encoding="utf-8")


def boot(machine: Machine) -> None:
    """Set what sysctl.d and tmpfiles.d say, as systemd does at each boot."""
    sysctl(machine, ["--system", "-e"])
    tree = machine.root / SYSFS
    for file in sorted((machine.root / "etc/tmpfiles.d").glob("*.conf")):
        words = map(str.split, file.read_text(encoding="utf-8").splitlines())
        for found in (w for w in words if len(w) == _WRITE_FIELDS and w[0][0] == "w"):
            for path in tree.glob(found[1].removeprefix("/sys/")):
                write_setting(machine, str(path.relative_to(tree)), found[-1])


def setting(machine: Machine, arguments: list[str]) -> Answer:
    """Write one setting: `fakehw-setting /sys/... VALUE`."""
    if len(arguments) != 2:  # noqa: PLR2004 - path and value
        return refused("fakehw-setting", arguments)
    write_setting(machine, *arguments)
    return Answer()


TOOLS: Tools = {"sysctl": sysctl, "fakehw-setting": setting}
