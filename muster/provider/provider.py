"""The provider: finds the handler of a resource type and runs it beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from pulumi.provider.experimental import provider as api

import muster
from muster.errors import MusterError
from muster.progress import Progress
from muster.provider.engine_log import EngineLog
from muster.provider.handler import Handler
from muster.provider.values import map_to_plain, map_to_property

_PARALLEL = 32
"""Handlers at work at once: above the engine's own default of 4 per core on small machines."""

Result = TypeVar("Result")


class MusterProvider(api.Provider):
    """Serves the handlers it is given; one instance per engine run."""

    def __init__(self, handlers: Iterable[Handler], log: EngineLog) -> None:
        self._handlers = {handler.resource_type: handler for handler in handlers}
        self._log = log
        self._threads = ThreadPoolExecutor(max_workers=_PARALLEL, thread_name_prefix="handler")

    async def get_schema(self, request: api.GetSchemaRequest) -> api.GetSchemaResponse:
        """Name the package; programs use the classes of `resources.py`, not generated ones."""
        del request
        schema = f'{{"name": "muster", "version": "{muster.__version__}"}}'
        return api.GetSchemaResponse(schema=schema)

    async def configure(self, request: api.ConfigureRequest) -> api.ConfigureResponse:
        """Take plain values only: no property of ours is secret."""
        del request
        return api.ConfigureResponse(supports_preview=True)

    async def diff(self, request: api.DiffRequest) -> api.DiffResponse:
        """Say which inputs changed and what is broken."""
        handler = self._handler(request.type)
        old, new = map_to_plain(request.old_state), map_to_plain(request.new_inputs)
        change = await self._in_thread(lambda: handler.diff(old, new))
        kind = api.PropertyDiffKind
        detailed = {
            key: api.PropertyDiff(
                kind.UPDATE_REPLACE if key in change.replaces else kind.UPDATE,
                input_diff=key in new,
            )
            for key in change.keys
        }
        return api.DiffResponse(
            changes=bool(change.keys),
            replaces=list(change.replaces),
            # Names, addresses and bridges are taken by the old one until it is gone.
            delete_before_replace=True,
            diffs=list(change.keys),
            detailed_diff=detailed,
        )

    async def create(self, request: api.CreateRequest) -> api.CreateResponse:
        """Make the resource."""
        handler, inputs = self._handler(request.type), map_to_plain(request.properties)
        if request.preview:
            return api.CreateResponse(None, map_to_property(handler.preview(None, inputs)))
        progress = self._log.progress(request.urn)
        made = await self._in_thread(lambda: handler.create(request.name, inputs, progress))
        return api.CreateResponse(made[0], map_to_property(made[1]))

    async def read(self, request: api.ReadRequest) -> api.ReadResponse:
        """Look at the resource."""
        handler, state = self._handler(request.type), map_to_plain(request.properties)
        found = await self._in_thread(lambda: handler.read(request.resource_id, state))
        if found is None:
            return api.ReadResponse("", {}, {})
        inputs = {k: v for k, v in found.items() if k not in handler.computed}
        return api.ReadResponse(
            request.resource_id, map_to_property(found), map_to_property(inputs)
        )

    async def update(self, request: api.UpdateRequest) -> api.UpdateResponse:
        """Change or mend the resource."""
        handler = self._handler(request.type)
        old, inputs = map_to_plain(request.olds), map_to_plain(request.news)
        if request.preview:
            return api.UpdateResponse(map_to_property(handler.preview(old, inputs)))
        progress = self._log.progress(request.urn)
        state = await self._in_thread(
            lambda: handler.update(request.resource_id, old, inputs, progress)
        )
        return api.UpdateResponse(map_to_property(state))

    async def delete(self, request: api.DeleteRequest) -> None:
        """Remove the resource."""
        handler, state = self._handler(request.type), map_to_plain(request.properties)
        progress: Progress = self._log.progress(request.urn)
        await self._in_thread(lambda: handler.delete(request.resource_id, state, progress))

    async def cancel(self) -> None:
        """Stop long work at its next line of progress."""
        self._log.cancel()

    def _handler(self, token: str) -> Handler:
        # A child's URN has its parents' types before its own: parent$child.
        own = token.rsplit("$", maxsplit=1)[-1]
        if own not in self._handlers:
            what = f"the muster provider has no resource type {own!r}"
            raise MusterError(what)
        return self._handlers[own]

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)
