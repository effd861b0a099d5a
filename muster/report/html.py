"""The report that people read: one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from muster.findings import Finding
from muster.fleet import Fleet
from muster.readiness import Readiness, Verdict
from muster.report.drawing import draw_fabric
from muster.report.excerpt import Excerpt, excerpt_about, pair_table
from muster.report.links import measure_links
from muster.report.matrix import SYMBOLS, build_matrix, node_names, state_of
from muster.report.model import CUT_SHORT, PAIRS_FILE, Event, PairValue
from muster.report.problems import Problem, build_problems
from muster.report.reason import lead_of
from muster.report.strips import AXIS_Y, HEIGHT, WIDTH, check_strips, pair_strips

_TEMPLATES = Path(__file__).parents[2] / "templates" / "report"
_NAMED_MAX = 8
_VERDICTS = {"pass": "Ready", "fail": "Not ready", "unknown": "Not proved ready"}
_EVENTS_MAX = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Tile:
    """One number of the summary; state colours it where it is not zero."""

    label: str
    value: str
    state: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Header:
    """The verdict, before anything else. State is pass, fail or unknown."""

    verdict: str
    state: str
    reason: str
    details: str
    """All of the reason, where it is long."""
    symbol: str
    stack: str
    run: str
    time: str
    duration: str
    target: str


def render_html(
    readiness: Readiness | None,
    findings: Sequence[Finding],
    fleet: Fleet,
    measurements: Sequence[PairValue],
    events: Sequence[Event],
    *,
    run_id: str = "",
    evidence: Mapping[str, str] | None = None,
    simulated: bool = False,
) -> str:
    """Render the report of a run; `readiness` None means that it was cut short.

    `evidence` maps the paths that findings cite to the text there. `simulated` says that the GPUs
    and links are stand-ins, so that no number here speaks of real hardware.
    """
    links = measure_links(measurements, fleet.leaves())

    def show(finding: Finding, path: str) -> Excerpt | None:
        if path == PAIRS_FILE and finding.node:
            return pair_table(finding.node, measurements, links)
        text = (evidence or {}).get(path, "")
        return excerpt_about(text, f"{finding.check} {finding.summary}") if text else None

    problems = build_problems(fleet, readiness, findings, events, show)
    strips = (*check_strips(findings), *pair_strips(measurements, links))
    script = _script()
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            header=_header(readiness, fleet, run_id, events),
            tiles=_tiles(readiness, fleet, findings),
            problems=problems,
            problem_anchors=_anchors(problems),
            matrix=build_matrix(fleet, readiness, findings),
            fabric=draw_fabric(fleet, readiness, links),
            measured=bool(measurements),
            strips=strips,
            strip_size={"width": WIDTH, "height": HEIGHT, "axis_y": AXIS_Y},
            timeline=[
                (f"{e.ts:%H:%M:%S}", e.kind, _say_data(e.data)) for e in events[:_EVENTS_MAX]
            ],
            events_left_out=max(len(events) - _EVENTS_MAX, 0),
            symbols=SYMBOLS,
            simulated=simulated,
            script=script,
            script_hash=_hash(script),
        )
    )


def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _script() -> str:
    return (_TEMPLATES / "report.js").read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """Let the page run this script and no other, whatever a finding smuggles in."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _header(
    readiness: Readiness | None, fleet: Fleet, run_id: str, events: Sequence[Event]
) -> Header:
    if readiness is None:
        last = f" Last seen: {events[-1].kind} at {events[-1].ts:%H:%M:%S} UTC." if events else ""
        return Header(
            verdict="No verdict",
            state="unknown",
            reason=f"{CUT_SHORT[0].upper()}{CUT_SHORT[1:]}; nothing here proves a node.{last}",
            details="",
            symbol=SYMBOLS["unknown"],
            stack=fleet.stack,
            run=run_id,
            time=f"{events[-1].ts:%Y-%m-%d %H:%M UTC}" if events else "",
            duration="",
            target=fleet.target,
        )
    state = "pass" if readiness.ready else _state_of_not_ready(readiness)
    lead = lead_of(readiness.reason)
    return Header(
        verdict=_VERDICTS[state],
        state=state,
        reason=lead,
        details="" if lead == readiness.reason else readiness.reason,
        symbol=SYMBOLS[state],
        stack=readiness.stack,
        run=readiness.run,
        time=f"{readiness.time:%Y-%m-%d %H:%M UTC}",
        duration=_say_duration(readiness.time - events[0].ts) if events else "",
        target=fleet.target,
    )


def _state_of_not_ready(readiness: Readiness) -> str:
    """Tell what is known to be bad from what could only not be shown to be good."""
    verdicts = {n.verdict for n in readiness.nodes} | {c.verdict for c in readiness.fleet}
    unproved = verdicts <= {Verdict.ACCEPTED, Verdict.UNTESTED} and Verdict.UNTESTED in verdicts
    return "unknown" if unproved else "fail"


def _say_duration(took: timedelta) -> str:
    minutes, seconds = divmod(max(round(took.total_seconds()), 0), 60)
    return f"{minutes} min {seconds:02} s" if minutes else f"{seconds} s"


def _tiles(
    readiness: Readiness | None, fleet: Fleet, findings: Sequence[Finding]
) -> tuple[Tile, ...]:
    states = [state_of(finding) for finding in findings]
    checks = [
        Tile(label="checks passed", value=str(states.count("pass"))),
        Tile(label="checks failed", value=str(states.count("fail")), state="fail"),
        Tile(label="checks unknown", value=str(states.count("unknown")), state="unknown"),
    ]
    if "waived" in states:
        checks.append(
            Tile(label="checks waived", value=str(states.count("waived")), state="unknown")
        )
    if readiness is None:
        seen = len(node_names(fleet, None, findings))
        return (Tile(label="nodes", value=str(seen)), *checks)
    nodes = [
        Tile(label="nodes accepted", value=f"{readiness.accepted} of {readiness.wanted}"),
        Tile(label="quarantined", value=str(readiness.quarantined), state="fail"),
        Tile(label="suspect", value=str(readiness.suspect), state="unknown"),
        Tile(label="untested", value=str(readiness.untested), state="unknown"),
    ]
    return (*nodes, *checks)


def _anchors(problems: Sequence[Problem]) -> dict[str, str]:
    """Return the card of each node, for links from the matrix."""
    return {
        node: f"problem-{place}"
        for place, problem in enumerate(problems, start=1)
        for node in problem.nodes
    }


def _say_data(data: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {_say_value(value)}" for key, value in sorted(data.items()))


def _say_value(value: Any) -> str:
    if not isinstance(value, list):
        return lead_of(str(value))
    named = ", ".join(map(str, value[:_NAMED_MAX])) or "none"
    return f"{named} and {len(value) - _NAMED_MAX} more" if len(value) > _NAMED_MAX else named
