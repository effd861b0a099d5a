"""What a report is made of, and reading it back from a run's directory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from muster.errors import MusterError
from muster.findings import Finding
from muster.runstore import Run

PAIRS_FILE = "pairs.jsonl"
EVENTS_FILE = "events.jsonl"
CUT_SHORT = "the run was cut short before it reached a verdict"

_DEEDS = {
    "reserved": "kept in the reservation, out of users' reach",
    "not-drained": "not drained",
    "resumed": "let back in to be tested",
}

PairKind = Literal["intra", "cross"]
"""Both nodes at one leaf, or the path goes over the spine."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PairValue:
    """One measurement of two nodes against each other.

    `value_bps` is bytes per second, the lower of both directions; `rail` None means all rails
    together. `valid` False: the test broke; its value says nothing about the link.
    """

    round: int
    a: str
    b: str
    rail: int | None
    value_bps: float | None
    valid: bool
    retransmits: int | None
    kind: PairKind


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """Something that was done during the run, as "drained"; `data` is what else was noted."""

    ts: datetime
    kind: str
    data: Mapping[str, Any]

    @property
    def deed(self) -> str:
        """What was done, in words."""
        return _DEEDS.get(self.kind, self.kind)

    @property
    def reason(self) -> str:
        """Why it was done, where that was noted."""
        return str(self.data.get("reason", ""))

    def concerns(self, subject: str) -> bool:
        """Was it done to this node or component?"""
        if subject in {self.data.get("node"), self.data.get("component")}:
            return True
        nodes = self.data.get("nodes")
        return isinstance(nodes, list | tuple) and subject in nodes


_Line = TypeVar("_Line", bound=BaseModel)
_Value = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _PairLine(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    round: int = Field(ge=0)
    a: str
    b: str
    rail: int | None = Field(ge=0)
    value_bps: _Value | None
    valid: bool
    counters: dict[str, float] = Field(default_factory=dict)
    kind: PairKind


class _EventLine(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")

    ts: datetime
    run_id: str = ""
    kind: str


def waiver_of(finding: Finding) -> str:
    """Return why and until when the finding is let through, or "" where nobody waived it."""
    waiver = finding.params.get("waiver", "")
    return waiver if isinstance(waiver, str) else str(waiver)


def load_pairs(run: Run) -> tuple[PairValue, ...]:
    """Read pairs.jsonl: one JSON object a line, keys as `PairValue` with `counters` in it.

    Raises:
        MusterError: a whole line is not what it should be (a last line cut by a kill is left out).

    """
    return tuple(_pair_value(line) for line in _read(run.directory / PAIRS_FILE, _PairLine))


def load_events(run: Run) -> tuple[Event, ...]:
    """Read events.jsonl, in the order in which things were done (errors as `load_pairs`)."""
    lines = _read(run.directory / EVENTS_FILE, _EventLine)
    return tuple(Event(ts=e.ts, kind=e.kind, data=e.model_extra or {}) for e in lines)


def _pair_value(line: _PairLine) -> PairValue:
    retransmits = line.counters.get("retransmits")
    return PairValue(
        round=line.round,
        a=line.a,
        b=line.b,
        rail=line.rail,
        value_bps=line.value_bps,
        valid=line.valid,
        retransmits=None if retransmits is None else int(retransmits),
        kind=line.kind,
    )


def _read(path: Path, model: type[_Line]) -> Iterator[_Line]:
    if not path.is_file():
        return
    # What follows the last newline was cut short by a kill, or is empty.
    for number, text in enumerate(
        path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1], start=1
    ):
        if not text:
            continue
        try:
            yield model.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"])
            what = f"{field}: {first['msg']}" if field else first["msg"]
            raise MusterError(what, where=f"{path}:{number}") from error
