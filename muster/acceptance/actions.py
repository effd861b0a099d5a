"""What a run does about its verdicts: drain, let go, and note who was accepted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from muster.acceptance.preparation import Taken
from muster.acceptance.scene import Scene
from muster.acceptance.verdicts import Decision
from muster.acceptance.workbench import RESERVATION
from muster.fleet import Node
from muster.readiness import Verdict
from muster.schedulers.model import SchedulerUnavailableError

ACCEPTED_FILE = "/var/lib/muster/accepted"
_RELEASE_ATTEMPTS = 5
_PAUSE_S = 2.0
_WRITE = (
    "set -e; f={file}; mkdir -p $(dirname $f); cat > $f.new; chmod 644 $f.new;"
    " sync $f.new; mv $f.new $f"
)


def read_accepted(scene: Scene) -> dict[str, str]:
    """Return who was accepted before, by name, with the serial."""
    text = scene.workbench.on_head(f"cat {ACCEPTED_FILE} 2>/dev/null || :", timeout_s=10)
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}  # noqa: PLR2004


def kept_verdicts(scene: Scene, accepted: Mapping[str, str]) -> dict[str, Verdict]:
    """Return the nodes that are not in this run's test, with what they were."""
    tested = {node.name for node in scene.request.nodes()}
    return {
        node.name: Verdict.ACCEPTED if accepted.get(node.name) == node.serial else Verdict.UNTESTED
        for node in scene.request.fleet.nodes
        if node.name not in tested
    }


def act(scene: Scene, decision: Decision, taken: Taken, accepted: Mapping[str, str]) -> None:
    """Carry the verdicts out; each deed is an event."""
    for name, check in decision.drain.items():
        reason = f"muster:{check}:fail:{scene.run.id}"
        if scene.scheduler.drain(name, reason):
            scene.run.event("drained", node=name, reason=reason)
        else:
            scene.run.event("not-drained", node=name, reason="it is drained with another's reason")
    for name in decision.held_back:
        scene.run.event("not-drained", node=name, reason="too many nodes failed in one run")
    verdicts = {node.node: node.verdict for node in decision.nodes}
    fleet = scene.request.fleet.nodes
    _note_accepted(scene, accepted_lines(fleet, verdicts, accepted, scene.untested))
    held = held_nodes(fleet, verdicts, accepted, taken.reserved_before, scene.untested)
    _release(scene, held)
    scene.run.event("reserved", nodes=sorted(held))


def stays_accepted(node: Node, accepted: Mapping[str, str], busy: Mapping[str, str]) -> bool:
    """Is it a node of before that this run could not test as users work on it?"""
    return accepted.get(node.name) == node.serial and busy.get(node.name, "").startswith("busy")


def accepted_lines(
    fleet: Iterable[Node],
    verdicts: Mapping[str, Verdict],
    before: Mapping[str, str],
    untested: Mapping[str, str],
) -> dict[str, str]:
    """Return who is accepted now, by name with the serial."""
    return {
        node.name: node.serial
        for node in fleet
        if verdicts.get(node.name) is Verdict.ACCEPTED or stays_accepted(node, before, untested)
    }


def held_nodes(
    fleet: Iterable[Node],
    verdicts: Mapping[str, Verdict],
    before: Mapping[str, str],
    reserved_before: Collection[str],
    untested: Mapping[str, str],
) -> set[str]:
    """Return who stays out of users' reach: all that are not accepted.

    Who is busy with a user's job and was free before stays free.
    """
    return {
        node.name
        for node in fleet
        if verdicts.get(node.name) is not Verdict.ACCEPTED
        and (node.name in reserved_before or not stays_accepted(node, before, untested))
    }


def _note_accepted(scene: Scene, accepted: Mapping[str, str]) -> None:
    text = "".join(f"{name} {serial}\n" for name, serial in sorted(accepted.items()))
    scene.workbench.on_head(_WRITE.format(file=ACCEPTED_FILE), timeout_s=10, stdin=text)
    scene.run.event("accepted", nodes=sorted(accepted))


def _release(scene: Scene, held: Collection[str]) -> None:
    """Shrink the reservation; one in use is asked again, as a step's end takes a moment."""
    for left in reversed(range(_RELEASE_ATTEMPTS)):
        try:
            scene.scheduler.reserve(RESERVATION, held)
        except SchedulerUnavailableError:
            if left == 0:
                raise
            scene.clock.sleep(_PAUSE_S)
        else:
            return
