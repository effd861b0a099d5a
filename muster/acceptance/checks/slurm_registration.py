"""Does the scheduler know the node as it is, and would it use it?"""

from __future__ import annotations

from muster.acceptance.checks.outcome import failed, passed, unknown
from muster.acceptance.checks.view import NodeView
from muster.acceptance.facts import Facts, Problem
from muster.findings import Finding
from muster.schedulers.model import NodeStatus

CHECK = "slurm-registration"


def judge(
    status: NodeStatus | Problem,
    *,
    gpu_count: int,
    cpus: int | None,
    memory_mib: int | Problem,
) -> Finding:
    """Compare the scheduler's record with the type and with the memory that is really there.

    `cpus` None: the node shares its cores, so no count is expected.
    """
    if isinstance(status, Problem):
        return unknown(CHECK, f"the scheduler could not be asked: {status.text}")
    if not status.usable:
        state = "+".join(sorted(status.states))
        because = f" ({status.reason})" if status.reason else ""
        return failed(CHECK, f"the scheduler has it as {state}{because}", component="node")
    if status.gpus is None or status.memory_mib is None or status.cpus is None:
        return unknown(CHECK, "the scheduler states no GPUs, memory or processors")
    faults = []
    if status.gpus != gpu_count:
        faults.append(f"{status.gpus} GPUs, expected {gpu_count}")
    if cpus is not None and status.cpus != cpus:
        faults.append(f"{status.cpus} processors, expected {cpus}")
    if not isinstance(memory_mib, Problem) and status.memory_mib > memory_mib:
        faults.append(f"{status.memory_mib} MiB, though the node has {memory_mib} MiB")
    if faults:
        return failed(CHECK, f"the scheduler offers {', '.join(faults)}", component="node")
    what = f"{status.gpus} GPUs, {status.cpus} processors, {status.memory_mib} MiB"
    return passed(CHECK, f"registered with {what}")


def check(view: NodeView) -> Finding:
    """Judge one node; it needs no facts to say that a node is down."""
    facts = view.facts
    return judge(
        view.status,
        gpu_count=view.expected.gpu_count,
        cpus=view.expected.cpus,
        memory_mib=facts.memory_mib if isinstance(facts, Facts) else facts,
    )
