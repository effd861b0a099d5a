"""What a preflight rule is given and what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from muster.catalog import Catalog
from muster.findings import Outcome
from muster.plan.aws.model import AwsPlan
from muster.plan.cloud_view import NOTHING_ASKED, CloudView, Unread
from muster.software.model import MatrixRow
from muster.spec import ClusterSpec

Severity = Literal["error", "warning"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What a rule says about one subject. UNKNOWN blocks as FAIL does, unless waived."""

    outcome: Outcome
    what: str
    """Found and expected, one line."""
    path: str
    """Place in the spec, as "pools[0].capacity.block"."""
    do: str = ""
    """What to do about it; required unless it passes."""
    severity: Severity = "error"


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """All that a rule may look at."""

    spec: ClusterSpec
    plan: AwsPlan
    catalog: Catalog
    now: datetime
    cloud: CloudView = NOTHING_ASKED
    """What was read in the cloud; by default nobody asked."""
    software: MatrixRow | None = None
    """The spec's row with what the project adds to it; by default the row as it is shipped."""


Ask = Callable[[View], Iterator[Said]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One reason why a plan may fail. A rule that has nothing to judge says nothing."""

    id: str
    """As "free-addresses"; what a waiver names."""
    title: str
    """The sentence that must be true."""
    source: str
    """Where the rule's figures come from."""
    ask: Ask


def passed(what: str, path: str) -> Said:
    """Say that it is as it must be."""
    return Said(outcome=Outcome.PASS, what=what, path=path)


def failed(what: str, path: str, do: str, *, severity: Severity = "error") -> Said:
    """Say that it would fail, and what to do."""
    return Said(outcome=Outcome.FAIL, what=what, path=path, do=do, severity=severity)


def unknown(what: str, path: str, do: str) -> Said:
    """Say that it could not be told, and how it could be."""
    return Said(outcome=Outcome.UNKNOWN, what=what, path=path, do=do)


def untold(what: str, path: str, do: str, why: Unread) -> Said:
    """Say that it could not be told, since something was not read; `do` says how to look."""
    return because(unknown(what, path, do), why)


def because(said: Said, why: Unread) -> Said:
    """Add to an unknown why something was not read; nothing where nobody asked."""
    if not why.asked:
        return said
    do = f"{why.do} Or look yourself. {said.do}".strip()
    what = said.what.rstrip(".")
    return replace(said, what=f"{what}: {why.why}", do=do)
