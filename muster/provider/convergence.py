"""The playbooks as a resource: re-run when their content, the fleet or a boot changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from muster import stages
from muster.catalog import load_catalog
from muster.clock import Clock
from muster.fleet import Fleet
from muster.progress import Progress
from muster.provider.handler import Handler, Properties
from muster.runstore import RunStore


class ConvergenceHandler(Handler):
    """One converge of the whole fleet."""

    resource_type = "muster:index:Convergence"
    computed = ("stamp", "changed", "failed", "log")
    replace_on = frozenset({"stack"})

    def __init__(self, root: Path, clock: Clock) -> None:
        self._root = root
        self._clock = clock

    def damage(self, state: Mapping[str, Any]) -> list[str]:
        """Nodes that failed are tried again by the next `up`."""
        return ["failed"] if state.get("failed") else []

    def create(self, name: str, inputs: Properties, progress: Progress) -> tuple[str, Properties]:
        """Run the playbooks; what a killed run began, this one finishes."""
        del name
        fleet = Fleet.model_validate(inputs["fleet"])
        done = stages.converge(fleet, self._edges(inputs["stack"]), progress)
        return inputs["stack"], {
            **inputs,
            "stamp": done.stamp,
            "changed": done.changed,
            "failed": dict(done.failed),
            "log": str(done.log),
        }

    def read(self, resource_id: str, state: Properties) -> Properties:
        """Keep the state: `muster converge --check` says what drifted."""
        del resource_id
        return state

    def update(
        self, resource_id: str, old: Properties, inputs: Properties, progress: Progress
    ) -> Properties:
        """Run the playbooks again."""
        del resource_id, old
        return self.create("", inputs, progress)[1]

    def delete(self, resource_id: str, state: Properties, progress: Progress) -> None:
        """Forget the fleet; nodes take what was installed with them."""
        del state, progress
        RunStore(self._root, resource_id, self._clock).fleet_path.unlink(missing_ok=True)

    def _edges(self, stack: str) -> stages.Edges:
        store = RunStore(self._root, stack, self._clock)
        return stages.Edges(store=store, catalog=load_catalog(), clock=self._clock)
