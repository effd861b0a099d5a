"""Medians of many groups at once. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Mask = NDArray[np.bool_]
Index = NDArray[np.int64]


def row_medians(values: Values, mask: Mask, *, high: bool = False) -> tuple[Values, Index]:
    """Return each row's median over the masked values, and how many they are; nan of none.

    `high`: of two in the middle the higher, not their mean.
    """
    rows, columns = values.shape
    count = mask.sum(axis=1)
    if not columns:
        return np.full(rows, np.nan), count
    ordered = np.sort(np.where(mask, values, np.inf), axis=1)
    row = np.arange(rows)
    above = ordered[row, np.minimum(count // 2, columns - 1)]
    below = above if high else ordered[row, np.maximum(count - 1, 0) // 2]
    return np.where(count > 0, (below + above) / 2, np.nan), count


def group_medians(
    values: Values, keys: Index, *, high: bool = False
) -> tuple[Index, Values, Index]:
    """Return the keys that occur, in order, each with its median and its number of values."""
    order = np.lexsort((values, keys))
    keys, values = keys[order], values[order]
    if not len(keys):
        return keys, values, np.zeros(0, dtype=np.int64)
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    count = np.diff(np.append(starts, len(keys)))
    above = values[starts + count // 2]
    below = above if high else values[starts + (count - 1) // 2]
    return keys[starts], (below + above) / 2, count
