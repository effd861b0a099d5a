"""All checks there are; nothing else lists them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from muster.acceptance.checks import (
    clock_offset,
    converged,
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
from muster.acceptance.facts import GPU_QUERY
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
            converged,
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

BY_HAND: Mapping[str, str] = MappingProxyType(
    {
        gpu_count.CHECK: "nvidia-smi -L; ls /dev/nvidia[0-9]*",
        gpu_health.CHECK: " ".join(GPU_QUERY),
        gpu_xid.CHECK: "journalctl --boot --identifier=kernel --grep='NVRM: Xid'",
        nic_count.CHECK: "ip -br link",
        nic_link.CHECK: "ip -br addr; head /sys/class/net/*/carrier /sys/class/net/*/speed",
        memory_size.CHECK: "grep MemTotal /proc/meminfo",
        disk_space.CHECK: "df -h /",
        shared_mount.CHECK: "findmnt /shared; cat /shared/.muster-fs-id",
        clock_offset.CHECK: "chronyc -n tracking; date -u +%FT%T.%N",
        job_limits.CHECK: "srun -p muster --reservation=muster-acceptance sh -c 'ulimit -l -n'",
        services.CHECK: "systemctl status ssh munge slurmd chrony",
        converged.CHECK: "systemctl --failed; ls -l /etc/slurm /etc/muster",
        slurm_registration.CHECK: "scontrol show node $(hostname); slurmd -C",
        versions_equal.CHECK: "uname -r; slurmd -V; nvidia-smi --version",
    }
)
"""What a person runs on the node to see the same."""
