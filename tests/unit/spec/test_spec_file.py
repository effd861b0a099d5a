"""What can be wrong with the file itself gets one line with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.errors import UsageError
from muster.spec import load_stack_file


def write(directory: Path, text: str) -> Path:
    path = directory / "Pulumi.x.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_value_of_the_key_is_returned_unchecked(tmp_path: Path) -> None:
    path = write(tmp_path, "config:\n  aws:region: us-east-2\n  muster:cluster: {target: moon}\n")
    assert load_stack_file(path) == {"target": "moon"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("config:\n  a: [1\n  b: 2\n", r"Pulumi\.x\.yaml:3:\d+: "),
        ("config:\n\ta: 1\n", r"Pulumi\.x\.yaml:2:1: "),
        ("config:\n  a: 1\n  a: 2\n", r"Pulumi\.x\.yaml:3:3: key 'a' is given twice"),
        ("config: {muster:cluster: {x: !!python/object:os.system 1}}", r"Pulumi\.x\.yaml:1:\d+: "),
        ("config: {[1]: 2}", r"Pulumi\.x\.yaml:1:\d+: "),
        ("", "has no mapping `config`. Put muster:cluster under it"),
        ("- 1\n", "has no mapping `config`"),
        ("config: 5\n", "has no mapping `config`"),
        (
            "config: {muster:clutser: {}}\n",
            r"config has no muster:cluster. Did you mean muster:clutser",
        ),
        ("config: {5: 6}\n", "config has no muster:cluster"),
        ("a: \x07\n", "not YAML"),
        ("config: {muster:cluster: 2026-99-99}\n", "not YAML"),
        ("[" * 5000, "not YAML"),
    ],
)
def test_a_broken_file_gives_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        load_stack_file(write(tmp_path, text))
    assert "\n" not in str(raised.value)


def test_a_missing_file_names_those_that_are_there(tmp_path: Path) -> None:
    write(tmp_path, "")
    with pytest.raises(UsageError, match=r"no such file\. There: Pulumi\.x\.yaml"):
        load_stack_file(tmp_path / "Pulumi.y.yaml")


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    path = tmp_path / "Pulumi.x.yaml"
    path.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(UsageError, match="cannot be read"):
        load_stack_file(path)
    with pytest.raises(UsageError, match="cannot be read"):
        load_stack_file(tmp_path)
