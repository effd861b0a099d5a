"""What converging has to know besides the fleet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

CgroupMode = Literal["disabled", "v1", "v2"]


class NodeType(Protocol):
    """What Slurm's files need of an instance type; the catalog's `InstanceType` has it all."""

    @property
    def gpu_count(self) -> int:
        """Accelerators of one node."""
        ...

    @property
    def gpu_model(self) -> str:
        """Name of the accelerator, as "NVIDIA H100"."""
        ...

    @property
    def vcpus(self) -> int:
        """CPUs that Slurm may hand out."""
        ...

    @property
    def shared_cpus(self) -> bool:
        """Does the node share its cores, so that it sees another number than `vcpus`?"""
        ...

    @property
    def memory_mib(self) -> int:
        """Nominal memory."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ConvergeOptions:
    """Choices of one stack; the defaults suit real machines."""

    cgroup_mode: CgroupMode = "v2"
    clock_settable: bool = True
    """False where nodes share the clock of the machine that they run on, as in the lab."""
    reserve_unaccepted: bool = True
    """Keep nodes that were never accepted in a reservation, out of users' reach."""
    set_hostname: bool = False
    """Give every machine its node's name, where whoever made the machine did not."""
    shared_directory: str = "/shared"
    """Empty where the machines share no file system."""
    shared_marker: str = ".muster-fs-id"
    """File that is there only when the shared directory is mounted."""
    health_interval_s: int = 300
    scrape_interval_s: int = 30
    nofile: int = 1_048_576
    """Open files per process (linux-system-roles/hpc sets the same)."""
    memory_usable_fraction: float = 0.95
    """RealMemory over nominal memory: the kernel keeps a part (ParallelCluster, openhpc: 0.95)."""
    innodb_buffer_pool_mib: int = 1024
    time_servers: tuple[str, ...] = ()
    """Outer clocks of the head node; none where the head's own clock is the reference."""
    forks: int = 8
    timeout_s: float = 1800.0


def lab_options() -> ConvergeOptions:
    """Return the options of the embedded lab: shared kernel, shared clock, little memory."""
    return ConvergeOptions(
        cgroup_mode="disabled",
        clock_settable=False,
        health_interval_s=30,
        innodb_buffer_pool_mib=64,
    )
