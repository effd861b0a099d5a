# ruff: noqa: INP001  Ansible finds modules by folder, not by package
"""Install exactly these versions of packages, hold them, and leave all others as they are."""

from __future__ import annotations

import fcntl
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: pinned_packages
short_description: Installs exact versions of packages and holds them
description:
  - Installs what is missing, holds it, and refuses whatever would change or remove any other
    package. It never restarts a service or a machine by itself.
options:
  packages:
    description: Packages, each with name and version.
    type: list
    elements: dict
    required: true
  family:
    description: Which package manager; C(debian) for apt, C(redhat) for dnf.
    choices: [debian, redhat]
    required: true
  state:
    description: C(checked) changes nothing and fails where the packages are not so.
    choices: [present, checked]
    default: present
  allow_downgrade:
    description: Whether a newer version may be replaced by an older one.
    type: bool
    default: false
  lock_timeout_s:
    description: How long to wait for another program to let go of the package manager.
    type: int
    default: 600
author: muster
"""

EXAMPLES = r"""
- name: Install the driver
  pinned_packages:
    family: debian
    packages:
      - {name: nvidia-open, version: 580.126.20-1}
"""

RETURN = r"""
done:
  description: What was done, or would be in check mode.
  returned: always
  type: list
"""

_DPKG = "${db:Status-Want}\\t${db:Status-Status}\\t${binary:Package}\\t${Version}\\n"
_RPM = "%{NAME}\\t%{EPOCHNUM}:%{VERSION}-%{RELEASE}\\n"
_LOCK = Path("/var/lib/dpkg/lock-frontend")
_UPDATES = Path("/var/lib/dpkg/updates")
_QUIET = {"DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_SUSPEND": "1", "LC_ALL": "C"}


class RefusedError(Exception):
    """The packages are not, or cannot be brought, to what is wanted."""


@dataclass(frozen=True)
class Installed:
    """A package as the machine has it."""

    version: str
    held: bool
    whole: bool = True
    """Was its installation finished?"""


@dataclass(frozen=True)
class Step:
    """What the package manager would do to one package."""

    action: str
    name: str
    old: str = ""


Wanted = dict[str, str]
State = dict[str, Installed]
Runner = Callable[..., tuple[int, str, str]]


def wanted_of(packages: list[dict[str, str]]) -> Wanted:
    """Return version by name; refuse a package without an exact version."""
    wanted: Wanted = {}
    for entry in packages:
        name, version = str(entry.get("name") or ""), str(entry.get("version") or "")
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9+._-]*", name):
            raise RefusedError(f"{name or entry}: not the name of a package")
        if not re.fullmatch(r"[0-9][A-Za-z0-9.+:~^_-]*", version):
            found = f"'{version}'" if version else "none"
            raise RefusedError(f"{name}: needs an exact version, found {found}; pin it first")
        if wanted.setdefault(name, version) != version:
            raise RefusedError(f"{name}: wanted both as {wanted[name]} and as {version}")
    return wanted


def parse_dpkg(text: str) -> State:
    """Read dpkg-query's answer; packages that were removed are not in it."""
    found: State = {}
    for line in text.splitlines():
        fields = line.split("\t")
        if len(fields) != len(_DPKG.split("\\t")):
            raise RefusedError(f"dpkg-query: cannot read '{line}'")
        want, status, name, version = fields
        if status in {"not-installed", "config-files"}:
            continue
        short = name.partition(":")[0]
        found[short] = Installed(version, want == "hold", status == "installed")
    return found


def parse_rpm(text: str, locked: set[str]) -> State:
    """Read rpm's answer; of several versions of a name (kernels) the last counts."""
    found: State = {}
    for line in text.splitlines():
        name, tab, version = line.partition("\t")
        if not tab:
            if line.endswith("is not installed"):
                continue
            raise RefusedError(f"rpm: cannot read '{line}'")
        epoch, _, rest = version.partition(":")
        plain = rest if epoch == "0" else version
        found[name] = Installed(plain, f"{name}-{epoch}:{rest}" in locked)
    return found


def parse_versionlock(text: str) -> set[str]:
    """Read `dnf versionlock list`: name-epoch:version-release of each lock."""
    lines = (line.strip() for line in text.splitlines())
    return {re.sub(r"\.\*$", "", line) for line in lines if re.search(r"-\d+:", line)}


def parse_simulation(text: str) -> list[Step]:
    """Read `apt-get --simulate`: which packages it would install, change or remove."""
    pattern = re.compile(r"^(Inst|Remv|Purg) (\S+?)(?::\w+)?(?: \[([^\]]*)\])?(?: |$)")
    found = (pattern.match(line) for line in text.splitlines())
    return [Step(match[1], match[2], match[3] or "") for match in found if match]


