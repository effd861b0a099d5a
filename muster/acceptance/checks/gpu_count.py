"""Are all GPUs there, and of the expected model?"""

from __future__ import annotations

import re

from muster.acceptance.checks.outcome import failed, passed, unknown
from muster.acceptance.checks.view import NodeView
from muster.acceptance.facts import GpuState, Problem
from muster.findings import Finding

CHECK = "gpu-count"
_MINOR = re.compile(r"(\d+)$")


def judge(gpu: GpuState | Problem, *, devices: tuple[str, ...], count: int, model: str) -> Finding:
    """Compare what the vendor's tool and the device files show with the instance type."""
    if count == 0:
        return passed(CHECK, "no GPU expected")
    if isinstance(gpu, Problem):
        return unknown(CHECK, f"GPUs could not be counted: {gpu.text}")
    if gpu.no_driver:
        what = f"0 GPUs: the vendor's tool cannot reach the driver; expected {count}"
        return failed(CHECK, what, component="node", value=0, unit="GPUs")
    found = len(gpu.gpus)
    common = {"value": float(found), "unit": "GPUs"}
    missing = _missing_devices(devices, count)
    if found != count or missing:
        which = ", ".join(f"gpu {n}" for n in missing) or "which one is not known"
        what = f"{found} GPUs and {count - len(missing)} device files, expected {count} ({which})"
        part = f"gpu:{missing[0]}" if len(missing) == 1 else "node"
        return failed(CHECK, what, component=part, **common)
    others = sorted({g.name for g in gpu.gpus if not _same_model(g.name, model)})
    if others:
        what = f"GPU model is {', '.join(others)}, expected {model}"
        return failed(CHECK, what, component="node", **common)
    return passed(CHECK, f"{found} GPUs of model {model}", **common)


def _missing_devices(devices: tuple[str, ...], count: int) -> list[int]:
    present = {int(m[1]) for m in map(_MINOR.search, devices) if m}
    return [n for n in range(count) if n not in present]


def _same_model(name: str, model: str) -> bool:
    """Tools print a longer name: "NVIDIA H100 80GB HBM3" for H100."""
    words = set(re.split(r"[\s-]+", name.lower()))
    return set(re.split(r"[\s-]+", model.lower())) <= words


def check(view: NodeView) -> Finding:
    """Judge one node."""
    if isinstance(view.facts, Problem):
        return unknown(CHECK, view.facts.text)
    return judge(
        view.facts.gpu,
        devices=view.facts.gpu_devices,
        count=view.expected.gpu_count,
        model=view.expected.gpu_model,
    )
