"""`muster`: maps errors to one line and an exit status; the verbs are in the modules beside.

Exit status: 0 pass, 1 fail, 2 wrong usage or spec, 3 could not tell.
"""

from __future__ import annotations

import sys

import typer

from muster.cli import (
    bundle,
    capacity,
    capacity_show,
    catalog_refresh,
    doctor,
    lab,
    lifecycle,
    nodes,
    plan,
    rolling,
    simulate,
    software,
    stages,
    views,
)
from muster.errors import MusterError

app = typer.Typer(
    name="muster",
    help="Bring up a GPU cluster, prove every node and link, and say which are not ready.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

app.command()(doctor.doctor)
app.command()(plan.plan)
app.command()(lifecycle.up)
app.command()(lifecycle.down)
app.command()(stages.converge)
app.command()(bundle.bundle)
app.command()(bundle.boot)
app.command()(rolling.rolling)
app.command()(stages.accept)
app.command(epilog=simulate.EPILOG)(simulate.simulate)
app.command()(views.status)
app.command()(views.report)
app.command()(nodes.ssh)
app.command()(nodes.quarantine)
app.command()(nodes.release)
app.command()(nodes.replace)
views.catalog_app.command("refresh")(catalog_refresh.catalog_refresh)
app.add_typer(views.catalog_app, name="catalog")
app.add_typer(views.spec_app, name="spec")
capacity.capacity_app.command("show")(capacity_show.show)
app.add_typer(capacity.capacity_app, name="capacity")
app.add_typer(software.app, name="software")
app.add_typer(lab.app, name="lab")


def main() -> None:
    """Run the command line."""
    try:
        app()
    except MusterError as error:
        for line in error.lines():
            sys.stderr.write(f"muster: {line}\n")
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
