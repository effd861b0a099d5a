"""Prove a fleet: static, local, pairs, group; then verdicts, and what follows from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from muster.acceptance.actions import act, kept_verdicts, read_accepted
from muster.acceptance.locate_model import LocateVerdict
from muster.acceptance.preparation import prepare
from muster.acceptance.request import AcceptRequest
from muster.acceptance.scene import Scene
from muster.acceptance.stages.group import run_group
from muster.acceptance.stages.local import run_local
from muster.acceptance.stages.pairs import run_pairs
from muster.acceptance.stages.static import run_static
from muster.acceptance.verdicts import Decision, Evidence, decide, is_ready
from muster.acceptance.workbench import Workbench
from muster.clock import Clock
from muster.progress import Progress
from muster.readiness import Readiness, Verdict
from muster.remote import Remote
from muster.runstore import Run
from muster.schedulers.model import Scheduler


def accept(
    request: AcceptRequest,
    *,
    scheduler: Scheduler,
    remote: Remote,
    run: Run,
    clock: Clock,
    progress: Progress,
) -> Readiness:
    """Test the fleet and say who is fit; the answer is also in the run's directory.

    A run that was killed needs no clean-up: the next one cancels its steps and starts afresh.

    Raises:
        SchedulerUnavailableError: the scheduler could not be asked, so nothing is known.
        WorkbenchError: the head could not be worked on.

    """
    scene = Scene(
        request=request,
        scheduler=scheduler,
        workbench=Workbench(
            remote=remote,
            scheduler=scheduler,
            head=request.fleet.head.name,
            shared_dir=request.shared_dir,
            run_id=run.id,
        ),
        run=run,
        clock=clock,
        progress=progress,
    )
    run.event("begun", policy=request.policy.name, nodes=[n.name for n in request.nodes()])
    progress("accept: shipping the tests, taking the nodes out of users' reach")
    scene.workbench.ship()
    accepted = read_accepted(scene)
    taken = prepare(scene)
    _stage(scene, "static", lambda: run_static(scene))
    _stage(scene, "local", lambda: run_local(scene))
    located: list[LocateVerdict | None] = []
    _stage(scene, "pairs", lambda: located.append(run_pairs(scene)))
    _stage(scene, "groups", lambda: run_group(scene))
    evidence = Evidence(
        findings=scene.findings,
        untested=scene.untested,
        kept=kept_verdicts(scene, accepted),
        located=located[0],
        waivers=scene.waivers(),
    )
    decision = decide(request.fleet.nodes, evidence)
    act(scene, decision, taken, accepted)
    readiness = _readiness(scene, decision)
    run.write_readiness(readiness)
    run.event("ended", ready=readiness.ready, reason=readiness.reason)
    progress(f"accept: {'ready' if readiness.ready else 'not ready'}: {readiness.reason}")
    return readiness


def _stage(scene: Scene, name: str, work: Callable[[], None]) -> None:
    begin = scene.clock.monotonic_s()
    work()
    seconds = round(scene.clock.monotonic_s() - begin, 2)
    scene.run.event("stage", stage=name, seconds=seconds, remaining=len(scene.remaining()))


def _readiness(scene: Scene, decision: Decision) -> Readiness:
    count = Counter(node.verdict for node in decision.nodes)
    ready, reason = is_ready(decision, scene.request.wanted)
    return Readiness(
        stack=scene.request.fleet.stack,
        run=scene.run.id,
        time=scene.clock.now(),
        ready=ready,
        reason=reason,
        wanted=scene.request.wanted,
        accepted=count[Verdict.ACCEPTED],
        quarantined=count[Verdict.QUARANTINED],
        untested=count[Verdict.UNTESTED],
        suspect=count[Verdict.SUSPECT],
        fleet=decision.components,
        nodes=decision.nodes,
    )
