"""Static stage: what is each node, and is that what it should be? One step over all nodes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from muster.acceptance.checks import services
from muster.acceptance.checks.outcome import failed
from muster.acceptance.checks.registry import BY_HAND, STATIC
from muster.acceptance.checks.view import NodeView
from muster.acceptance.expected import expected_of
from muster.acceptance.facts import GPU_QUERY, Facts, Problem, parse_facts
from muster.acceptance.reach import Reach, parse_reach
from muster.acceptance.scene import Scene
from muster.acceptance.workbench import WorkbenchError
from muster.fleet import Node
from muster.schedulers.model import NodeStatus

_STAGE = "static"
_SSH_PORT = 22
_SLURMD_PORT = 6818
_PROBE_S = 3.0
_TOOL_S = 5.0
_SSH_FACTS_S = 20.0
_SETTLE_S = 45.0
"""Slurm takes so long to clear a job off a node whose daemon was away (UnkillableStep aside)."""


@dataclass(kw_only=True)
class _Answers:
    """What came back so far, and how."""

    reach: Mapping[str, Reach] | Problem
    texts: dict[str, str] = field(default_factory=dict)
    as_job: set[str] = field(default_factory=set)
    problems: dict[str, str] = field(default_factory=dict)
    asked_s: dict[str, tuple[float, float]] = field(default_factory=dict)
    duration_s: float = 0.0


def run_static(scene: Scene) -> None:
    """Ask all nodes, judge each."""
    nodes = [n for n in scene.request.nodes() if n.name not in scene.untested]
    scene.progress(f"accept 1/4: static checks of {len(nodes)} nodes")
    answers = _Answers(reach=_probe(scene, nodes))
    _ask_by_step(scene, answers, _for_step(scene, answers, nodes))
    missing = [n.name for n in nodes if n.name not in answers.texts]
    if missing:
        _ask_by_ssh(scene, answers, missing)
        again = [name for name in missing if _looks_well(answers, name)]
        # What kept the step from them may be one node that is out of it by now.
        _ask_by_step(scene, answers, scene.usable(again), name="static-again")
    _judge(scene, answers, nodes)


def _probe(scene: Scene, nodes: list[Node]) -> Mapping[str, Reach] | Problem:
    """Ask from the head who answers; who does not is asked once more."""
    asked = {node.name: node.address for node in nodes}
    found = _probe_once(scene, asked)
    if isinstance(found, Problem):
        return found
    doubtful = {n: asked[n] for n, r in found.items() if not r.by_ssh or r.slurmd != "open"}
    if not doubtful:
        return found
    second = _probe_once(scene, doubtful)
    return found if isinstance(second, Problem) else {**found, **second}


def _probe_once(scene: Scene, asked: Mapping[str, str]) -> Mapping[str, Reach] | Problem:
    ask = {
        "nodes": asked,
        "timeout_s": _PROBE_S,
        "ssh_port": scene.request.fleet.ssh.port or _SSH_PORT,
        "slurmd_port": _SLURMD_PORT,
    }
    limit_s = _PROBE_S * 4 * (1 + len(asked) // 64) + 10
    command = f"python3 -I {scene.workbench.bin}/reach_probe.py"
    text = scene.workbench.on_head(command, timeout_s=limit_s, stdin=json.dumps(ask))
    scene.run.save_evidence("", "reach.json", text)
    return parse_reach(text)


def _for_step(scene: Scene, answers: _Answers, nodes: list[Node]) -> list[str]:
    reach = answers.reach
    if isinstance(reach, Problem):
        return scene.usable((node.name for node in nodes), settle_s=_SETTLE_S)
    able = [node.name for node in nodes if reach[node.name].by_step]
    return scene.usable(able, settle_s=_SETTLE_S)


def _ask(scene: Scene) -> dict[str, object]:
    request = scene.request
    return {
        "services": list(request.services),
        "shared_marker": f"{request.shared_dir}/{request.shared_marker}",
        "disks": ["/"],
        "gpu_query": list(GPU_QUERY)
        if any(request.kind(n).gpu_count for n in request.nodes())
        else [],
        "timeout_s": _TOOL_S,
    }


def _ask_by_step(scene: Scene, answers: _Answers, names: list[str], *, name: str = _STAGE) -> None:
    if not names:
        return
    begin = float(scene.workbench.on_head("date +%s.%N", timeout_s=10))
    harvest = scene.workbench.run(
        name,
        names,
        program="node_facts.py",
        ask=_ask(scene),
        deadline_s=scene.policy.static.seconds,
    )
    end = float(scene.workbench.on_head("date +%s.%N", timeout_s=10))
    step = harvest.step
    scene.run.event("step", stage=name, rc=step.rc, timed_out=step.timed_out, nodes=names)
    scene.run.save_evidence("", f"{name}-step.txt", f"{step.command}\n{step.stdout}{step.stderr}")
    answers.duration_s += step.duration_s
    for node, text in harvest.results.items():
        if text is not None:
            answers.texts[node] = text
            answers.as_job.add(node)
            answers.asked_s[node] = (begin, end)


def _ask_by_ssh(scene: Scene, answers: _Answers, names: list[str]) -> None:
    """Ask nodes that no step reached: their own words say why."""
    reach = answers.reach
    open_ = [n for n in names if isinstance(reach, Problem) or reach[n].by_ssh]
    begin = float(scene.workbench.on_head("date +%s.%N", timeout_s=10))
    found = scene.workbench.run_by_ssh(
        _STAGE, open_, program="node_facts.py", timeout_s=_SSH_FACTS_S
    )
    end = float(scene.workbench.on_head("date +%s.%N", timeout_s=10))
    for name in names:
        answer = found.get(name)
        if isinstance(answer, str):
            answers.texts[name] = answer
            answers.asked_s[name] = (begin, end)
        else:
            answers.problems[name] = answer.what if answer else "it does not answer ssh"


def _looks_well(answers: _Answers, name: str) -> bool:
    """Is it worth another step: it has facts, and the daemons that a step needs run?"""
    facts = parse_facts(answers.texts.get(name, ""))
    if isinstance(facts, Problem) or isinstance(facts.services, Problem):
        return False
    return all(state == "active" for state in facts.services.values())


def _judge(scene: Scene, answers: _Answers, nodes: list[Node]) -> None:
    facts = {
        node.name: parse_facts(answers.texts[node.name])
        if node.name in answers.texts
        else Problem(answers.problems.get(node.name, "it wrote no result"))
        for node in nodes
    }
    fleet = {name: found for name, found in facts.items() if isinstance(found, Facts)}
    states = scene.scheduler.nodes()
    marker = _head_marker(scene)
    for node in nodes:
        view = NodeView(
            expected=expected_of(node, scene.request.kind(node), scene.request.catalog),
            facts=facts[node.name],
            status=_status(states, node.name),
            limits=scene.policy.static,
            head_shared_id=marker,
            fleet=fleet,
            asked_s=answers.asked_s.get(node.name, (0.0, 0.0)),
            converge_failure=scene.request.converge_failures.get(node.name),
            as_job=node.name in answers.as_job,
        )
        _judge_node(scene, node, view, answers)


def _judge_node(scene: Scene, node: Node, view: NodeView, answers: _Answers) -> None:
    kept: tuple[str, ...] = ()
    if node.name in answers.texts:
        text = answers.texts[node.name]
        kept = (scene.run.save_evidence(node.name, "facts.json", text),)
    found = {check: judge(view) for check, judge in STATIC.items()}
    if isinstance(view.facts, Problem) and _surely_out(answers, node.name):
        reach = answers.reach
        what = reach[node.name].describe() if isinstance(reach, Mapping) else view.facts.text
        found[services.CHECK] = failed(services.CHECK, f"the node {what}", component="node")
    took = view.facts.duration_s if isinstance(view.facts, Facts) else None
    for check, finding in found.items():
        extra = {
            "evidence": kept or ("evidence/fleet/reach.json",),
            "cmd": scene.by_hand(node, BY_HAND[check]),
            "duration_s": took,
        }
        scene.record(finding.model_copy(update=extra), node, stage=_STAGE)


def _surely_out(answers: _Answers, name: str) -> bool:
    """Twice no answer, while others answered the same probe: then it is the node."""
    reach = answers.reach
    if isinstance(reach, Problem) or reach[name].by_ssh:
        return False
    return any(r.by_ssh for other, r in reach.items() if other != name)


def _status(states: Mapping[str, NodeStatus], name: str) -> NodeStatus | Problem:
    if name in states:
        return states[name]
    return Problem("the scheduler does not know this node")


def _head_marker(scene: Scene) -> str | Problem:
    path = f"{scene.request.shared_dir}/{scene.request.shared_marker}"
    try:
        return scene.workbench.on_head(f"cat {path}", timeout_s=10).strip()
    except WorkbenchError as error:
        return Problem(error.what)
