# ruff: noqa: INP001  Ansible finds modules by folder, not by package
"""Read a Lustre client back: modules, options, parameters, and the way that data really take."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: lustre_client
short_description: Checks a Lustre client
description:
  - Fails where the module does not fit the kernel, an option or parameter is not what is wanted,
    nothing is mounted, or data go over TCP where EFA is wanted. Lustre falls back without a word.
options:
  options:
    description: Options of kernel modules, each with C(module), C(name) and C(value).
    type: list
    elements: dict
    default: []
  parameters:
    description: Parameters of lctl, each with C(name) (a pattern) and C(value).
    type: list
    elements: dict
    default: []
  efa:
    description: Whether data have to go over EFA.
    type: bool
    default: false
  sysfs:
    description: Where /sys is.
    type: path
    default: /sys
  procfs:
    description: Where /proc is.
    type: path
    default: /proc
author: muster
"""

EXAMPLES = r"""
- name: Check the Lustre client
  lustre_client:
    efa: true
"""

RETURN = r"""
mounts:
  description: Where Lustre file systems are mounted.
  returned: always
  type: list
"""

_MANY, _FEW, _SMALLEST_OF_MANY = 8, 1, 8


@dataclass(frozen=True)
class Interface:
    """A local interface of LNet."""

    nid: str
    up: bool
    sent: int
    received: int


def parse_interfaces(text: str) -> list[Interface]:
    """Read `lnetctl net show -v`: every interface; one without counters is refused."""
    found = []
    for part in re.split(r"^\s*- nid:", text, flags=re.MULTILINE)[1:]:
        nid = part.split("\n", 1)[0].strip()
        counts = [re.search(rf"\b{name}: (\d+)$", part, re.MULTILINE) for name in _COUNTERS]
        if not all(counts):
            raise ValueError(f"lnetctl says no counters of {nid or 'an interface'}")
        sent, received = (int(count[1]) for count in counts if count)
        up = bool(re.search(r"\bstatus: up$", part, re.MULTILINE))
        found.append(Interface(nid, up, sent, received))
    return found


_COUNTERS = ("send_count", "recv_count")


def efa_faults(before: list[Interface], after: list[Interface], devices: int) -> list[str]:
    """Say why data do not go over EFA: counters of all interfaces together must rise."""
    expected = _MANY if devices >= _SMALLEST_OF_MANY else _FEW
    if len(after) < expected:
        return [f"LNet has {len(after)} EFA interfaces, {expected} expected: Lustre is on TCP"]
    said = [f"LNet interface {i.nid} is not up" for i in after if not i.up]
    sent = sum(i.sent for i in after) - sum(i.sent for i in before)
    received = sum(i.received for i in after) - sum(i.received for i in before)
    if sent <= 0 or received <= 0:
        said.append(
            f"Lustre is not on EFA but on TCP: asking every server sent {sent} and received"
            f" {received} messages over EFA"
        )
    return said


def mounted(text: str) -> list[str]:
    """Return where Lustre is mounted, from /proc/mounts."""
    fields = (line.split() for line in text.splitlines())
    return [f[1] for f in fields if len(f) > 2 and f[2] == "lustre"]  # noqa: PLR2004 device path type


def parameter_faults(wanted: list[dict[str, object]], shown: dict[str, str]) -> list[str]:
    """Say which parameters differ; `shown` is what lctl answered for each pattern."""
    said = []
    for item in wanted:
        name, value = str(item["name"]), str(item["value"])
        pairs = [line.split("=", 1) for line in shown.get(name, "").splitlines() if "=" in line]
        if not pairs:
            said.append(f"{name} is unknown, {value} expected")
        said += [f"{n} is {v}, {value} expected" for n, v in pairs if not same(v, value)]
    return said


def same(found: str, wanted: str) -> bool:
    """Compare as numbers where both are: some versions write 256 and others 256.000."""
    try:
        return float(found) == float(wanted)
    except ValueError:
        return found.strip() == wanted


def option_faults(sysfs: Path, wanted: list[dict[str, object]]) -> list[str]:
    """Say which options a loaded module does not have; one that is not loaded has none."""
    said = []
    for item in wanted:
        module, name, value = (str(item[key]) for key in ("module", "name", "value"))
        path = sysfs / "module" / module / "parameters" / name
        if (sysfs / "module" / module).is_dir():
            has = path.read_text(encoding="utf-8").strip() if path.is_file() else "unknown"
            if has != value:
                said.append(
                    f"module {module} was loaded with {name}={has}, {value} expected: reboot"
                )
    return said


class Client:
    """The client on this machine."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.sysfs = Path(module.params["sysfs"])
        self.procfs = Path(module.params["procfs"])

    def _run(self, command: list[str]) -> tuple[int, str, str]:
        done: tuple[int, str, str] = self.module.run_command(
            ["timeout", "60", *command], environ_update={"LC_ALL": "C"}
        )
        return done

    def module_faults(self) -> list[str]:
        """Say whether the module is there for this kernel, and loaded as it is installed."""
        status, installed, _ = self._run(["modinfo", "-F", "version", "lustre"])
        if status or not installed.strip():
            kernel = self._run(["uname", "-r"])[1].strip() or "that runs"
            return [f"there is no module lustre for kernel {kernel}: install the one for it"]
        loaded = self.sysfs / "module" / "lustre" / "version"
        if not loaded.is_file():
            return []
        version = loaded.read_text(encoding="utf-8").strip()
        if version != installed.strip():
            return [f"lustre {version} is loaded, {installed.strip()} is installed: reboot"]
        return []

    def interfaces(self) -> list[Interface]:
        """Return the EFA interfaces of LNet."""
        status, out, err = self._run(["lnetctl", "net", "show", "-v", "--net", "efa"])
        if status:
            raise ValueError(f"lnetctl net show: {' '.join((err or out).split())}")
        return parse_interfaces(out)

    def network_faults(self, paths: list[str]) -> list[str]:
        """Ask every server, and see which way that went."""
        devices = len(list(self.sysfs.glob("class/infiniband/rdmap*")))
        before = self.interfaces()
        for path in paths:
            # The metadata server is always reached over TCP: only data servers prove anything.
            status, _, err = self._run(["lfs", "df", path])
            if status:
                return [f"lfs df {path}: {' '.join(err.split()) or 'a server does not answer'}"]
        return efa_faults(before, self.interfaces(), devices)

    def faults(self) -> tuple[list[str], list[str]]:
        """Return where Lustre is mounted, and what is wrong."""
        given = self.module.params
        said = self.module_faults() + option_faults(self.sysfs, given["options"])
        paths = mounted((self.procfs / "mounts").read_text(encoding="utf-8"))
        if not paths:
            return paths, [*said, "no Lustre file system is mounted"]
        names = [str(item["name"]) for item in given["parameters"]]
        shown = {name: self._run(["lctl", "get_param", name])[1] for name in names}
        said += parameter_faults(given["parameters"], shown)
        return paths, said + (self.network_faults(paths) if given["efa"] else [])


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "options": {"type": "list", "elements": "dict", "default": []},
            "parameters": {"type": "list", "elements": "dict", "default": []},
            "efa": {"type": "bool", "default": False},
            "sysfs": {"type": "path", "default": "/sys"},
            "procfs": {"type": "path", "default": "/proc"},
        },
        supports_check_mode=True,
    )
    paths: list[str] = []
    said: list[str] = []
    try:
        paths, said = Client(module).faults()
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    if said:
        module.fail_json(msg="; ".join(said))
    module.exit_json(changed=False, mounts=paths)


if __name__ == "__main__":
    main()
