"""What did a node's own benchmarks measure? Pure: local_bench.py's document in, rates out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from muster.acceptance.facts import Problem
from muster.acceptance.fio import DiskRates, parse_fio


@dataclass(frozen=True, kw_only=True, slots=True)
class Gemm:
    """A matrix product, again and again: the best window, and whether all products were equal."""

    flops_per_s: float
    repeats: int
    mismatches: int
    sha256: str
    recipe: str
    """What must be equal for two nodes' products to be equal: processor, library, size."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bench:
    """One node's benchmarks; each part may be a Problem instead."""

    node: str
    cpu_model: str
    gemm: Mapping[str, Gemm | Problem]
    """By number type, as "float64"."""
    memory_bps: float | Problem
    memory_equal: bool
    """Was the copy equal to its source? False only where it was compared and differed."""
    disk: DiskRates | Problem
    seconds: Mapping[str, float]
    """How long each part took."""


def parse_bench(text: str | None) -> Bench | Problem:
    """Read the document; a Problem where there is none, it is cut short, or of another program."""
    if text is None:
        return Problem("the node wrote no result")
    try:
        document = json.loads(text)
        if document["program"] != "muster-local-bench":
            return Problem("the output is not of local_bench.py")
        return _bench(document)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return Problem(f"benchmark output is cut short or of another form ({error})")


def _bench(document: Mapping[str, Any]) -> Bench:
    model, gemms = str(document["cpu_model"]), document["gemm"]
    threads = int(document["threads"])
    return Bench(
        node=str(document["node"]),
        cpu_model=model,
        gemm={str(g.get("dtype", n)): _gemm(g, model, threads) for n, g in enumerate(gemms)},
        memory_bps=_memory(document["memory"]),
        memory_equal=document["memory"].get("equal", True) is True,
        disk=_disk(document["disk"]),
        seconds={
            "gemm": sum(float(g.get("duration_s", 0)) for g in gemms),
            "memory": float(document["memory"].get("duration_s", 0)),
            "disk": float(document["disk"].get("duration_s", 0)),
        },
    )


def _best(windows: Sequence[Mapping[str, Any]], key: str) -> float:
    """Other work on the machine only ever slows a window down: the best one is the node's own."""
    rates = [float(w[key]) / float(w["s"]) for w in windows if float(w["s"]) > 0]
    if not rates or max(rates) <= 0:
        message = "no window was measured"
        raise ValueError(message)
    return max(rates)


def _gemm(entry: Mapping[str, Any], model: str, threads: int) -> Gemm | Problem:
    if "error" in entry:
        return Problem(str(entry["error"]))
    return Gemm(
        flops_per_s=_best(entry["windows"], "flops"),
        repeats=int(entry["repeats"]),
        mismatches=int(entry["mismatches"]),
        sha256=str(entry["sha256"]),
        recipe=f"{model}, {threads} threads, numpy {entry['numpy']}, {entry['dtype']} {entry['n']}",
    )


def _memory(entry: Mapping[str, Any]) -> float | Problem:
    if "error" in entry:
        return Problem(str(entry["error"]))
    return _best(entry["windows"], "bytes")


def _disk(entry: Mapping[str, Any]) -> DiskRates | Problem:
    if "error" in entry:
        return Problem(str(entry["error"]))
    done = parse_fio(str(entry["stdout"]), entry["rc"])
    if isinstance(done, Problem) and entry.get("stderr"):
        return Problem(f"{done.text}; {' '.join(str(entry['stderr']).split())[-120:]}")
    return done


def better(first: Bench | Problem | None, second: Bench | Problem) -> Bench | Problem:
    """Put two tries together: other work only ever slows one down, so the faster is the node's own.

    Results that were wrong once stay wrong: silent corruption rarely repeats.
    """
    if isinstance(second, Problem):
        return first or second
    if first is None or isinstance(first, Problem):
        return second
    kinds = sorted({*first.gemm, *second.gemm})
    gemms = {k: _better_gemm(first.gemm.get(k), second.gemm.get(k)) for k in kinds}
    return replace(
        second,
        gemm={k: g for k, g in gemms.items() if g is not None},
        memory_bps=_faster(first.memory_bps, second.memory_bps),
        memory_equal=first.memory_equal and second.memory_equal,
        disk=_better_disk(first.disk, second.disk),
    )


def _faster(first: float | Problem, second: float | Problem) -> float | Problem:
    if isinstance(first, Problem) or isinstance(second, Problem):
        return first if isinstance(second, Problem) else second
    return max(first, second)


def _better_gemm(
    first: Gemm | Problem | None, second: Gemm | Problem | None
) -> Gemm | Problem | None:
    if not isinstance(first, Gemm) or not isinstance(second, Gemm):
        return second if isinstance(second, Gemm) else first
    return replace(
        second,
        flops_per_s=max(first.flops_per_s, second.flops_per_s),
        repeats=first.repeats + second.repeats,
        mismatches=first.mismatches + second.mismatches,
    )


def _better_disk(first: DiskRates | Problem, second: DiskRates | Problem) -> DiskRates | Problem:
    if isinstance(first, Problem) or isinstance(second, Problem):
        return first if isinstance(second, Problem) else second
    return DiskRates(
        write_bps=max(first.write_bps, second.write_bps),
        read_bps=max(first.read_bps, second.read_bps),
    )
