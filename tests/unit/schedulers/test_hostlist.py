"""Host list expressions name exactly the nodes that Slurm means."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.schedulers.hostlist import HostListError, expand

NAMES = st.from_regex(r"[a-z]{1,5}-?", fullmatch=True)


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("head", ("head",)),
        ("gpu-[1-3,7]", ("gpu-1", "gpu-2", "gpu-3", "gpu-7")),
        ("n[008-011]", ("n008", "n009", "n010", "n011")),
        ("a[1-2],b,c[5]", ("a1", "a2", "b", "c5")),
        ("r[1-2]n[1-2]", ("r1n1", "r1n2", "r2n1", "r2n2")),
        ("(null)", ()),
        ("", ()),
    ],
)
def test_an_expression_is_expanded_in_order(expression: str, names: tuple[str, ...]) -> None:
    assert expand(expression) == names


@pytest.mark.parametrize(
    "expression", ["gpu-[1-", "gpu-1]", "a[3-1]", "a[x]", "a,,b", "a[1-999999]"]
)
def test_what_slurm_never_prints_is_refused(expression: str) -> None:
    with pytest.raises(HostListError):
        expand(expression)


@given(NAMES, st.integers(0, 500), st.integers(0, 50), st.integers(0, 4))
def test_a_range_has_every_number_once_with_its_width(
    prefix: str, first: int, more: int, width: int
) -> None:
    low, high = f"{first:0{width}d}", f"{first + more:0{width}d}"
    found = expand(f"{prefix}[{low}-{high}]")
    assert [int(name.removeprefix(prefix)) for name in found] == list(
        range(first, first + more + 1)
    )
    assert len(set(found)) == more + 1


@given(st.text(alphabet="ab01[],-()", max_size=20))
def test_any_text_gives_names_or_one_clear_error(text: str) -> None:
    with contextlib.suppress(HostListError):
        assert all(expand(text))
