"""Local stage: does each node compute, copy and write as fast as its peers?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from muster.acceptance.bench import Bench, better, parse_bench
from muster.acceptance.checks import cpu_gemm, disk_throughput, gemm_repeat, memory_bandwidth
from muster.acceptance.checks.against_peers import Yardstick
from muster.acceptance.facts import Problem
from muster.acceptance.floors import local_floor
from muster.acceptance.scene import Scene
from muster.findings import Finding, Outcome
from muster.fleet import Node

_STAGE = "local"
_Benches = Mapping[str, Bench | Problem]
_PART = {
    cpu_gemm.CHECK: "gemm",
    gemm_repeat.CHECK: "gemm",
    memory_bandwidth.CHECK: "memory",
    disk_throughput.CHECK: "disk",
}


def run_local(scene: Scene) -> None:
    """Measure all remaining nodes, then those that look slow again, alone."""
    nodes = scene.remaining()
    scene.progress(f"accept 2/4: processor, memory and disk of {len(nodes)} nodes")
    benches: dict[str, Bench | Problem] = {}
    names = scene.usable(node.name for node in nodes)
    for number, batch in enumerate(_batches(names, scene.policy.local.at_once)):
        benches |= _measure(scene, batch, f"local-{number}")
    findings = _judge_all(scene, nodes, benches)
    for attempt in range(scene.policy.local.retries):
        slow = [node for node in nodes if _slow(findings[node.name])]
        if not slow:
            break
        for node in slow:
            scene.progress(f"accept 2/4: {node.name} again, alone")
            again = _measure(scene, [node.name], f"local-{node.name}-{attempt}")
            benches[node.name] = better(benches.get(node.name), again[node.name])
        findings = _judge_all(scene, nodes, benches)
    for node in nodes:
        for finding in findings[node.name]:
            _record(scene, node, finding, benches.get(node.name))


def _batches(names: Sequence[str], at_once: int) -> Iterator[list[str]]:
    size = at_once or max(len(names), 1)
    for start in range(0, len(names), size):
        yield list(names[start : start + size])


def _slow(findings: Iterable[Finding]) -> bool:
    """Wrong results need no second look; low or missing rates do."""
    return any(f.outcome is not Outcome.PASS and f.check != gemm_repeat.CHECK for f in findings)


def _ask(scene: Scene) -> dict[str, object]:
    local = scene.policy.local
    return {
        "threads": local.threads,
        "gemm_n": local.gemm_n,
        "windows": local.windows,
        "window_s": local.window_s,
        "copy_mib": local.copy_mib,
        "disk_mib": local.disk_mib,
        "disk_runtime_s": local.disk_runtime_s,
        "disk_dir": scene.request.disk_dir,
    }


def _measure(scene: Scene, names: list[str], name: str) -> dict[str, Bench | Problem]:
    if not names:
        return {}
    harvest = scene.workbench.run(
        name,
        names,
        program="local_bench.py",
        ask=_ask(scene),
        deadline_s=scene.policy.local.node_seconds,
    )
    step = harvest.step
    scene.run.event("step", stage=name, rc=step.rc, timed_out=step.timed_out, nodes=names)
    for node, text in harvest.results.items():
        kept = text or f"{step.command}\n{step.stdout}{step.stderr}{harvest.errors.get(node, '')}"
        scene.run.save_evidence(node, f"{name}.json" if text else f"{name}.txt", kept)
    return {node: parse_bench(text) for node, text in harvest.results.items()}


def _judge_all(
    scene: Scene, nodes: Sequence[Node], benches: _Benches
) -> dict[str, tuple[Finding, ...]]:
    return {node.name: tuple(_judge(scene, node, nodes, benches)) for node in nodes}


def _judge(scene: Scene, node: Node, nodes: Sequence[Node], benches: _Benches) -> Iterator[Finding]:
    """Compare a node with those of its type and processor."""
    own = benches.get(node.name, Problem("the scheduler would not start a job there"))
    model = own.cpu_model if isinstance(own, Bench) else ""
    peers = {
        peer.name: benches[peer.name]
        for peer in nodes
        if peer.name in benches and peer.type == node.type and _model(benches[peer.name]) == model
    }
    peers[node.name] = own
    local = scene.policy.local

    def yardstick(check: str, unit: str, tolerance: float) -> Yardstick:
        floor = local_floor(scene.request.catalog, check, scene.request.kind(node))
        return Yardstick(
            unit=unit, tolerance=tolerance, floor=floor.value, floor_source=floor.source
        )

    yield cpu_gemm.judge(
        node.name,
        _map(cpu_gemm.rate, peers),
        yardstick(cpu_gemm.CHECK, "FLOP/s", local.cpu_tolerance),
    )
    yield gemm_repeat.judge(node.name, peers)
    yield memory_bandwidth.judge(
        node.name,
        _map(memory_bandwidth.rate, peers),
        yardstick(memory_bandwidth.CHECK, "B/s", local.memory_tolerance),
        equal=own.memory_equal if isinstance(own, Bench) else True,
    )
    yield disk_throughput.judge(
        node.name,
        {name: disk_throughput.rates(bench) for name, bench in peers.items()},
        yardstick(disk_throughput.CHECK, "B/s", local.disk_tolerance),
    )


def _map(
    rate: Callable[[Bench | Problem], float | Problem], benches: _Benches
) -> dict[str, float | Problem]:
    return {name: rate(bench) for name, bench in benches.items()}


def _model(bench: Bench | Problem) -> str:
    return bench.cpu_model if isinstance(bench, Bench) else ""


def _record(scene: Scene, node: Node, finding: Finding, bench: Bench | Problem | None) -> None:
    seconds = bench.seconds if isinstance(bench, Bench) else {}
    directory = scene.run.directory
    kept = sorted((directory / "evidence" / node.name).glob("local*"))
    update = {
        "evidence": tuple(str(path.relative_to(directory)) for path in kept),
        "cmd": scene.by_hand(
            node,
            f"python3 -I {scene.workbench.bin}/local_bench.py"
            f" {scene.workbench.directory('local-0')}/ask.json",
        ),
        "duration_s": seconds.get(_PART[finding.check]),
    }
    scene.record(finding.model_copy(update=update), node, stage=_STAGE)
