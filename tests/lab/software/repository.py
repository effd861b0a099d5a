"""A local apt repository of empty packages, made in Python: real apt and dpkg, no real software.

What a package would have brought (modules, tools, units, a kernel) is a file in it that the fake
hardware reads, so the tools answer by what dpkg says is installed.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from muster.lab.fakehw.install import PROGRAM
from muster.lab.fakehw.node.machine import PACKAGES
from muster.lab.fakehw.node.main import ONCE, TOOLS

_UNIT = """[Unit]
Description={name} (fake)

[Service]
{kind}
ExecStart=/{program} daemon {name}
Restart=no

[Install]
WantedBy=multi-user.target
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Deb:
    """An empty package."""

    name: str
    version: str
    depends: str = ""
    modules: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Modules that it brings: {name: {"version": ..., "license": ...}}."""
    tools: Mapping[str, str] = field(default_factory=dict)
    """Commands that it brings, with the version that they say."""
    units: tuple[str, ...] = ()
    kernel: str = ""
    """Release of the kernel that it is."""
    libraries: Mapping[str, str] = field(default_factory=dict)
    """Libraries that the linker then finds: {"libnccl.so.2": path}."""
    dkms: str = ""
    """Name of the source that it builds for each kernel."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Further files, by absolute path."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Symbolic links, by absolute path."""

    @property
    def upstream(self) -> str:
        """The version without epoch and revision."""
        return self.version.split(":", 1)[-1].rsplit("-", 1)[0]

    @property
    def file_name(self) -> str:
        """Name in the repository; an epoch has no place in it."""
        return f"{self.name}_{self.version.split(':', 1)[-1]}_all.deb"


def _member(archive: tarfile.TarFile, name: str, text: str) -> None:
    data = text.encode()
    info = tarfile.TarInfo(f".{name}")
    info.size, info.mode = len(data), 0o755 if text.startswith("#!") else 0o644
    archive.addfile(info, io.BytesIO(data))


def _folders(archive: tarfile.TarFile, paths: Iterable[str]) -> None:
    wanted = {str(parent) for path in paths for parent in Path(path).parents} - {"/"}
    for folder in sorted(wanted):
        info = tarfile.TarInfo(f".{folder}/")
        info.type, info.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(info)


def archive(files: Mapping[str, str], links: Mapping[str, str]) -> bytes:
    """Return a tar archive that is the same each time."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:", format=tarfile.GNU_FORMAT) as tar:
        _folders(tar, [*files, *links])
        for name, text in files.items():
            _member(tar, name, text)
        for name, target in links.items():
            info = tarfile.TarInfo(f".{name}")
            info.type, info.linkname = tarfile.SYMTYPE, target
            tar.addfile(info)
    return held.getvalue()


def _control(deb: Deb) -> str:
    lines = {
        "Package": deb.name,
        "Version": deb.version,
        "Architecture": "all",
        "Maintainer": "nobody <nobody@invalid>",
        "Depends": deb.depends,
        "Description": "empty package of the lab",
    }
    return "".join(f"{key}: {value}\n" for key, value in lines.items() if value)


def brought(deb: Deb) -> dict[str, Any]:
    """Return what the fake hardware knows of the package once it is installed."""
    facts: dict[str, Any] = {"modules": dict(deb.modules), "tools": dict(deb.tools)}
    if deb.libraries:
        facts["libraries"] = dict(deb.libraries)
    if deb.kernel:
        facts["kernel"] = deb.kernel
    if deb.dkms:
        facts["dkms"] = {"name": deb.dkms, "version": deb.upstream}
    return facts


def _contents(deb: Deb) -> tuple[dict[str, str], dict[str, str]]:
    facts = brought(deb)
    files = {f"/{PACKAGES}/{deb.name}.json": json.dumps(facts, sort_keys=True) + "\n", **deb.files}
    for unit in deb.units:
        kind = "Type=oneshot\nRemainAfterExit=yes" if unit in ONCE else "Type=exec"
        text = _UNIT.format(name=unit, program=PROGRAM, kind=kind)
        files[f"/usr/lib/systemd/system/{unit}.service"] = text
    elsewhere = {Path(link).name for link in deb.links}
    names = [tool for tool in deb.tools if tool in TOOLS and tool not in elsewhere]
    tools = {f"/usr/bin/{name}": f"/{PROGRAM}" for name in names}
    return files, {**tools, **deb.links}


def package(deb: Deb) -> bytes:
    """Return the .deb: an ar archive of two tar archives."""
    control = archive({"/control": _control(deb)}, {})
    members = {
        "debian-binary": b"2.0\n",
        "control.tar": control,
        "data.tar": archive(*_contents(deb)),
    }
    held = io.BytesIO(b"!<arch>\n")
    held.seek(0, io.SEEK_END)
    for name, data in members.items():
        held.write(f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode())
        held.write(data + b"\n" * (len(data) % 2))
    return held.getvalue()


def build(debs: Iterable[Deb], directory: Path) -> None:
    """Write the packages and their index."""
    directory.mkdir(parents=True, exist_ok=True)
    stanzas = []
    for deb in debs:
        data = package(deb)
        (directory / deb.file_name).write_bytes(data)
        facts = {"Filename": f"./{deb.file_name}", "Size": len(data)}
        facts["SHA256"] = hashlib.sha256(data).hexdigest()
        stanzas.append(_control(deb) + "".join(f"{k}: {v}\n" for k, v in facts.items()))
    (directory / "Packages").write_text("\n".join(stanzas), encoding="utf-8")


def source_line(directory: str) -> str:
    """Return the line of sources.list for the repository as a node sees it."""
    return f"deb [trusted=yes] file:{directory} ./\n"
