"""What preflight says: for a terminal, a pull request, and programs. Pure."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from typing import Any
from urllib.parse import quote

from muster.findings import Outcome
from muster.plan.rules.run import Preflight, Result, Standing
from muster.report.xml_text import xml_text

_WORDS: dict[Standing, str] = {
    "fail": "FAIL",
    "unknown": "UNKNOWN",
    "warning": "WARNING",
    "waived": "WAIVED",
}
_VERDICTS = {
    Outcome.PASS: ("✅", "nothing stands against it"),
    Outcome.FAIL: ("❌", "it would fail"),
    Outcome.UNKNOWN: ("❓", "it could not be told whether it would fail"),
}
_SARIF_LEVELS: dict[Standing, str] = {
    "fail": "error",
    # Unknown blocks as a failure does; a lower level would be folded away.
    "unknown": "error",
    "warning": "warning",
    "waived": "note",
}
_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_MARKDOWN = re.compile(r"[\\`*_\[\]<>#|~@&]")


def as_text(found: Preflight) -> str:
    """Write a line for each result that matters, the worst first; passes are only counted."""
    lines = [
        f"{found.outcome.upper()}  preflight of {_one_line(found.stack)}: {_verdict(found)[1]}"
    ]
    worth = [result for standing in _WORDS for result in found.of(standing)]
    columns = zip(*map(_cells, worth), strict=True)
    widths = [max(len(cell) for cell in column) for column in columns]
    for result in worth:
        cells = zip(_cells(result), widths, strict=True)
        lines.append("  ".join(cell.ljust(width) for cell, width in cells) + f"  {_said(result)}")
        if result.said.do:
            lines.append(f"{' ' * (sum(widths) + 6)}-> {_one_line(result.said.do)}")
    return "\n".join([*lines, _counted(found)]) + "\n"


def _cells(result: Result) -> tuple[str, str, str]:
    return _WORDS[result.standing], result.rule, _one_line(result.said.path)


def _said(result: Result) -> str:
    what = _one_line(result.said.what)
    if result.standing == "waived" and result.waiver:
        return f"{what} (waived until {result.waiver.until}: {_one_line(result.waiver.reason)})"
    return what


def _one_line(text: str) -> str:
    """Keep to one line, and keep control sequences from the terminal."""
    line = " ".join(text.split())
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in line)


def _verdict(found: Preflight) -> tuple[str, str]:
    return _VERDICTS[found.outcome] if found.results else ("❓", "no rule judged it")


def _counted(found: Preflight) -> str:
    return ", ".join(f"{number} {standing}" for standing, number in found.counts.items())


def as_document(found: Preflight) -> dict[str, Any]:
    """Return all results as data, for JSON."""
    return {
        "apiVersion": "muster/v1",
        "kind": "Preflight",
        "stack": found.stack,
        "outcome": found.outcome.value,
        "counts": dict(found.counts),
        "results": [_as_data(result) for result in found.results],
    }


def _as_data(result: Result) -> dict[str, Any]:
    said, waiver = result.said, result.waiver
    return {
        "rule": result.rule,
        "title": result.title,
        "source": result.source,
        "standing": result.standing,
        "outcome": said.outcome.value,
        "severity": said.severity,
        "path": said.path,
        "what": said.what,
        "do": said.do,
        "waiver": waiver and {"reason": waiver.reason, "until": waiver.until.isoformat()},
    }


def as_markdown(found: Preflight) -> str:
    """Write one comment for a pull request: the verdict, failures, and the rest folded away."""
    sign, words = _verdict(found)
    parts = [f"### {sign} Preflight of {_escaped(found.stack)}: {words}", _counted(found)]
    if found.of("fail"):
        parts.append(_table(found.of("fail")))
    folds: tuple[tuple[Standing, str], ...] = (
        ("unknown", "could not be told"),
        ("warning", "only a warning"),
        ("waived", "waived"),
    )
    for standing, title in folds:
        results = found.of(standing)
        if results:
            summary = f"<summary>{len(results)} {title}</summary>"
            parts.append(f"<details>{summary}\n\n{_table(results)}\n\n</details>")
    return "\n\n".join(parts) + "\n"


def _table(results: tuple[Result, ...]) -> str:
    rows = ["| Rule | Where | Found | What to do |", "|---|---|---|---|"]
    for result in results:
        cells = (result.rule, result.said.path, _said(result), result.said.do)
        rows.append(f"| {' | '.join(_escaped(cell) for cell in cells)} |")
    return "\n".join(rows)


def _escaped(text: str) -> str:
    """Show a text as it stands: no markup, no cell's end, nobody mentioned."""
    return _MARKDOWN.sub(lambda found: f"&#{ord(found[0])};", _one_line(text))


