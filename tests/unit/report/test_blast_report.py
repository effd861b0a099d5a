"""What a person and a program read of a blast radius."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
import yaml

from muster.plan.blast import Blast
from muster.report.blast import blast_as_document, blast_as_markdown, blast_as_text
from tests.conftest import Golden
from tests.unit.plan.blasts import (
    FILE_SYSTEM,
    LINK,
    RESERVATION,
    acknowledge,
    blast_of,
    preview_of,
    recorded,
    step,
)

SCENES = {
    "file-system-replaced": lambda: recorded("aws_file_system_replaced"),
    "file-system-acknowledged": lambda: recorded(
        "aws_file_system_replaced", acknowledge(FILE_SYSTEM), acknowledge(LINK)
    ),
    "reservation-deleted": lambda: recorded(
        "aws_reservation_deleted",
        acknowledge(RESERVATION, date(2026, 11, 1)),
        acknowledge(FILE_SYSTEM),
    ),
    "launch-template": lambda: recorded("aws_new_launch_template_version"),
    "stopped": lambda: recorded("engine_protected"),
}


def blast_with_urn(name: str, **before: Any) -> Blast:
    return blast_of(preview_of(step("delete", "aws:s3/bucket:Bucket", before, name=name)))


@pytest.mark.parametrize("name", SCENES)
def test_comment_on_a_known_change_is_as_reviewed(name: str, golden: Golden) -> None:
    golden(f"blast/{name}.md", blast_as_markdown(SCENES[name]()))


@pytest.mark.parametrize("name", SCENES)
def test_text_on_a_known_change_is_as_reviewed(name: str, golden: Golden) -> None:
    golden(f"blast/{name}.txt", blast_as_text(SCENES[name]()))


def test_a_comment_begins_with_a_red_verdict_and_names_urn_and_terabytes() -> None:
    written = blast_as_markdown(recorded("aws_file_system_replaced"))
    assert written.startswith("🔴 **Blocked: 2 of 5 changes need an acknowledgement**\n")
    assert f"`{FILE_SYSTEM}` | loses data | " in written
    assert "46.9 TiB" in written


@pytest.mark.parametrize(
    ("name", "sign"),
    [("file-system-acknowledged", "🟢"), ("launch-template", "🟢"), ("stopped", "🟡")],
)
def test_each_outcome_has_its_own_colour(name: str, sign: str) -> None:
    assert blast_as_markdown(SCENES[name]()).startswith(sign)


def test_what_is_to_be_written_into_the_spec_can_be_copied_from_the_comment() -> None:
    blast = recorded("aws_file_system_replaced")
    block = blast_as_markdown(blast).split("```yaml\n")[1].split("```")[0]
    rows = yaml.safe_load(block)["preflight"]["acknowledge"]
    assert [row["urn"] for row in rows] == [change.urn for change in blast.blocked]


def test_a_harmless_change_of_a_guarded_type_says_why_it_is_blocked() -> None:
    tagged = step("update", "aws:ec2/vpc:Vpc", {"tags": {}}, {"tags": {"owner": "me"}})
    assert "| in place | – | update: tags (guarded type) |" in blast_as_markdown(  # noqa: RUF001
        blast_of(preview_of(tagged))
    )


def test_names_cannot_break_out_of_the_table() -> None:
    blast = blast_with_urn("a|b`c\n# d", bucket="x")
    line = next(row for row in blast_as_markdown(blast).splitlines() if "loses data" in row)
    assert line.replace("\\|", "").count("|") == 5
    assert "\n# d" not in blast_as_markdown(blast)
    assert "c # d` | loses data" in line


def test_free_text_is_no_markup() -> None:
    known = acknowledge(RESERVATION).model_copy(update={"reason": "<img> @all | `x`"})
    written = blast_as_markdown(recorded("aws_reservation_deleted", known))
    assert "&lt;img> &#64;all \\| 'x'" in written


def test_a_long_list_of_harmless_changes_is_cut_but_never_what_is_blocked() -> None:
    nodes = [step("create", "muster:lab:Node", name=f"n{number}") for number in range(150)]
    buckets = [step("delete", "aws:s3/bucket:Bucket", name=f"b{n}") for n in range(150)]
    written = blast_as_markdown(blast_of(preview_of(*nodes, *buckets)))
    assert written.count("muster:lab:Node::") == 100
    assert "50 more are not shown." in written
    assert written.count("| loses data |") == 150


def test_a_document_holds_outcome_losses_and_idle_acknowledgements() -> None:
    blast = SCENES["reservation-deleted"]()
    found = json.loads(json.dumps(blast_as_document(blast)))
    assert (found["kind"], found["outcome"]) == ("Blast", "fail")
    assert [(row["urn"], row["effect"]) for row in found["blocked"]] == [
        (RESERVATION, "loses reservation")
    ]
    assert [row["urn"] for row in found["expired"]] == [RESERVATION]
    assert [row["urn"] for row in found["unused"]] == [FILE_SYSTEM]
    assert found["acknowledged"] == []


def test_a_document_repeats_who_may_lose_what_and_why() -> None:
    found = blast_as_document(SCENES["file-system-acknowledged"]())
    assert found["outcome"] == "pass"
    assert found["acknowledged"][0]["acknowledgement"]["until"] == "2026-12-01"
    assert len(found["others"]) == 3


def test_nothing_changes_is_said_in_words() -> None:
    assert blast_as_text(blast_of(preview_of(step("same", "muster:lab:Node")))) == (
        "Nothing changes\n"
    )
