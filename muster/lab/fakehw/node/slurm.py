"""What Slurm and enroot say of containers and logins on a node that no controller knows."""

from __future__ import annotations

from muster.lab.fakehw.node.machine import Answer, Machine, Tools, refused

_PLUGSTACK = "etc/slurm/plugstack.conf"
_PYXIS = "spank_pyxis.so"


def _loads(machine: Machine) -> list[str]:
    """Return the plugin's path for each line of plugstack.conf that loads it."""
    path = machine.root / _PLUGSTACK
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    words = (line.split("#", 1)[0].split() for line in lines)
    return [w[1] for w in words if len(w) > 1 and w[1].endswith(_PYXIS)]


def srun(machine: Machine, arguments: list[str]) -> Answer:
    """Answer `srun --help`: each load of pyxis lists its options once more."""
    if arguments != ["--help"]:
        return refused("srun", arguments)
    out = "Usage: srun [OPTIONS(0)...] executable(0) [args(0)...]\n"
    err = ""
    for plugin in _loads(machine):
        if (machine.root / plugin.lstrip("/")).is_file():
            out += "      --container-image=[USER@][REGISTRY#]IMAGE[:TAG]|PATH\n"
        else:
            err += f"srun: error: spank: Dlopen of plugin file failed: {plugin}\n"
    return Answer(out, err)


def scontrol(machine: Machine, arguments: list[str]) -> Answer:
    """Answer `scontrol show config`, as far as logins depend on it."""
    if arguments != ["show", "config"]:
        return refused("scontrol", arguments)
    config: dict[str, str] = machine.state["slurm"]
    return Answer("".join(f"{key:<23} = {value}\n" for key, value in config.items()))


def enroot(machine: Machine, arguments: list[str]) -> Answer:
    """Answer `enroot version`."""
    if arguments != ["version"]:
        return refused("enroot", arguments)
    return Answer(f"{machine.version_of('enroot')}\n")


TOOLS: Tools = {"srun": srun, "scontrol": scontrol, "enroot": enroot}
