"""Does any GPU report memory errors, an unsafe temperature, or a brake on its clock?"""

from __future__ import annotations

from muster.acceptance.checks.outcome import failed, one_part, passed, unknown
from muster.acceptance.checks.view import NodeView
from muster.acceptance.facts import Gpu, GpuState, Problem
from muster.findings import Finding

CHECK = "gpu-health"
_BRAKES = {0x08: "hardware slowdown", 0x40: "thermal slowdown", 0x80: "power brake"}
"""Bits of clocks_event_reasons.active that are never normal (nvml.h, nvmlClocksEventReason*)."""


def judge(gpu: GpuState | Problem, *, count: int, temperature_max_c: float) -> Finding:
    """Look at every GPU; a value that the tool does not print is unknown, not healthy."""
    if count == 0:
        return passed(CHECK, "no GPU expected")
    if isinstance(gpu, Problem):
        return unknown(CHECK, f"GPU health could not be read: {gpu.text}")
    if gpu.no_driver or gpu.lost:
        part = f"gpu:{gpu.lost}" if gpu.lost.isdigit() else "node"
        what = f"GPU {gpu.lost} is lost: it cannot be opened"
        return failed(CHECK, what if gpu.lost else "the driver does not answer", component=part)
    return _judge_each(gpu, temperature_max_c)


def _judge_each(gpu: GpuState, temperature_max_c: float) -> Finding:
    faults = {g.index: _faults(g, temperature_max_c) for g in gpu.gpus}
    bad = [index for index, found in faults.items() if found]
    if bad:
        what = "; ".join(f"GPU {index}: {', '.join(faults[index])}" for index in bad)
        return failed(CHECK, what, component=one_part("gpu", bad))
    silent = [g.index for g in gpu.gpus if _lacks_values(g)]
    if silent or not gpu.gpus:
        which = ", ".join(map(str, silent)) or "any"
        return unknown(CHECK, f"no ECC count, temperature or clock reasons for GPU {which}")
    hottest = max(g.temperature_c or 0 for g in gpu.gpus)
    return passed(CHECK, f"no memory errors, at most {hottest} C, no brake on a clock")


def _faults(gpu: Gpu, temperature_max_c: float) -> list[str]:
    found = []
    if gpu.ecc_uncorrected:
        found.append(f"{gpu.ecc_uncorrected} uncorrectable memory errors, expected 0")
    if gpu.temperature_c is not None and gpu.temperature_c > temperature_max_c:
        found.append(f"{gpu.temperature_c} C, expected at most {temperature_max_c:g} C")
    reasons = gpu.clock_reasons or 0
    found.extend(name for bit, name in _BRAKES.items() if reasons & bit)
    return found


def _lacks_values(gpu: Gpu) -> bool:
    return None in (gpu.ecc_uncorrected, gpu.temperature_c, gpu.clock_reasons)


def check(view: NodeView) -> Finding:
    """Judge one node."""
    if isinstance(view.facts, Problem):
        return unknown(CHECK, view.facts.text)
    return judge(
        view.facts.gpu,
        count=view.expected.gpu_count,
        temperature_max_c=view.limits.gpu_temperature_max_c,
    )
