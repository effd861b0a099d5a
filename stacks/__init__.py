"""One module per target: from a checked spec to Pulumi resources and the stack's outputs."""

from __future__ import annotations

from typing import Any

from muster.catalog import Catalog
from muster.errors import UsageError
from muster.spec import ClusterSpec
from stacks import aws, lab
from stacks.policing import Police

_TARGETS = {"aws": aws.build, "lab": lab.build}


def build_stack(spec: ClusterSpec, catalog: Catalog, stack: str) -> dict[str, Any]:
    """Create the stack's resources, each held against the policies; returns its outputs.

    Raises:
        UsageError: the target has no stack yet.

    """
    build = _TARGETS.get(spec.target)
    if build is None:
        what = f"target {spec.target!r} has no stack yet"
        raise UsageError(
            what, where="muster:cluster.target", hint="Use `target: aws` or `target: lab`."
        )
    police = Police.begin(catalog)
    return police.outputs(build(spec, catalog, stack))
