"""Host lists go there and back without loss."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.converge.hostlist import compress
from muster.schedulers.hostlist import expand

PREFIX = st.from_regex(r"[a-z]([a-z0-9-]{0,6}[a-z-])?", fullmatch=True)
NAME = st.one_of(
    st.builds("{}{}".format, PREFIX, st.integers(0, 3000)),
    st.from_regex(r"[a-z][a-z0-9-]{0,10}", fullmatch=True),
)


@given(st.sets(NAME, max_size=60))
def test_expanding_what_was_compressed_gives_the_same_names(names: set[str]) -> None:
    found = expand(compress(names))
    assert set(found) == names
    assert len(found) == len(names)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["gpu-3", "gpu-1", "gpu-2"], "gpu-[1-3]"),
        (["gpu-1", "gpu-3", "gpu-10"], "gpu-[1,3,10]"),
        (["gpu-1"], "gpu-1"),
        (["n007", "n008"], "n007,n008"),
        (["a1", "b1", "b2", "head"], "head,a1,b[1-2]"),
        ([], ""),
    ],
)
def test_names_are_written_in_short(names: list[str], text: str) -> None:
    assert compress(names) == text


def test_leading_zeros_of_slurms_own_lists_are_kept() -> None:
    assert expand("n[008-010],x") == ("n008", "n009", "n010", "x")


def test_a_thousand_nodes_are_one_short_word() -> None:
    assert compress(f"gpu-{i}" for i in range(1, 1001)) == "gpu-[1-1000]"
