"""Holds every resource of a program against the policies before the engine sees it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pulumi
from google.protobuf import json_format
from pulumi._types import is_input_type
from pulumi.runtime import rpc

from muster.plan.policies import (
    UNKNOWN,
    Break,
    Resource,
    broken,
    broken_outputs,
    broken_together,
)

_VALUE = "value"


@dataclass
class Police:
    """Judges all that is created after `begin`.

    A break stops the registration of its resource, so that nothing is built; the engine shows a
    line for each, and no traceback.
    """

    judged: list[pulumi.Output[Resource]] = field(default_factory=list)

    @classmethod
    def begin(cls) -> Police:
        """Judge every resource of this program from now on."""
        police = cls()
        pulumi.runtime.register_stack_transformation(police._look)
        return police

    def outputs(self, made: Mapping[str, Any]) -> dict[str, Any]:
        """Return the outputs, once they and the whole stack are judged."""
        listed: pulumi.Output[Any] = pulumi.Output.all(*self.judged)
        whole = listed.apply(lambda found: stop(broken_together(found)))

        def checked(name: str, value: Any) -> pulumi.Output[Any]:
            def judge(pair: list[Any]) -> Any:
                stop(broken_outputs({name: pair[0]}))
                return pair[0]

            return pulumi.Output.all(value, whole).apply(judge)

        return {name: checked(name, value) for name, value in made.items()}

    def _look(
        self, args: pulumi.ResourceTransformationArgs
    ) -> pulumi.ResourceTransformationResult | None:
        if not isinstance(args.resource, pulumi.CustomResource):
            return None
        reading: Awaitable[Resource] = _resource(args)
        seen: pulumi.Output[Resource] = pulumi.Output.from_input(reading)
        self.judged.append(seen)
        # The engine hears of the resource only after what it depends on: this output fails first.
        guard = seen.apply(lambda resource: stop(broken(resource)))
        more = pulumi.ResourceOptions(depends_on=guard)
        opts = pulumi.ResourceOptions.merge(args.opts, more)
        return pulumi.ResourceTransformationResult(props=args.props, opts=opts)


def stop(breaks: tuple[Break, ...]) -> list[Any]:
    """Return nothing to wait for, where no policy is broken.

    Raises:
        RunError: a policy is broken; a line for each.

    """
    if breaks:
        raise pulumi.RunError("\n".join(map(str, breaks)))
    return []


async def _resource(args: pulumi.ResourceTransformationArgs) -> Resource:
    """Read a resource as the engine will see it."""
    kind = type(args.resource)
    # A provider's SDK has a class of arguments beside each resource, which knows the wire's names.
    typed = getattr(inspect.getmodule(kind), f"{kind.__name__}Args", None)
    translate = args.resource.translate_input_property
    inputs: dict[str, Any] = dict(args.props)
    if typed is not None and not is_input_type(typed):
        typed = None
    struct = await rpc.serialize_properties(inputs, {}, args.resource, translate, typed)
    return Resource(
        type=args.type_,
        name=args.name,
        inputs=_known(json_format.MessageToDict(struct)),
        taggable="tags" in args.props,
    )


def _known(value: Any) -> Any:
    """Turn the wire's marks into values: what is not known yet, and what is secret."""
    if value == rpc.UNKNOWN:
        return UNKNOWN
    if isinstance(value, list):
        return [_known(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if rpc._special_sig_key in value:  # noqa: SLF001 - the mark has no public name
        return _known(value.get(_VALUE))
    return {key: _known(inner) for key, inner in value.items()}
