"""What the AWS stack is made with: read with its sources."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import muster.catalog
from muster.catalog.aws_stack import load_aws_stack
from muster.catalog.model import CatalogError

HERE = Path(muster.catalog.__file__).parent


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("most: 10, source: muster-choice", "most: 10, source: hearsay"),
        ("most_bytes: 16384", "most_bytes: 0"),
        ("slurm_hops", "hops"),
    ],
    ids=["no source", "nothing", "unknown key"],
)
def test_a_wrong_value_or_source_is_refused(tmp_path: Path, old: str, new: str) -> None:
    shutil.copy(HERE / "sources.yaml", tmp_path)
    text = (HERE / "aws_stack.yaml").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "aws_stack.yaml").write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(CatalogError, match=r"aws_stack\.yaml"):
        load_aws_stack(tmp_path)


def test_the_file_is_read() -> None:
    assert load_aws_stack().user_data.most_bytes == 16384
