"""The gRPC side of the stand-in: the engine's requests in, plain values to the lifecycle."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent import futures
from typing import Any, Final

import grpc
from google.protobuf import any_pb2, empty_pb2
from pulumi.runtime.proto import (
    engine_pb2,
    engine_pb2_grpc,
    plugin_pb2,
    provider_pb2,
    provider_pb2_grpc,
    status_pb2,
)

from muster.errors import MusterError
from muster.provider import orphan
from papercloud.provider import schema as sdk
from papercloud.provider.configuration import Configuration, configuration_mistakes
from papercloud.provider.difference import top
from papercloud.provider.invokes import invoke
from papercloud.provider.kinds import KINDS
from papercloud.provider.lifecycle import Change, Lifecycle, NotReadyError
from papercloud.provider.values import Properties, from_struct, to_struct

SIMULATED: Final = "paper cloud: simulated, nothing here is real"
_WORKERS: Final = 32
_DIFF_KINDS: Final = {
    ("add", False): provider_pb2.PropertyDiff.Kind.ADD,
    ("add", True): provider_pb2.PropertyDiff.Kind.ADD_REPLACE,
    ("delete", False): provider_pb2.PropertyDiff.Kind.DELETE,
    ("delete", True): provider_pb2.PropertyDiff.Kind.DELETE_REPLACE,
    ("update", False): provider_pb2.PropertyDiff.Kind.UPDATE,
    ("update", True): provider_pb2.PropertyDiff.Kind.UPDATE_REPLACE,
}


def _answering(method: Callable[..., Any]) -> Callable[..., Any]:
    """Turn our errors into the engine's: one line, no traceback."""

    def answered(self: Servicer, request: Any, context: grpc.ServicerContext) -> Any:
        try:
            return method(self, request, context)
        except NotReadyError as error:
            context.set_trailing_metadata((("grpc-status-details-bin", _not_ready(error)),))
            context.abort(grpc.StatusCode.UNKNOWN, str(error))
        except MusterError as error:
            context.abort(grpc.StatusCode.UNKNOWN, str(error))

    return answered


