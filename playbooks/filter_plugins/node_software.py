# ruff: noqa: INP001  Ansible finds filters by folder, not by package
"""What is wrong with NCCL, containers, logins and exporters of a node, from what was read. Pure.

Each filter returns one line per problem. Output that is missing, cut short or not understood is a
problem too: nothing passes because nothing was read.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Result = Mapping[str, Any]
"""What Ansible registers for a command."""

_PLUGSTACK_ROOTS = ("/run/slurm/conf/plugstack.conf", "/etc/slurm/plugstack.conf")
_PYXIS = "spank_pyxis.so"
_GLOB = re.compile(r"[*?\[]")
# What belongs into /etc/nccl.conf or a job, not into every login; and what efa-cheatsheet warns of.
_LOGIN_VARIABLE = re.compile(r"^\s*(?:export\s+)?((?:NCCL|RDMAV|FI)_[A-Z0-9_]+)=")
_PRELOAD = re.compile(r"^\s*(?:export\s+)?LD_PRELOAD=.*nccl")
_LIBRARY = re.compile(r"^\s*(\S+) \(([^)]*)\) => (\S+)", re.MULTILINE)
_GPU_LABEL = re.compile(
    r'^DCGM_FI_DEV_[A-Z0-9_]+\{(?:[^}]*,)?gpu="(\d+)"[^}]*\} (\S+)', re.MULTILINE
)


def failure_of(name: str, result: Result) -> str:
    """Return why the command said nothing that counts; empty where it went well."""
    code = result.get("rc")
    if code == 0:
        return ""
    if str(result.get("msg") or "").startswith("Error executing command"):
        return f"{name} cannot be run: is it installed?"
    said = str(result.get("stderr") or result.get("msg") or result.get("stdout") or "nothing")
    return f"{name} ended with status {code} and said: {' '.join(said.split())[:200]}"


def library_paths(linker: Result, name: str) -> list[str]:
    """Return where `ldconfig -p` finds a library; the name alone where it finds none."""
    found = _LIBRARY.findall(str(linker.get("stdout") or ""))
    return sorted({path for library, _, path in found if library == name}) or [name]


def nccl_problems(linker: Result, real: Result, version: str, *, plugin: bool) -> list[str]:
    """Return what is wrong with the NCCL that a program would get."""
    bad = failure_of("ldconfig -p", linker)
    if bad:
        return [bad]
    names = {library for library, _, _ in _LIBRARY.findall(linker["stdout"])}
    if not names:
        return ["ldconfig -p lists no library"]
    problems = []
    paths = library_paths(linker, "libnccl.so.2")
    if "libnccl.so.2" not in names:
        problems.append("the linker finds no libnccl.so.2")
    elif len(paths) > 1:
        problems.append(f"the linker finds libnccl.so.2 more than once: {', '.join(paths)}")
    elif version:
        wanted = f"libnccl.so.{re.split('[-+]', version, maxsplit=1)[0]}"
        found = posixpath.basename(str(real.get("stdout") or "").strip()) or "unknown"
        if found != wanted:
            problems.append(f"libnccl.so.2 is {found}, expected {wanted}")
    if plugin and not any(name.startswith("libnccl-net") for name in names):
        problems.append("the linker finds no libnccl-net: NCCL would use TCP instead of EFA")
    return problems


def nccl_conf(settings: Mapping[str, Any]) -> str:
    """Return the text of /etc/nccl.conf."""
    lines = ["# Written by muster; local edits are lost."]
    return "\n".join([*lines, *(f"{k}={settings[k]}" for k in sorted(settings))]) + "\n"


def nccl_conf_problems(read: Result, settings: Mapping[str, Any]) -> list[str]:
    """Return where /etc/nccl.conf differs from the settings."""
    bad = failure_of("reading /etc/nccl.conf", read)
    if bad:
        return [bad]
    lines = (line.strip() for line in read["stdout"].splitlines())
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    found = {key.strip(): value.strip() for key, _, value in pairs}
    wanted = {key: str(value) for key, value in settings.items()}
    missing = "not set"
    return [
        f"/etc/nccl.conf: {key} is {found.get(key, missing)}, expected {wanted.get(key, missing)}"
        for key in sorted(found.keys() | wanted.keys())
        if found.get(key) != wanted.get(key)
    ]


def login_environment_problems(read: Result) -> list[str]:
    """Return what files of every login set that belongs to a job or to /etc/nccl.conf."""
    bad = failure_of("reading the environment of logins", read)
    if bad and not read.get("stdout"):
        return [bad]
    problems = []
    for line in read["stdout"].splitlines():
        path, _, content = line.partition(":")
        variable = _LOGIN_VARIABLE.match(content)
        if variable:
            problems.append(f"{path} sets {variable[1]} for every login")
        preloads = path == "/etc/ld.so.preload" and "nccl" in content
        if preloads or _PRELOAD.match(content):
            problems.append(f"{path} preloads NCCL into every program")
    return problems


def linked_problems(ldd: Result, libraries: Sequence[str]) -> list[str]:
    """Return what is wrong with what all_reduce_perf is linked with."""
    bad = failure_of("ldd all_reduce_perf", ldd)
    if bad:
        return [bad]
    lines = [line.strip() for line in ldd["stdout"].splitlines()]
    problems = [
        f"all_reduce_perf misses {line.split()[0]}" for line in lines if line.endswith("not found")
    ]
    problems += [
        f"all_reduce_perf is not linked with {name}: over N nodes it would be N tests of one node"
        if name.startswith("libmpi")
        else f"all_reduce_perf is not linked with {name}"
        for name in libraries
        if not any(line.startswith(name) for line in lines)
    ]
    return problems


def _by_file(text: str) -> dict[str, list[str]]:
    """Return the lines of each file, from lines "path:content", without comments."""
    files: dict[str, list[str]] = {}
    for line in text.splitlines():
        path, colon, content = line.partition(":")
        if colon:
            content = content.partition("#")[0].strip()
            files.setdefault(path, [])
            if content:
                files[path].append(content)
    return files


def plugstack_problems(read: Result) -> list[str]:
    """Return why pyxis is not loaded exactly once, from lines "path:content" of all plugstacks."""
    files = _by_file(str(read.get("stdout") or ""))
    root = next((path for path in _PLUGSTACK_ROOTS if path in files), None)
    if root is None:
        return [failure_of("reading plugstack.conf", read) or "there is no plugstack.conf"]
    problems: list[str] = []
    loads = _pyxis_loads(files, root, [], problems)
    if len(loads) != 1:
        where = f" ({', '.join(loads)})" if loads else ""
        problems.append(f"{root} loads pyxis {len(loads)} times{where}, expected once")
    return problems


def _pyxis_loads(
    files: Mapping[str, list[str]], path: str, seen: list[str], problems: list[str]
) -> list[str]:
    """Return each file that loads pyxis, followed through its includes."""
    loads = []
    for line in files.get(path, []):
        words = line.split()
        if words[0] == "include" and len(words) > 1:
            target = posixpath.join(posixpath.dirname(path), words[1])
            if _GLOB.search(target):
                problems.append(
                    f"{path} includes {words[1]}: a node without files of its own gets none"
                )
            elif target not in files:
                problems.append(f"{path} includes {target}, which is not there")
            elif target not in seen:
                loads += _pyxis_loads(files, target, [*seen, path], problems)
        elif any(posixpath.basename(word) == _PYXIS for word in words[1:2]):
            loads.append(path)
    return loads


def pyxis_problems(help_text: Result, slurmd: Result, built_for: str = "") -> list[str]:
    """Return what is wrong with pyxis as srun and slurmd of this node see it."""
    failures = {"srun --help": help_text, "slurmd -V": slurmd}
    problems = [bad for name, result in failures.items() if (bad := failure_of(name, result))]
    if problems:
        return problems
    complaints = [
        line for line in str(help_text.get("stderr") or "").splitlines() if "spank" in line.lower()
    ]
    if complaints:
        problems.append(f"srun says: {complaints[0].strip()}")
    options = len(re.findall(r"^\s*--container-image\b", help_text["stdout"], re.MULTILINE))
    if options != 1:
        problems.append(f"srun --help lists --container-image {options} times, expected once")
    running = slurmd["stdout"].split()[-1] if slurmd["stdout"].split() else "unknown"
    if built_for and built_for.split(".")[:2] != running.split(".")[:2]:
        problems.append(f"pyxis is built for Slurm {built_for}, {running} runs: build it again")
    return problems


def enroot_problems(
    version: Result, wanted: str, folders: Result, paths: Sequence[str]
) -> list[str]:
    """Return what is wrong with enroot and its directories ("path owner mode" a line)."""
    bad = failure_of("enroot version", version)
    problems = [bad] if bad else []
    found = str(version.get("stdout") or "").strip()
    if not bad and wanted and found != wanted:
        problems.append(f"enroot {found or 'of unknown version'} is installed, expected {wanted}")
    modes = {}
    for line in str(folders.get("stdout") or "").splitlines():
        path, _, rest = line.rpartition(" ")[0].rpartition(" ")
        modes[path or rest] = line.rpartition(" ")[2]
    problems += [
        f"{path} has mode {modes.get(path, 'none, it is not there')}, expected 1777"
        for path in paths
        if modes.get(path) != "1777"
    ]
    return problems


def _pam_lines(
    files: Mapping[str, list[str]], name: str, kind: str, seen: tuple[str, ...] = ()
) -> list[list[str]]:
    """Return the lines of one kind that a service runs, followed through its includes."""
    lines: list[list[str]] = []
    for line in files.get(f"/etc/pam.d/{name}", []):
        words = re.sub(r"\[[^\]]*\]", lambda m: m[0].replace(" ", ","), line).split()
        if words[0] == "@include" and len(words) > 1:
            if words[1] not in seen:
                lines += _pam_lines(files, words[1], kind, (*seen, name))
        elif words[0].lstrip("-") == kind and len(words) > 2:  # noqa: PLR2004 kind, control, module
            if words[1] in {"include", "substack"}:
                if words[2] not in seen:
                    lines += _pam_lines(files, words[2], kind, (*seen, name))
            else:
                lines.append(words)
    return lines


def pam_problems(read: Result, module: Result, slurm: Result) -> list[str]:
    """Return why a login without a job would get in, or one with a job would escape it.

    read has lines "path:content" of /etc/pam.d, module the path of the installed module, slurm the
    answer of `scontrol show config`.
    """
    files = _by_file(str(read.get("stdout") or ""))
    if "/etc/pam.d/sshd" not in files:
        return [failure_of("reading /etc/pam.d", read) or "there is no /etc/pam.d/sshd"]
    problems = []
    account = _pam_lines(files, "sshd", "account")
    names = [posixpath.basename(words[2]) for words in account]
    if names.count("pam_slurm_adopt.so") != 1:
        count = names.count("pam_slurm_adopt.so")
        problems.append(f"sshd asks pam_slurm_adopt {count} times, expected once")
    else:
        place = names.index("pam_slurm_adopt.so")
        if account[place][1] != "required":
            problems.append(f"pam_slurm_adopt is {account[place][1]} in sshd, expected required")
        if place != len(names) - 1:
            problems.append(f"{names[-1]} comes after pam_slurm_adopt in sshd, expected it last")
        if "pam_access.so" not in names[:place]:
            problems.append(
                "sshd does not ask pam_access before pam_slurm_adopt: admins are locked out"
            )
    if any(
        posixpath.basename(w[2]) == "pam_systemd.so" for w in _pam_lines(files, "sshd", "session")
    ):
        problems.append(
            "sshd runs pam_systemd: it takes a login out of its job, where all GPUs show"
        )
    if "pam_slurm_adopt.so" not in str(module.get("stdout") or ""):
        problems.append("pam_slurm_adopt.so is not installed: every login would be refused")
    return problems + slurm_config_problems(slurm)


def slurm_config_problems(slurm: Result) -> list[str]:
    """Return which of Slurm's settings adoption needs and does not find."""
    bad = failure_of("scontrol show config", slurm)
    if bad:
        return [bad]
    pairs = (line.partition("=") for line in slurm["stdout"].splitlines())
    found = {key.strip(): value.strip() for key, equals, value in pairs if equals}
    flags = [flag.lower() for flag in found.get("PrologFlags", "").split(",")]
    tracks = found.get("ProctrackType") or "unknown"
    problems = [] if "contain" in flags else ["PrologFlags of Slurm lacks Contain"]
    if tracks != "proctrack/cgroup":
        problems.append(f"ProctrackType of Slurm is {tracks}, expected proctrack/cgroup")
    return problems


def dcgm_metrics_problems(said: Result, gpus: int) -> list[str]:
    """Return which GPUs have no metrics; said is what the uri module registers."""
    if said.get("status") != 200:  # noqa: PLR2004 HTTP's OK
        why = str(said.get("msg") or "nothing")
        return [f"dcgm-exporter answers with status {said.get('status')}: {why}"]
    text = str(said.get("content") or "")
    found = {gpu for gpu, value in _GPU_LABEL.findall(text) if value.lower() != "nan"}
    if len(found) == gpus:
        return []
    return [f"dcgm-exporter has metrics of {len(found)} GPUs, expected {gpus}"]


class FilterModule:
    """The filters, as Ansible asks for them."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {
            "dcgm_metrics_problems": dcgm_metrics_problems,
            "enroot_problems": enroot_problems,
            "library_paths": library_paths,
            "linked_problems": linked_problems,
            "login_environment_problems": login_environment_problems,
            "nccl_conf": nccl_conf,
            "nccl_conf_problems": nccl_conf_problems,
            "nccl_problems": nccl_problems,
            "pam_problems": pam_problems,
            "plugstack_problems": plugstack_problems,
            "pyxis_problems": pyxis_problems,
        }
