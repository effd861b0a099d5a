"""The reference page and the schema say what the models do."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import yaml

from muster.catalog import load_catalog
from muster.spec import json_schema, parse_spec

ROOT = Path(__file__).parents[3]


def test_the_json_schema_in_the_docs_is_this_one() -> None:
    path = ROOT / "docs" / "reference" / "spec.schema.json"
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert kept == json_schema(), "write json_schema() to docs/reference/spec.schema.json"


def test_every_key_of_the_schema_is_described_in_the_docs() -> None:
    text = (ROOT / "docs" / "reference" / "spec.md").read_text(encoding="utf-8")
    schema = json_schema()
    for section in [schema, *schema["$defs"].values()]:
        for key, about in section.get("properties", {}).items():
            assert f"`{key}`" in text, key
            assert about.get("description"), key


def test_the_example_in_the_docs_is_good() -> None:
    text = (ROOT / "docs" / "reference" / "spec.md").read_text(encoding="utf-8")
    examples = [part.split("```")[0] for part in text.split("```yaml\n")[1:]]
    assert examples
    for example in examples:
        data = yaml.safe_load(example)["config"]["muster:cluster"]
        parse_spec(data, where="spec.md", catalog=load_catalog(), today=date(2026, 11, 21))