class Servicer(provider_pb2_grpc.ResourceProviderServicer):
    """One provider instance: the engine starts a process for each."""

    def __init__(self, configuration: Configuration, engine_address: str) -> None:
        self._configuration = configuration
        self._engine_address = engine_address
        self._schema = sdk.load()

    def Handshake(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Say what we can handle: secrets come and go in clear, and the engine marks them again."""
        del request, context
        return provider_pb2.ProviderHandshakeResponse()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Answer the SDK's own version, which the program asks for."""
        del request, context
        return plugin_pb2.PluginInfo(version=sdk.sdk_version())

    def GetSchema(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Answer a name only: no Python program asks for more."""
        del request, context
        return provider_pb2.GetSchemaResponse(schema='{"name": "aws"}')

    def CheckConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Refuse settings that the stand-in does not model."""
        del context
        news = from_struct(request.news)
        failures = [
            provider_pb2.CheckFailure(property=key, reason=reason)
            for key, reason in configuration_mistakes(news)
        ]
        return provider_pb2.CheckResponse(inputs=request.news, failures=failures)

    def DiffConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Another region is another provider; all else is changed in place."""
        del context
        olds, news = from_struct(request.olds), from_struct(request.news)
        changed = sorted(key for key in {*olds, *news} if olds.get(key) != news.get(key))
        some = provider_pb2.DiffResponse.DIFF_SOME
        none = provider_pb2.DiffResponse.DIFF_NONE
        return provider_pb2.DiffResponse(
            changes=some if changed else none,
            diffs=changed,
            replaces=[key for key in changed if key == "region"],
        )

    @_answering
    def Configure(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Take the settings, and say once that all this is simulated."""
        del context
        self._configuration.configure(from_struct(request.args))
        self._warn(SIMULATED)
        return provider_pb2.ConfigureResponse(supportsPreview=True)

    @_answering
    def Check(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Name the resource and check its inputs."""
        del context
        token, name = _token_and_name(request.urn)
        news, olds = from_struct(request.news), from_struct(request.olds)
        of_type = self._lifecycle(token).of_region(news)
        inputs, mistakes = of_type.check(news, olds, name=name, seed=request.randomSeed)
        failures = [provider_pb2.CheckFailure(reason=mistake) for mistake in mistakes]
        return provider_pb2.CheckResponse(inputs=to_struct(inputs), failures=failures)

    @_answering
    def Diff(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Compare inputs."""
        del context
        olds, news = from_struct(request.old_inputs), from_struct(request.news)
        of_type = self._of(request, olds)
        change = of_type.diff(olds, from_struct(request.olds), news, list(request.ignoreChanges))
        return _diff_response(change)

    @_answering
    def Create(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Make it, or say what a preview can know of it."""
        del context
        inputs = from_struct(request.properties)
        of_type = self._of(request, inputs)
        if request.preview:
            resource_id, outputs = "", of_type.preview_create(inputs)
        else:
            resource_id, outputs = of_type.create(inputs, request.timeout)
        return provider_pb2.CreateResponse(id=resource_id, properties=to_struct(outputs))

    @_answering
    def Read(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Look at it."""
        del context
        state, inputs = from_struct(request.properties), from_struct(request.inputs)
        found = self._of(request, state).read(request.id, state, inputs)
        if found is None:
            return provider_pb2.ReadResponse()
        outputs, seen = found
        return provider_pb2.ReadResponse(
            id=request.id, properties=to_struct(outputs), inputs=to_struct(seen)
        )

    @_answering
    def Update(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Change it in place."""
        del context
        state, inputs = from_struct(request.olds), from_struct(request.news)
        of_type = self._of(request, inputs)
        if request.preview:
            outputs = of_type.preview_update(state, inputs)
        else:
            outputs = of_type.update(request.id, state, inputs, request.timeout)
        return provider_pb2.UpdateResponse(properties=to_struct(outputs))

    @_answering
    def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802
        """End it."""
        del context
        state = from_struct(request.properties)
        self._of(request, state).delete(request.id, state, request.timeout)
        return empty_pb2.Empty()

    @_answering
    def Invoke(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Answer one of the SDK's look-up functions."""
        del context
        arguments = from_struct(request.args)
        account = self._configuration.account().in_region(arguments.get("region"))
        found = invoke(account, self._schema, request.tok, arguments)
        return provider_pb2.InvokeResponse(**{"return": to_struct(found)})

    def Cancel(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Nothing to do: the engine ends us soon after."""
        del request, context
        return empty_pb2.Empty()

    def _of(self, request: Any, inputs: Properties) -> Lifecycle:
        token, _name = _token_and_name(request.urn)
        return self._lifecycle(token).of_region(inputs)

    def _lifecycle(self, token: str) -> Lifecycle:
        if token not in KINDS:
            raise MusterError(f"the paper cloud does not model {token}")
        return Lifecycle(
            token=token,
            kind=KINDS[token],
            schema=self._schema,
            account=self._configuration.account(),
        )

    def _warn(self, message: str) -> None:
        with grpc.insecure_channel(self._engine_address) as channel:
            request = engine_pb2.LogRequest(severity=engine_pb2.WARNING, message=message)
            engine_pb2_grpc.EngineStub(channel).Log(request, timeout=10)


def main(arguments: Sequence[str]) -> None:
    """Run the plugin; refuses to start where it could reach anything but a paper cloud."""
    orphan.exit_with_parent()
    try:
        configuration = Configuration.from_environment()
    except MusterError as error:
        sys.exit(str(error))
    address = next(part for part in arguments if not part.startswith("-"))
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=_WORKERS))
    servicer = Servicer(configuration, address)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    server.wait_for_termination()


def _token_and_name(urn: str) -> tuple[str, str]:
    """`urn:pulumi:stack::project::parent$token::name`; a name may have `::` in it."""
    _head, _project, kinds, name = urn.split("::", 3)
    return kinds.rsplit("$", 1)[-1], name


def _diff_response(change: Change) -> Any:
    replaces = set(change.replaces)
    detailed = {
        path: provider_pb2.PropertyDiff(
            kind=_DIFF_KINDS[kind, top(path) in replaces], inputDiff=True
        )
        for path, kind in change.paths.items()
    }
    some, none = provider_pb2.DiffResponse.DIFF_SOME, provider_pb2.DiffResponse.DIFF_NONE
    return provider_pb2.DiffResponse(
        changes=some if change.paths else none,
        diffs=sorted({top(path) for path in change.paths}),
        replaces=change.replaces,
        deleteBeforeReplace=change.delete_first,
        detailedDiff=detailed,
        hasDetailedDiff=True,
    )


def _not_ready(error: NotReadyError) -> bytes:
    """Pack the error as the engine expects it: a google.rpc.Status with one detail."""
    detail = provider_pb2.ErrorResourceInitFailed(
        id=error.resource_id, properties=to_struct(error.outputs), reasons=[str(error)]
    )
    packed = any_pb2.Any()
    packed.Pack(detail)
    status = status_pb2.Status(
        code=grpc.StatusCode.UNKNOWN.value[0], message=str(error), details=[packed]
    )
    return bytes(status.SerializeToString())
