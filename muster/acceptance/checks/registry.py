"""All checks there are; nothing else lists them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from muster.acceptance.checks import (
    clock_offset,
    cpu_gemm,
    disk_space,
    disk_throughput,
    gemm_repeat,
    gpu_count,
    gpu_health,
    gpu_xid,
    group_allreduce,
    job_limits,
    memory_bandwidth,
    memory_size,
    nic_count,
    nic_link,
    pair_bandwidth,
    pair_retransmits,
    services,
    shared_mount,
    slurm_registration,
    versions_equal,
)
from muster.acceptance.checks.view import NodeView
from muster.findings import Finding

STATIC: Mapping[str, Callable[[NodeView], Finding]] = MappingProxyType(
    {
        module.CHECK: module.check
        for module in (
            gpu_count,
            gpu_health,
            gpu_xid,
            nic_count,
            nic_link,
            memory_size,
            disk_space,
            shared_mount,
            clock_offset,
            job_limits,
            services,
            slurm_registration,
            versions_equal,
        )
    }
)
LOCAL = (cpu_gemm.CHECK, gemm_repeat.CHECK, memory_bandwidth.CHECK, disk_throughput.CHECK)
PAIRS = (pair_bandwidth.CHECK, pair_retransmits.CHECK)
GROUPS = (group_allreduce.CHECK,)
STAGES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"static": tuple(STATIC), "local": LOCAL, "pairs": PAIRS, "groups": GROUPS}
)
ALL = tuple(check for checks in STAGES.values() for check in checks)
