"""The verdict for continuous integration: JUnit XML, one suite per node and one for the fleet."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence

from muster.findings import Finding, Outcome
from muster.readiness import ComponentVerdict, NodeReadiness, Readiness, Verdict
from muster.report.model import CUT_SHORT, waiver_of
from muster.report.xml_text import xml_text

_TAG_OF_VERDICT = {
    Verdict.QUARANTINED: "failure",
    Verdict.SUSPECT: "error",
    Verdict.UNTESTED: "error",
}


def render_junit(
    readiness: Readiness | None,
    findings: Sequence[Finding],
    *,
    stack: str,
    nodes: Sequence[str] = (),
) -> str:
    """Write the suites; fail is a failure, unknown an error, a waived finding is skipped.

    Every suite also has a case "verdict", so that a node with no finding at all is never green.
    `nodes` are those that exist; `readiness` None means that the run was cut short.
    """
    verdicts = {} if readiness is None else {node.node: node for node in readiness.nodes}
    names = dict.fromkeys([*nodes, *verdicts, *(f.node for f in findings if f.node)])
    root = ET.Element("testsuites", name=xml_text(f"muster {stack}"))
    _suite(root, "fleet", [*_fleet_cases(readiness), *_cases(findings, node="")])
    for name in names:
        verdict = _node_case(verdicts.get(name), ended=readiness is not None)
        _suite(root, name, [verdict, *_cases(findings, node=name)])
    _count(root, root.iter("testcase"))
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(root: ET.Element, name: str, cases: Sequence[ET.Element]) -> None:
    suite = ET.SubElement(root, "testsuite", name=xml_text(name))
    for case in cases:
        case.set("classname", xml_text(f"{name}.{case.get('classname') or 'muster'}"))
        suite.append(case)
    _count(suite, cases)


def _count(element: ET.Element, cases: Iterable[ET.Element]) -> None:
    counted = list(cases)
    element.set("tests", str(len(counted)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(attribute, str(sum(case.find(tag) is not None for case in counted)))
    element.set("time", f"{sum(float(case.get('time', 0)) for case in counted):.3f}")


def _fleet_cases(readiness: Readiness | None) -> list[ET.Element]:
    if readiness is None:
        return [_case("ready", tag="error", message=CUT_SHORT)]
    tag = "" if readiness.ready else "failure"
    ready = _case("ready", tag=tag, message=readiness.reason)
    return [ready, *(_component_case(c) for c in readiness.fleet)]


def _component_case(component: ComponentVerdict) -> ET.Element:
    tag = _TAG_OF_VERDICT.get(component.verdict, "")
    message = f"{component.component} is {component.verdict}"
    return _case(component.component, tag=tag, message=message, text="\n".join(component.evidence))


def _node_case(node: NodeReadiness | None, *, ended: bool) -> ET.Element:
    if node is None:
        return _case("verdict", tag="error", message="untested: no verdict" if ended else CUT_SHORT)
    at_fault = f" ({node.component})" if node.component else ""
    reasons = "\n".join(node.reasons)
    message = f"{node.verdict}{at_fault}: {'; '.join(node.reasons) or 'no reason given'}"
    return _case(
        "verdict", tag=_TAG_OF_VERDICT.get(node.verdict, ""), message=message, text=reasons
    )


def _cases(findings: Iterable[Finding], *, node: str) -> list[ET.Element]:
    return [_finding_case(finding) for finding in findings if finding.node == node]


def _finding_case(finding: Finding) -> ET.Element:
    waiver = waiver_of(finding)
    tag, message = "", finding.summary
    if finding.outcome is not Outcome.PASS and waiver:
        tag, message = "skipped", f"waived ({waiver}): {finding.summary}"
    elif finding.outcome is Outcome.FAIL:
        tag = "failure"
    elif finding.outcome is Outcome.UNKNOWN:
        tag = "error"
    name = f"{finding.check} {finding.component}" if finding.component else finding.check
    lines = [finding.summary, f"$ {finding.cmd}" if finding.cmd else "", *finding.evidence]
    case = _case(name, tag=tag, message=message, text="\n".join(line for line in lines if line))
    case.set("classname", finding.stage)
    case.set("time", f"{finding.duration_s or 0.0:.3f}")
    return case


def _case(name: str, *, tag: str, message: str, text: str = "") -> ET.Element:
    case = ET.Element("testcase", name=xml_text(name), time="0.000")
    if tag:
        result = ET.SubElement(case, tag, message=xml_text(message))
        if tag != "skipped":
            result.set("type", "fail" if tag == "failure" else "unknown")
        result.text = xml_text(text or message)
    return case