def as_junit(found: Preflight) -> str:
    """Write JUnit XML: a fail is a failure, unknown an error, what is waived is skipped."""
    suite = ET.Element("testsuite", name=xml_text(f"preflight {found.stack}"))
    for result in found.results:
        suite.append(_case(result))
    if not found.results:
        case = ET.SubElement(suite, "testcase", name="rules", classname="preflight", time="0")
        ET.SubElement(case, "error", message="no rule judged the plan", type="unknown")
    root = ET.Element("testsuites", name=xml_text(f"muster {found.stack}"))
    for element in (root, suite):
        element.set("tests", str(len(suite)))
        for attribute, tag in (("failures", "failure"), ("errors", "error")):
            element.set(attribute, str(len(suite.findall(f"testcase/{tag}"))))
        element.set("skipped", str(len(suite.findall("testcase/skipped"))))
        element.set("time", "0")
    root.append(suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _case(result: Result) -> ET.Element:
    said = result.said
    name = xml_text(f"{result.rule} {said.path}")
    case = ET.Element(
        "testcase", name=name, classname=f"preflight.{xml_text(result.rule)}", time="0"
    )
    message, text = xml_text(_said(result)), xml_text(f"{result.title}\n{said.what}\n-> {said.do}")
    if result.standing == "waived":
        ET.SubElement(case, "skipped", message=message)
    elif result.standing == "warning":
        ET.SubElement(case, "system-out").text = f"warning: {text}"
    elif result.standing != "pass":
        tag = "failure" if result.standing == "fail" else "error"
        ET.SubElement(case, tag, message=message, type=result.standing).text = text
    return case


def as_sarif(found: Preflight, *, file: str) -> str:
    """Write SARIF 2.1.0 for code scanning; `file` is the stack file, relative to the repository."""
    results = [r for r in found.results if r.standing != "pass"]
    rules = list({result.rule: result for result in found.results}.values())
    places = {result.rule: number for number, result in enumerate(rules)}
    run = {
        "tool": {"driver": {"name": "muster", "rules": [_sarif_rule(rule) for rule in rules]}},
        "invocations": [{"executionSuccessful": bool(found.results)}],
        "results": [_sarif_result(result, places[result.rule], file) for result in results],
        "properties": {"stack": found.stack, "outcome": found.outcome.value},
    }
    return (
        json.dumps({"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"
    )


def _sarif_rule(result: Result) -> dict[str, Any]:
    return {
        "id": result.rule,
        "shortDescription": {"text": result.title},
        "help": {"text": f"Source: {result.source}"},
    }


def _sarif_result(result: Result, place: int, file: str) -> dict[str, Any]:
    said = result.said
    begin = "Could not be told: " if result.standing == "unknown" else ""
    where = {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(file)},
            "region": {"startLine": 1},
        },
        "logicalLocations": [{"fullyQualifiedName": f"muster:cluster.{said.path}"}],
    }
    document: dict[str, Any] = {
        "ruleId": result.rule,
        "ruleIndex": place,
        "level": _SARIF_LEVELS[result.standing],
        "message": {"text": f"{begin}{said.path}: {said.what}. {said.do}"},
        "locations": [where],
        # Without it, all that stands on one line counts as the same alert.
        "partialFingerprints": {"ruleAndPath/v1": f"{result.rule} {said.path}"},
        "properties": {"outcome": said.outcome.value},
    }
    if result.waiver:
        reason = f"{result.waiver.reason} (until {result.waiver.until})"
        suppression = {"kind": "external", "status": "accepted", "justification": reason}
        document["suppressions"] = [suppression]
    return document
