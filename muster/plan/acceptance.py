"""Which acceptance policy does a spec ask for: a preset, or one with changes of its own? Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muster.acceptance.policy import AcceptancePolicy, load_policy
from muster.catalog import Catalog
from muster.spec import Acceptance, PolicyTable


def plan_policy(
    policy: str | PolicyTable | Mapping[str, Any], catalog: Catalog
) -> AcceptancePolicy:
    """Turn `acceptance.policy`, as parsed or as it is written in a spec, into the policy to run.

    Deadlines grow with what they bound, so that a longer test is not cut off as a hung one.
    """
    wanted = Acceptance.model_validate({"policy": policy}).policy
    if isinstance(wanted, str):
        return load_policy(wanted, catalog)
    base = load_policy(wanted.base, catalog)
    changes: dict[str, Any] = {
        "name": f"{base.name}, changed",
        "local": {**base.local.model_dump(), **_local(wanted, base)},
        "pairs": {**base.pairs.model_dump(), **_pairs(wanted)},
        "group": {**base.group.model_dump(), **_group(wanted, base)},
    }
    return AcceptancePolicy.model_validate({**base.model_dump(), **changes})


def _local(wanted: PolicyTable, base: AcceptancePolicy) -> dict[str, Any]:
    if wanted.local_windows is None:
        return {}
    growth = max(1.0, wanted.local_windows / base.local.windows)
    return {"windows": wanted.local_windows, "node_seconds": base.local.node_seconds * growth}


def _pairs(wanted: PolicyTable) -> dict[str, Any]:
    """Return the changes; a round's deadline follows from its seconds by itself."""
    changes: dict[str, Any] = {
        "intra_rounds": wanted.intra_leaf_rounds,
        "cross_rounds": wanted.cross_leaf_rounds,
        "confirm_rounds": wanted.confirm_rounds,
        "seconds": wanted.pair_seconds,
    }
    return {key: value for key, value in changes.items() if value is not None}


def _group(wanted: PolicyTable, base: AcceptancePolicy) -> dict[str, Any]:
    if wanted.group_iterations is None:
        return {}
    growth = max(1.0, wanted.group_iterations / base.group.iterations)
    return {"iterations": wanted.group_iterations, "seconds": base.group.seconds * growth}
