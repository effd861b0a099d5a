"""The gRPC side: the SDK's servicer, plus what it has no way to say.

The SDK's Provider class cannot answer "made, but not right" (ErrorResourceInitFailed), and shows
any other error with the name of its Python class. Both are mended here, and nothing else.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import grpc
import grpc.aio
from google.protobuf import any_pb2
from pulumi.provider.experimental.server import ProviderServicer
from pulumi.runtime._grpc_settings import _GRPC_CHANNEL_OPTIONS
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc, status_pb2

import muster
from muster.errors import MusterError
from muster.provider import orphan
from muster.provider.engine_log import EngineLog
from muster.provider.handler import Handler, InitFailedError
from muster.provider.provider import MusterProvider
from muster.provider.values import map_to_property

_DETAILS = "grpc-status-details-bin"


class Servicer(ProviderServicer):
    """The SDK's servicer with our two kinds of error."""

    async def Check(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Check inputs."""
        return await _answer(super().Check, request, context)

    async def Diff(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Compare state and inputs."""
        return await _answer(super().Diff, request, context)

    async def Create(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Make a resource."""
        return await _answer(super().Create, request, context)

    async def Read(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Look at a resource."""
        return await _answer(super().Read, request, context)

    async def Update(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Change a resource."""
        return await _answer(super().Update, request, context)

    async def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Remove a resource."""
        return await _answer(super().Delete, request, context)


async def _answer(
    call: Callable[[Any, Any], Awaitable[Any]], request: Any, context: grpc.aio.ServicerContext
) -> Any:
    try:
        return await call(request, context)
    except InitFailedError as error:
        context.set_trailing_metadata(((_DETAILS, init_failed_status(error)),))
        await context.abort(grpc.StatusCode.UNKNOWN, str(error))
    except MusterError as error:
        await context.abort(grpc.StatusCode.UNKNOWN, str(error))


def init_failed_status(error: InitFailedError) -> bytes:
    """Pack the error as the engine expects it: a google.rpc.Status with one detail."""
    detail = provider_pb2.ErrorResourceInitFailed(id=error.resource_id, reasons=error.reasons)
    from_plain = map_to_property(error.outputs)
    for key, value in from_plain.items():
        detail.properties.fields[key].CopyFrom(value.marshal())
    packed = any_pb2.Any()
    packed.Pack(detail)
    status = status_pb2.Status(
        code=grpc.StatusCode.UNKNOWN.value[0], message=str(error), details=[packed]
    )
    return bytes(status.SerializeToString())


async def serve(handlers: Iterable[Handler], engine_address: str) -> None:
    """Serve until the engine ends us; prints the port, as the plugin protocol asks."""
    provider = MusterProvider(handlers, EngineLog(engine_address))
    server = grpc.aio.server(options=_GRPC_CHANNEL_OPTIONS)
    servicer = Servicer([], muster.__version__, provider, engine_address)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    await server.wait_for_termination()


def main(handlers: Iterable[Handler], arguments: Sequence[str]) -> None:
    """Run the plugin; the engine's address is its first argument that is not a flag."""
    orphan.exit_with_parent()
    address = next(part for part in arguments if not part.startswith("-"))
    asyncio.run(serve(handlers, address))
