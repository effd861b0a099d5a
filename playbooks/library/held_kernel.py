# ruff: noqa: INP001  Ansible finds modules by folder, not by package
"""Keep the kernel where it is: hold its packages, and see that the next boot takes it too."""

from __future__ import annotations

import re
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: held_kernel
short_description: Holds every package of a kernel that is installed
options:
  family:
    description: Which package manager; C(debian) for dpkg, C(redhat) for dnf.
    choices: [debian, redhat]
    required: true
  release:
    description: The kernel that has to run, as C(uname -r) names it; empty for the one that runs.
    type: str
    default: ""
  reboot_file:
    description: Where to note that another kernel than the wanted one runs.
    type: path
    required: true
  state:
    description: C(checked) changes nothing and fails where the kernel is not so.
    choices: [held, checked]
    default: held
author: muster
"""

EXAMPLES = r"""
- name: Hold the kernel
  held_kernel:
    family: debian
    release: 6.1.0-56-amd64
    reboot_file: /run/muster/reboot-required.d/kernel_hold
"""

RETURN = r"""
faults:
  description: What was not so before.
  returned: always
  type: list
"""

_DEBIAN = [f"linux-{kind}*" for kind in ("image", "headers", "modules", "generic", "virtual")]
_DEBIAN += [f"linux-{flavour}*" for flavour in ("aws", "azure", "gcp", "oracle", "kvm", "cloud")]
_SHOW = "${db:Status-Want}\\t${db:Status-Status}\\t${Package}\\t${Version}\\n"
_FIELDS = 4
_IMAGE = re.compile(r"^linux-image-(?:unsigned-)?(\d.*?)(?:-(?:dbg|unsigned))?$")

Packages = dict[str, bool]
"""Whether each installed package is held."""


def parse_dpkg(text: str) -> Packages:
    """Read dpkg-query's answer: installed packages of a kernel."""
    found: Packages = {}
    for line in text.splitlines():
        fields = line.split("\t")
        if len(fields) != _FIELDS:
            raise ValueError(f"dpkg-query: cannot read '{line}'")
        if fields[1] not in {"not-installed", "config-files"}:
            found[fields[2]] = fields[0] == "hold"
    return found


def parse_rpm(names: str, locks: str) -> Packages:
    """Read `rpm -qa`: installed packages of a kernel, and which of them are locked."""
    locked = {re.sub(r"\.\*$", "", line.strip()) for line in locks.splitlines()}
    return {name: name in locked for name in names.split()}


def releases(packages: Packages) -> set[str]:
    """Return the kernels that a boot could take, as `uname -r` names them."""
    debian = {match[1] for name in packages if (match := _IMAGE.match(name))}
    core = re.compile(r"^kernel(?:-core)?-\d+:(\d.*)$")
    return debian | {match[1] for name in packages if (match := core.match(name))}


def number(release: str) -> list[int]:
    """Return what orders releases of one flavour."""
    return [int(part) for part in re.findall(r"\d+", release)]


def faults(packages: Packages, running: str, wanted: str) -> list[str]:
    """Say what may move the kernel, or has moved it."""
    expected = wanted or running
    present = releases(packages)
    said = []
    if not running:
        return ["uname did not say which kernel runs"]
    if wanted and wanted not in present:
        said.append(f"kernel {wanted} is not installed")
    elif running != expected:
        said.append(f"kernel {running} runs, {expected} is installed: reboot")
    elif present and expected not in present:
        said.append(f"kernel {running} runs, but its package is not installed any more")
    newer = sorted(r for r in present if r != expected and number(r) > number(expected))
    said += [f"kernel {r} is installed beside {expected}: the next boot takes it" for r in newer]
    loose = sorted(name for name, held in packages.items() if not held)
    return said + ([f"not held: {', '.join(loose)}"] if loose else [])


class Node:
    """What this module asks of the machine, and changes on it."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.debian = module.params["family"] == "debian"

    def run(self, command: list[str], data: str | None = None) -> tuple[int, str, str]:
        """Run a command in plain English."""
        done: tuple[int, str, str] = self.module.run_command(
            command, data=data, environ_update={"LC_ALL": "C"}, expand_user_and_vars=False
        )
        return done

    def packages(self) -> Packages:
        """Return the packages of kernels."""
        if self.debian:
            _, out, _ = self.run(["dpkg-query", "--show", f"--showformat={_SHOW}", *_DEBIAN])
            return parse_dpkg(out)
        form = "%{NAME}-%{EPOCHNUM}:%{VERSION}-%{RELEASE}\\n"
        _, names, _ = self.run(["rpm", "-qa", "--queryformat", form, "kernel*"])
        status, locks, err = self.run(["dnf", "-q", "-C", "versionlock", "list"])
        if status:
            raise ValueError(f"dnf versionlock: {err.strip()}; install its plugin versionlock")
        return parse_rpm(names, locks)

    def running(self) -> str:
        """Return the kernel that runs."""
        return self.run(["uname", "-r"])[1].strip()

    def hold(self, names: list[str]) -> None:
        """Hold these packages."""
        if self.debian:
            data = "".join(f"{name} hold\n" for name in names)
            status, out, err = self.run(["dpkg", "--set-selections"], data)
        else:
            status, out, err = self.run(["dnf", "-q", "-C", "versionlock", "add", *names])
        if status:
            raise ValueError(f"cannot hold {', '.join(names)}: {(err or out).strip()}")


def note_reboot(path: Path, line: str, *, check: bool) -> bool:
    """Write why a reboot is due; return whether that was not noted yet."""
    if path.is_file() and path.read_text(encoding="utf-8") == line:
        return False
    if not check:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(line, encoding="utf-8")
    return True


def hold(node: Node, wanted: str, reboot_file: Path, *, check: bool) -> tuple[bool, list[str]]:
    """Hold what is loose, and note a reboot where another kernel runs."""
    packages, running = node.packages(), node.running()
    found = faults(packages, running, wanted)
    loose = sorted(name for name, held in packages.items() if not held)
    if loose and not check:
        node.hold(loose)
    changed = bool(loose)
    if wanted in releases(packages) and running != wanted:
        line = f"kernel_hold: kernel {running} runs, {wanted} is installed\n"
        changed |= note_reboot(reboot_file, line, check=check)
    return changed, found


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "family": {"choices": ["debian", "redhat"], "required": True},
            "release": {"type": "str", "default": ""},
            "reboot_file": {"type": "path", "required": True},
            "state": {"choices": ["held", "checked"], "default": "held"},
        },
        supports_check_mode=True,
    )
    given, node = module.params, Node(module)
    changed, found = False, []
    try:
        if given["state"] == "checked":
            found = faults(node.packages(), node.running(), given["release"])
        else:
            note = Path(given["reboot_file"])
            changed, found = hold(node, given["release"], note, check=module.check_mode)
    except (ValueError, OSError) as error:
        module.fail_json(msg=str(error))
    if found and given["state"] == "checked":
        module.fail_json(msg="; ".join(found))
    module.exit_json(changed=changed, faults=found)


if __name__ == "__main__":
    main()
