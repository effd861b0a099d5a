"""The programs for nodes run with the standard library only, and print what we read."""

from __future__ import annotations

import ast
import json
import os
import shutil
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from muster import shell
from muster.acceptance.bench import Bench, Gemm, parse_bench
from muster.acceptance.facts import Facts, Problem, parse_facts
from muster.acceptance.pair_results import measure_round, plan_round
from muster.acceptance.reach import Reach, parse_reach
from muster.acceptance.workbench import PROGRAMS, program_texts
from muster.fabric.model import Pair
from muster.fleet import Rail
from tests.unit.acceptance.cluster import fleet_of

HERE = Path(__file__).parents[3] / "muster" / "acceptance" / "node"
ALLOWED = set(sys.stdlib_module_names) | {"numpy", "__future__"}


def run(program: str, *arguments: str, stdin: str = "", timeout_s: float = 30) -> str:
    argv = [sys.executable, "-I", str(HERE / program), *arguments]
    return shell.must_run(argv, timeout_s=timeout_s, stdin=stdin).stdout


def ask(directory: Path, **values: Any) -> str:
    path = directory / "ask.json"
    path.write_text(json.dumps(values), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_imports_nothing_that_a_node_may_lack(program: str) -> None:
    tree = ast.parse(program_texts()[program])
    found = {
        n.name.split(".")[0] for i in ast.walk(tree) if isinstance(i, ast.Import) for n in i.names
    }
    found |= {
        (i.module or "").split(".")[0] for i in ast.walk(tree) if isinstance(i, ast.ImportFrom)
    }
    assert found <= ALLOWED


def test_facts_of_this_machine_are_read_and_a_missing_tool_is_a_problem(tmp_path: Path) -> None:
    wanted = ask(
        tmp_path,
        services=["no-such-unit"],
        shared_marker=str(tmp_path / "marker"),
        disks=["/", "/no/such/place"],
        gpu_query=["/no/such/tool"],
        timeout_s=5,
    )
    facts = parse_facts(run("node_facts.py", wanted, "me"))
    assert isinstance(facts, Facts)
    assert facts.node == "me"
    assert isinstance(facts.memory_mib, int)
    assert isinstance(facts.gpu, Problem)
    assert isinstance(facts.shared_id, Problem)
    assert isinstance(facts.free_bytes["/"], int)
    assert isinstance(facts.free_bytes["/no/such/place"], Problem)


def test_a_marker_is_read(tmp_path: Path) -> None:
    (tmp_path / "marker").write_text("fs-7\n", encoding="utf-8")
    facts = parse_facts(run("node_facts.py", ask(tmp_path, shared_marker=f"{tmp_path}/marker")))
    assert isinstance(facts, Facts)
    assert facts.shared_id == "fs-7"


def test_benchmarks_of_this_machine_are_read(tmp_path: Path) -> None:
    small = {"gemm_n": 64, "windows": 2, "window_s": 0.05, "copy_mib": 8, "disk_mib": 1}
    wanted = ask(tmp_path, **small, disk_dir=str(tmp_path), disk_runtime_s=1, threads=1)
    # Isolated, python would not see this environment's numpy.
    argv = [sys.executable, str(HERE / "local_bench.py"), wanted, "me"]
    bench = parse_bench(shell.must_run(argv, timeout_s=60).stdout)
    assert isinstance(bench, Bench)
    gemm = bench.gemm["float64"]
    assert isinstance(gemm, Gemm)
    assert gemm.flops_per_s > 1e6
    assert gemm.mismatches == 0
    assert isinstance(bench.memory_bps, float)
    assert bench.memory_equal


def test_a_probe_tells_who_answers_who_is_silent_and_who_is_not_there() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as talks,
        socket.create_server(("127.0.0.1", 0)) as mute,
    ):

        def greet() -> None:
            connection, _ = talks.accept()
            connection.sendall(b"SSH-2.0-test\r\n")
            connection.close()

        threading.Thread(target=greet, daemon=True).start()
        found: dict[str, Reach] = {}
        for name, server in (("talks", talks), ("mute", mute)):
            port = server.getsockname()[1]
            question = {
                "nodes": {name: "127.0.0.1"},
                "timeout_s": 0.3,
                "ssh_port": port,
                "slurmd_port": 9,
            }
            answer = parse_reach(run("reach_probe.py", stdin=json.dumps(question)))
            assert not isinstance(answer, Problem)
            found |= answer
    assert found["talks"].by_ssh
    assert found["mute"].ssh == "silent"
    assert not found["mute"].by_step
    assert found["talks"].slurmd.startswith("closed")


needs_iperf3 = pytest.mark.skipif(
    shutil.which("iperf3") is None, reason="iperf3 is not installed (apt-get install iperf3)"
)


def loopback_plan(**changes: Any) -> tuple[dict[str, Any], list[Pair]]:
    """Two nodes of this machine: 127.0.0.2 and 127.0.0.3, one rail each."""
    fleet = fleet_of(2)
    nodes = tuple(
        node.model_copy(
            update={"rails": (Rail(index=0, interface="lo", address=f"127.0.0.{n + 2}"),)}
        )
        for n, node in enumerate(fleet.nodes)
    )
    pairs = [Pair("gpu-1", "gpu-2", 0)]
    local = fleet.model_copy(update={"nodes": nodes})
    plan = plan_round(local, pairs, number=7, seconds=1, connect_s=3, test_s=3)
    return {**plan, **changes}, pairs


@needs_iperf3
def test_two_nodes_play_a_round_and_both_directions_are_measured(tmp_path: Path) -> None:
    plan, pairs = loopback_plan()
    wanted = ask(tmp_path, **plan)
    with ThreadPoolExecutor(2) as pool:
        texts = list(pool.map(lambda n: run("pair_test.py", wanted, n), ("gpu-2", "gpu-1")))
    (found,) = measure_round(plan, pairs, {"gpu-1": texts[1], "gpu-2": texts[0]})
    assert found.problem == ""
    assert found.measurement.valid
    assert found.forward_bps
    assert found.reverse_bps


@needs_iperf3
def test_a_partner_that_never_comes_ends_in_a_result_that_is_not_valid(tmp_path: Path) -> None:
    plan, pairs = loopback_plan(connect_s=0.3, test_s=0.5)
    text = run("pair_test.py", ask(tmp_path, **plan), "gpu-1", timeout_s=10)
    (found,) = measure_round(plan, pairs, {"gpu-1": text})
    assert not found.measurement.valid
    assert "unable to connect" in found.problem


@pytest.mark.parametrize("measures", [True, False])
def test_a_time_daemon_that_has_not_synchronised_is_told_to_measure_first(
    tmp_path: Path, *, measures: bool
) -> None:
    chronyc = tmp_path / "chronyc"
    answer = "touch synced" if measures else "true"
    chronyc.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        f"  *burst*) {answer} ;;\n"
        "  *tracking) [ -e synced ] && echo a,Normal || echo a,Not synchronised ;;\n"
        "esac\n"
    )
    chronyc.chmod(0o755)
    argv = [sys.executable, "-I", str(HERE / "node_facts.py"), ask(tmp_path), "n1"]
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = shell.must_run(argv, timeout_s=60, cwd=tmp_path, env={**os.environ, "PATH": path})
    said = json.loads(done.stdout)["commands"]["chrony"]["stdout"]
    assert said == ("a,Normal\n" if measures else "a,Not synchronised\n")
