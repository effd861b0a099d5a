"""Before the tests: reserve the nodes, put our own drained ones back, wait for jobs of users."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from muster.acceptance.scene import Scene
from muster.acceptance.workbench import JOB_PREFIX, RESERVATION
from muster.schedulers.model import Job, NodeStatus

_POLL_S = 2.0
_RESUME_WAIT_S = 10.0
_CLEAR_AFTER_S = 10.0
"""A healthy node clears an ended job within a few seconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Taken:
    """Who was reserved before this run; what it holds back at the end starts from here."""

    reserved_before: frozenset[str]


def prepare(scene: Scene) -> Taken:
    """Reserve, resume and wait; who cannot be tested is noted with the reason."""
    scheduler, names = scene.scheduler, [node.name for node in scene.request.nodes()]
    cancelled = scheduler.cancel(JOB_PREFIX)
    if cancelled:
        scene.run.event("cancelled", jobs=list(cancelled), reason="left by an earlier run")
    before = scheduler.reservation(RESERVATION)
    scheduler.reserve(RESERVATION, before | set(names))
    scene.run.event("reserved", nodes=sorted(set(names) - before))
    _resume(scene, names)
    busy = _wait_for_jobs(scene, names)
    for name, job in busy.items():
        scene.untested[name] = f"busy with job {job.id} of {job.user}"
    _clear(scene, names)
    return Taken(reserved_before=before)


def _resume(scene: Scene, names: list[str]) -> None:
    """Put back who was taken out by us or by the scheduler; a human's word stands."""
    known, asked = scene.scheduler.nodes(), []
    for name in names:
        status = known.get(name)
        if status is None:
            scene.untested[name] = "the scheduler does not know this node"
        elif status.settling:
            continue  # the static stage waits for it, and asks the node itself
        elif not status.usable and scene.scheduler.resume(name):
            scene.run.event("resumed", node=name, reason=status.reason)
            asked.append(name)
        elif not status.usable:
            scene.untested[name] = _said(status)
    end = scene.clock.monotonic_s() + _RESUME_WAIT_S
    while asked and scene.clock.monotonic_s() < end:
        known = scene.scheduler.nodes()
        asked = [name for name in asked if not known[name].usable]
        if asked:
            scene.clock.sleep(_POLL_S / 2)


def _clear(scene: Scene, names: list[str]) -> None:
    """Free nodes on which the scheduler still waits for the end of our own earlier tests.

    That takes it minutes where a node's daemon was away when the test ended.
    """
    end = scene.clock.monotonic_s() + _CLEAR_AFTER_S
    while True:
        stuck = _stuck(scene, names)
        if not stuck:
            return
        if scene.clock.monotonic_s() >= end:
            break
        scene.clock.sleep(_POLL_S / 2)
    for name in stuck:
        scene.scheduler.clear(name)
        scene.run.event("cleared", node=name, reason="an earlier run's test would not end there")


def _stuck(scene: Scene, names: list[str]) -> list[str]:
    """Name the nodes that are ending jobs, all of them ours; users' jobs are left alone."""
    known = scene.scheduler.nodes()
    settling = {
        name
        for name in names
        if name not in scene.untested and name in known and known[name].settling
    }
    if not settling:
        return []
    jobs = scene.scheduler.jobs()
    users = {n for job in jobs if not job.name.startswith(JOB_PREFIX) for n in job.nodes}
    ours = {n for job in jobs if job.name.startswith(JOB_PREFIX) for n in job.nodes}
    return sorted((settling & ours) - users)


def _said(status: NodeStatus) -> str:
    who = status.reason_user or "somebody"
    return f"{'+'.join(sorted(status.states))} by {who}: {status.reason or 'no reason given'}"


def _wait_for_jobs(scene: Scene, names: list[str]) -> Mapping[str, Job]:
    """Wait for jobs of users to end; new ones cannot start, as the nodes are reserved."""
    end = scene.clock.monotonic_s() + scene.request.busy_wait_s
    while True:
        busy = {
            name: job
            for job in scene.scheduler.jobs()
            if not job.name.startswith(JOB_PREFIX)
            for name in job.nodes
            if name in names and name not in scene.untested
        }
        if not busy or scene.clock.monotonic_s() >= end:
            return busy
        scene.progress(f"accept: waiting for {len(busy)} nodes with jobs of users")
        scene.clock.sleep(_POLL_S)
