"""Asking AWS many things side by side, within a time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from botocore.exceptions import ClientError

from muster.clock import Clock
from muster.cloud.gateway import Gateway
from muster.cloud.refusals import code_of, unread
from muster.plan.cloud_view import Unread
from muster.progress import Progress

_WORKERS = 10
"""As many connections as a client of boto3 keeps open."""
_SAY_EVERY_S = 2.0
_TICK_S = 0.01

_Read = TypeVar("_Read")
Found = list[dict[str, Any]]
Answers = Mapping[str, Found | Unread]


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One thing to ask."""

    service: str
    operation: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    of: str = ""
    """Key of the list in the answer; empty where the answer is one thing."""
    absent: frozenset[str] = frozenset()
    """Errors that mean: there is no such thing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """How long reading may take, and who is told where it is when it takes long."""

    clock: Clock
    limit_s: float
    progress: Progress


def ask(gateway: Gateway, question: Question) -> Found | Unread:
    """Ask one thing; whatever goes wrong is a part that was not read."""
    try:
        found: Found = []
        pages = gateway.pages(question.service, question.operation, question.parameters)
        for page in pages:
            found += page[question.of] if question.of else [dict(page)]
    except ClientError as error:
        if code_of(error) in question.absent:
            return []
        return unread(error, question.service, question.operation)
    except Exception as error:  # noqa: BLE001 - one broken answer must not hide the others
        return unread(error, question.service, question.operation)
    return found


def ask_all(
    gateway: Gateway,
    questions: Mapping[str, Question],
    *,
    limit_s: float,
    clock: Clock,
    progress: Progress,
) -> Answers:
    """Ask all, some at a time; what has not answered in time is not read."""
    bounds = Bounds(clock=clock, limit_s=limit_s, progress=progress)
    return side_by_side({n: partial(ask, gateway, q) for n, q in questions.items()}, bounds)


def side_by_side(
    jobs: Mapping[str, Callable[[], _Read]], bounds: Bounds
) -> dict[str, _Read | Unread]:
    """Run readers in threads; what is late is unread. A job must not raise."""
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[str, _Read]] = queue.SimpleQueue()
    for name in jobs:
        waiting.put(name)

    def work() -> None:
        while True:
            try:
                name = waiting.get_nowait()
            except queue.Empty:
                return
            done.put((name, jobs[name]()))

    for _ in range(min(_WORKERS, len(jobs))):
        # Daemons: one that hangs in a read must not keep the process from ending.
        threading.Thread(target=work, daemon=True, name="muster-cloud-read").start()
    late = Unread(f"AWS did not answer within {bounds.limit_s:g} s", "Try again.")
    answers: dict[str, _Read | Unread] = dict.fromkeys(jobs, late)
    found = _collect(done, len(jobs), bounds)
    answers.update(found)
    return answers


def _collect(
    done: queue.SimpleQueue[tuple[str, _Read]], wanted: int, bounds: Bounds
) -> dict[str, _Read]:
    answers: dict[str, _Read] = {}
    clock, started_s = bounds.clock, bounds.clock.monotonic_s()
    say_at_s = started_s + _SAY_EVERY_S
    while len(answers) < wanted:
        now_s = clock.monotonic_s()
        left_s = started_s + bounds.limit_s - now_s
        if left_s <= 0:
            break
        if now_s >= say_at_s:
            bounds.progress(f"reading the cloud: {len(answers)} of {wanted} answers")
            say_at_s = now_s + _SAY_EVERY_S
        try:
            name, answer = done.get(timeout=min(left_s, max(_TICK_S, say_at_s - now_s)))
        except queue.Empty:
            continue
        answers[name] = answer
    return answers
