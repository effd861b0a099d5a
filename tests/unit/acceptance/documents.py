"""What nodes print, made from captures, for tests to change."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from muster.acceptance.facts import Facts, parse_facts

CAPTURES = Path(__file__).parent / "captures"
Change = Callable[[dict[str, Any]], None]


def load(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((CAPTURES / name).read_text(encoding="utf-8"))
    return loaded


def facts_text(change: Change | None = None, *, node: str = "gpu-1") -> str:
    document = load("node-facts.json")
    document["node"] = node
    if change:
        change(document)
    return json.dumps(document)


def facts(change: Change | None = None) -> Facts:
    parsed = parse_facts(facts_text(change))
    assert isinstance(parsed, Facts), parsed
    return parsed


def command(key: str, **values: Any) -> Change:
    """Change one tool's record: `command("gpu", rc=9, stdout="")`."""

    def change(document: dict[str, Any]) -> None:
        document["commands"][key].update(values)

    return change


def bench_text(
    *, node: str = "gpu-1", slow: float = 1.0, disk: float = 1.0, change: Change | None = None
) -> str:
    """A node's benchmarks; `slow` 2 takes twice the time, `disk` likewise for the disk only."""
    document = load("local-bench.json")
    document["node"] = node
    for part in (*document["gemm"], document["memory"]):
        for window in part["windows"]:
            window["s"] *= slow
    fio = load("fio.json")
    for job in fio["jobs"]:
        for way in ("read", "write"):
            job[way]["bw_bytes"] = int(job[way]["bw_bytes"] / disk)
            job[way]["runtime"] = int(job[way]["runtime"] * disk)
    document["disk"]["stdout"] = json.dumps(fio)
    if change:
        change(document)
    return json.dumps(document)


def iperf_text(
    client: str, server: str, *, bps: float = 4.8e6, retransmits: int = 0, reverse: bool = False
) -> str:
    """A client's output of a one-second test."""
    document = load("iperf3-client.json")
    connection = document["start"]["connected"][0]
    connection["local_host"], connection["remote_host"] = client, server
    document["start"]["test_start"]["reverse"] = int(reverse)
    seconds = document["end"]["sum_received"]["seconds"]
    document["end"]["sum_received"]["bytes"] = bps * seconds
    document["end"]["sum_received"]["bits_per_second"] = bps * 8
    document["end"]["sum_sent"]["bytes"] = bps * seconds + 1e6
    document["end"]["sum_sent"]["retransmits"] = retransmits
    return json.dumps(document)
