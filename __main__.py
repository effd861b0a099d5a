"""The Pulumi program: the spec in, the stack of its target out."""

from __future__ import annotations

import pulumi

from muster.catalog import load_catalog
from muster.clock import SystemClock
from muster.errors import MusterError
from muster.project import price_directory
from muster.spec import parse_spec
from stacks import build_stack


def main() -> None:
    """Read the stack's config, check it, and build it."""
    stack = pulumi.get_stack()
    data = pulumi.Config("muster").require_object("cluster")
    catalog = load_catalog(prices=price_directory())
    today = SystemClock().now().date()
    spec = parse_spec(data, where=f"Pulumi.{stack}.yaml", catalog=catalog, today=today)
    for name, value in build_stack(spec, catalog, stack).items():
        pulumi.export(name, value)


try:
    main()
except MusterError as error:
    # A user's mistake: the engine shows the lines of a RunError, and no traceback.
    raise pulumi.RunError(str(error)) from None
