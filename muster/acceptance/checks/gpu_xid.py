"""Did the GPU driver log an error since boot that makes the node unfit?"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

import yaml

from muster.acceptance.checks.outcome import failed, one_part, passed, unknown
from muster.acceptance.checks.view import NodeView
from muster.acceptance.facts import Gpu, GpuState, Problem, Xid
from muster.findings import Finding

CHECK = "gpu-xid"


@cache
def _table(kind: str) -> Mapping[int, str]:
    data = yaml.safe_load(Path(__file__).with_name("xid.yaml").read_text(encoding="utf-8"))
    return {int(code): str(row["meaning"]) for code, row in data[kind].items()}


def judge(xids: tuple[Xid, ...] | Problem, *, gpus: Collection[Gpu], count: int) -> Finding:
    """Sort the logged codes by what they mean; a code that nobody listed is unknown."""
    if count == 0:
        return passed(CHECK, "no GPU expected")
    if isinstance(xids, Problem):
        return unknown(CHECK, f"the kernel's log could not be read: {xids.text}")
    fatal = [x for x in xids if x.code in _table("fatal")]
    if fatal:
        said = sorted({f"Xid {x.code} ({_table('fatal')[x.code]})" for x in fatal})
        what = f"{', '.join(said)} in the kernel's log since boot; expected none"
        return failed(CHECK, what, component=_part(fatal, gpus), n=len(fatal))
    strange = sorted({x.code for x in xids if x.code not in _table("benign")})
    if strange:
        return unknown(CHECK, f"Xid {', '.join(map(str, strange))} is in no list of ours")
    return passed(CHECK, f"no fatal Xid since boot ({len(xids)} benign)", n=len(xids))


def _part(xids: list[Xid], gpus: Collection[Gpu]) -> str:
    """Find the GPU by its bus address; tools print domains of 4 or 8 digits."""
    buses = {_bus(g.bus_id): g.index for g in gpus}
    found = sorted({buses[bus] for bus in (_bus(x.bus_id) for x in xids) if bus in buses})
    return one_part("gpu", found) if found else "node"


def _bus(text: str) -> str:
    return ":".join(text.lower().split(".")[0].split(":")[-2:])


def check(view: NodeView) -> Finding:
    """Judge one node."""
    if isinstance(view.facts, Problem):
        return unknown(CHECK, view.facts.text)
    gpu = view.facts.gpu
    gpus = gpu.gpus if isinstance(gpu, GpuState) else ()
    return judge(view.facts.xids, gpus=gpus, count=view.expected.gpu_count)
