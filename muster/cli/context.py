"""What every verb starts from: the project, the stack's spec, its store and its fleet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from muster.catalog import Catalog, load_catalog
from muster.clock import SystemClock
from muster.engine import Engine
from muster.fleet import Fleet
from muster.project import price_directory, project_directory, store_root
from muster.remote import SshRemote, control_directory
from muster.runstore import RunStore
from muster.spec import ClusterSpec, load_stack_file, parse_spec


@dataclass(frozen=True, kw_only=True)
class Context:
    """One stack of the project in the current directory."""

    stack: str
    project: Path
    catalog: Catalog
    clock: SystemClock
    store: RunStore
    engine: Engine

    @property
    def stack_file(self) -> Path:
        """The stack's config file."""
        return self.project / "stacks" / f"Pulumi.{self.stack}.yaml"

    def spec(self) -> ClusterSpec:
        """Read and check the spec (errors as `load_stack_file` and `parse_spec`)."""
        path, today = self.stack_file, self.clock.now().date()
        data = load_stack_file(path)
        return parse_spec(data, where=path.name, catalog=self.catalog, today=today)

    def remote(self, fleet: Fleet) -> SshRemote:
        """Connect to the fleet's nodes."""
        return SshRemote(fleet, control_directory(self.store.directory))


def open_stack(stack: str) -> Context:
    """Make the context of a stack; nothing is read from the machine yet but the catalog."""
    clock, project = SystemClock(), project_directory()
    return Context(
        stack=stack,
        project=project,
        catalog=load_catalog(prices=price_directory()),
        clock=clock,
        store=RunStore(store_root(), stack, clock),
        engine=Engine(project),
    )