def refusals(steps: list[Step], wanted: Wanted) -> list[str]:
    """Say which packages that nobody asked for would be changed or removed."""
    others = [step for step in steps if step.name not in wanted]
    removed = [f"{step.name} would be removed" for step in others if step.action != "Inst"]
    changed = [f"{s.name} {s.old} would change" for s in others if s.action == "Inst" and s.old]
    return removed + changed


def faults(wanted: Wanted, found: State) -> list[str]:
    """Say what differs from what is wanted, one text a package."""
    said = []
    for name, version in sorted(wanted.items()):
        has = found.get(name)
        if has is None:
            said.append(f"{name} is not installed, {version} expected")
        elif has.version != version:
            said.append(f"{name} {has.version} is installed, {version} expected")
        elif not has.whole:
            said.append(f"{name} {version} is only half installed")
        elif not has.held:
            said.append(f"{name} {version} is not held")
    return said


def outdated(wanted: Wanted, found: State) -> dict[str, str]:
    """Return what has to be installed, by name."""
    return {
        name: version
        for name, version in sorted(wanted.items())
        if name not in found or found[name].version != version or not found[name].whole
    }


def last_line(text: str) -> str:
    """Return what a program said at last: its own errors first."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("E:", "Error", "dpkg: error"))]
    return " ".join((errors or lines)[-3:]) or "it said nothing"


class Apt:
    """Packages of Debian and Ubuntu."""

    def __init__(self, run: Runner, lock_timeout_s: int, *, allow_downgrade: bool) -> None:
        self.run = run
        self.options = [
            "--yes",
            "--no-install-recommends",
            "--allow-change-held-packages",
            *(["--allow-downgrades"] if allow_downgrade else []),
            "-o",
            f"DPkg::Lock::Timeout={lock_timeout_s}",
            "-o",
            "Dpkg::Options::=--force-confold",
        ]
        self.lock_timeout_s = lock_timeout_s

    def read(self, names: list[str]) -> State:
        """Return what is installed of these."""
        status, out, err = self.run(["dpkg-query", "--show", f"--showformat={_DPKG}", *names])
        if status not in {0, 1}:
            raise RefusedError(f"dpkg-query: {last_line(err)}")
        return parse_dpkg(out)

    def older(self, version: str, than: str) -> bool:
        """Is the first version the older one?"""
        status, _, err = self.run(["dpkg", "--compare-versions", version, "lt", than])
        if status not in {0, 1} or err.strip():
            raise RefusedError(f"cannot compare {version} with {than}: {last_line(err)}")
        return status == 0

    def install(self, wanted: Wanted, due: Wanted, *, check: bool) -> None:
        """Install; refuse where other packages would change."""
        names = [f"{name}={version}" for name, version in due.items()]
        if not check:
            self._finish_interrupted()
        status, out, err = self._simulate(names)
        if status and check:
            return  # The lists may be old, and reading new ones would be a change.
        if status:
            self._update()
            status, out, err = self._simulate(names)
        if status:
            raise RefusedError(f"apt-get cannot install {', '.join(names)}: {last_line(err)}")
        refused = refusals(parse_simulation(out), wanted)
        if refused:
            raise RefusedError(f"installing {', '.join(names)}: {'; '.join(refused)}")
        if not check:
            status, out, err = self.run(["apt-get", "install", *self.options, *names], env=_QUIET)
            if status:
                raise RefusedError(f"apt-get install {', '.join(names)}: {last_line(out + err)}")

    def hold(self, wanted: Wanted) -> None:
        """Hold these packages."""
        data = "".join(f"{name} hold\n" for name in wanted)
        status, _, err = self.run(["dpkg", "--set-selections"], data=data)
        if status:
            raise RefusedError(f"dpkg --set-selections: {last_line(err)}")

    def _simulate(self, names: list[str]) -> tuple[int, str, str]:
        return self.run(["apt-get", "--simulate", "install", *self.options, *names], env=_QUIET)

    def _update(self) -> None:
        options = ["-o", f"DPkg::Lock::Timeout={self.lock_timeout_s}"]
        status, out, err = self.run(["apt-get", "update", *options], env=_QUIET)
        if status:
            raise RefusedError(f"apt-get update: {last_line(out + err)}")

    def _finish_interrupted(self) -> None:
        """Bring an installation that was cut off to its end; apt refuses all else before."""
        self._wait_for_lock()
        _, out, _ = self.run(["dpkg", "--audit"])
        if out.strip() or (_UPDATES.is_dir() and any(_UPDATES.iterdir())):
            command = ["dpkg", "--force-confold", "--configure", "-a"]
            status, out, err = self.run(command, env=_QUIET)
            if status:
                raise RefusedError(f"dpkg --configure -a: {last_line(out + err)}")

    def _wait_for_lock(self) -> None:
        deadline = time.monotonic() + self.lock_timeout_s
        _LOCK.touch()
        with _LOCK.open("r+b") as stream:
            while True:
                try:
                    fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError as error:
                    if time.monotonic() > deadline:
                        message = f"{_LOCK}: another program held it {self.lock_timeout_s} s long"
                        raise RefusedError(message) from error
                    time.sleep(1)  # noqa: TID251 this module runs on a node, without muster
                else:
                    return


class Dnf:
    """Packages of RHEL and Amazon Linux."""

    def __init__(self, run: Runner) -> None:
        # dnf waits for its lock by itself, and goes to an older version where that is asked for.
        self.run = run

    def read(self, names: list[str]) -> State:
        """Return what is installed of these."""
        status, out, err = self.run(["dnf", "-q", "-C", "versionlock", "list"])
        if status:
            said = last_line(err)
            raise RefusedError(f"dnf versionlock: {said}; install its plugin versionlock")
        locked = parse_versionlock(out)
        _, out, _ = self.run(["rpm", "-q", "--queryformat", _RPM, *names])
        return parse_rpm(out, locked)

    def older(self, version: str, than: str) -> bool:
        """Is the first version the older one?"""
        expression = f'%{{lua:print(rpm.vercmp("{version}","{than}"))}}'
        status, out, err = self.run(["rpm", "--eval", expression])
        if status or out.strip() not in {"-1", "0", "1"}:
            raise RefusedError(f"cannot compare {version} with {than}: {last_line(out + err)}")
        return out.strip() == "-1"

    def install(self, wanted: Wanted, due: Wanted, *, check: bool) -> None:
        """Install; every other installed package is excluded, so that it stays as it is."""
        if check:
            return
        _, out, _ = self.run(["rpm", "-qa", "--queryformat", "%{NAME}\\n"])
        others = sorted(set(out.split()) - set(wanted))
        names = [f"{name}-{version}" for name, version in due.items()]
        fixed = ["--setopt=obsoletes=0", "--setopt=install_weak_deps=False"]
        command = ["dnf", "-y", *fixed, "--disableplugin=versionlock"]
        command += [f"--exclude={','.join(others)}", "install", *names]
        status, out, err = self.run(command, env=_QUIET)
        if status:
            raise RefusedError(f"dnf install {', '.join(names)}: {last_line(out + err)}")

    def hold(self, wanted: Wanted) -> None:
        """Lock these packages."""
        self.run(["dnf", "-q", "-C", "versionlock", "delete", *wanted])
        names = [f"{name}-{version}" for name, version in wanted.items()]
        status, _, err = self.run(["dnf", "-q", "-C", "versionlock", "add", *names])
        if status:
            raise RefusedError(f"dnf versionlock add: {last_line(err)}")


def apply(manager: Apt | Dnf, wanted: Wanted, *, allow_downgrade: bool, check: bool) -> list[str]:
    """Bring the packages to what is wanted; return what was (or would be) done."""
    found = manager.read(list(wanted))
    due = outdated(wanted, found)
    newer = [
        f"{name} {found[name].version} is installed, {version} is older"
        for name, version in due.items()
        if name in found and manager.older(version, found[name].version)
    ]
    if newer and not allow_downgrade:
        raise RefusedError(f"{'; '.join(newer)}: allow it with packages_allow_downgrade")
    said = faults(wanted, found)
    if due:
        manager.install(wanted, due, check=check)
    if check or not said:
        return said
    manager.hold(wanted)
    left = faults(wanted, manager.read(list(wanted)))
    if left:
        raise RefusedError(f"after the installation: {'; '.join(left)}")
    return said


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "packages": {"type": "list", "elements": "dict", "required": True},
            "family": {"choices": ["debian", "redhat"], "required": True},
            "state": {"choices": ["present", "checked"], "default": "present"},
            "allow_downgrade": {"type": "bool", "default": False},
            "lock_timeout_s": {"type": "int", "default": 600},
        },
        supports_check_mode=True,
    )
    given = module.params

    def run(
        command: list[str], *, data: str | None = None, env: dict[str, str] | None = None
    ) -> tuple[int, str, str]:
        environment = {"LC_ALL": "C"} | (env or {})
        done: tuple[int, str, str] = module.run_command(
            command, data=data, environ_update=environment, expand_user_and_vars=False
        )
        return done

    said: list[str] = []
    try:
        wanted = wanted_of(given["packages"])
        timeout_s, downgrade = given["lock_timeout_s"], given["allow_downgrade"]
        apt = given["family"] == "debian"
        manager = Apt(run, timeout_s, allow_downgrade=downgrade) if apt else Dnf(run)
        if wanted and given["state"] == "checked":
            said = faults(wanted, manager.read(list(wanted)))
        elif wanted:
            said = apply(manager, wanted, allow_downgrade=downgrade, check=module.check_mode)
    except (RefusedError, OSError) as error:
        module.fail_json(msg=str(error))
    if said and given["state"] == "checked":
        module.fail_json(msg="; ".join(said))
    module.exit_json(changed=bool(said), done=said)


if __name__ == "__main__":
    main()
