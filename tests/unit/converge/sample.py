"""Fleets and instance types for the tests of converging; not a test itself."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import HealthCheck, settings

from muster.fleet import Fleet, Node, SshAccess

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""For properties: how long an example takes on a busy machine says nothing about the code."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """An instance type, as little of it as converging needs."""

    gpu_count: int
    gpu_model: str
    vcpus: int
    shared_cpus: bool
    memory_mib: int


LAB = Kind(gpu_count=8, gpu_model="Muster Lab GPU", vcpus=16, shared_cpus=True, memory_mib=2000)
BIG = Kind(gpu_count=8, gpu_model="NVIDIA H100", vcpus=192, shared_cpus=False, memory_mib=2_097_152)
PLAIN = Kind(gpu_count=0, gpu_model="", vcpus=16, shared_cpus=False, memory_mib=65_536)
TYPES = {"lab.8gpu": LAB, "big": BIG, "plain": PLAIN}


def node(name: str, *, pool: str, kind: str, leaf: str, number: int) -> Node:
    return Node(
        name=name,
        serial=f"SER-{number:04d}",
        pool=pool,
        type=kind,
        address=f"10.0.{number // 256}.{number % 256}",
        host_key=f"ssh-ed25519 KEY{number}",
        leaf=leaf,
    )


def fleet(*nodes: Node, stack: str = "lab", known_hosts_file: str = "/k/known_hosts") -> Fleet:
    return Fleet(
        stack=stack,
        target="lab",
        ssh=SshAccess(key_file="/k/id", known_hosts_file=known_hosts_file),
        head=node("head", pool="head", kind="head", leaf="", number=10),
        nodes=nodes,
    )


def lab_fleet(count: int = 8, *, per_leaf: int = 2) -> Fleet:
    return fleet(
        *(
            node(
                f"gpu-{i + 1}",
                pool="gpu",
                kind="lab.8gpu",
                leaf=f"leaf{i // per_leaf}",
                number=11 + i,
            )
            for i in range(count)
        )
    )


def mixed_fleet() -> Fleet:
    """Two pools of GPU nodes on two leaves, and plain nodes whose leaf is not known."""
    train = [
        node(f"train-{i}", pool="train", kind="big", leaf=f"leaf{i % 2}", number=20 + i)
        for i in (1, 2, 3, 5)
    ]
    cpu = [node(f"cpu-{i}", pool="cpu", kind="plain", leaf="", number=40 + i) for i in (1, 2)]
    return fleet(*train, *cpu, stack="mixed")


def known_hosts(of: Fleet) -> str:
    return "".join(f"{n.address} {n.host_key}\n" for n in (of.head, *of.nodes))
