"""Holds every resource of a program against the policies before the engine sees it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi
from google.protobuf import json_format
from pulumi._types import is_input_type
from pulumi.runtime import rpc

from muster.catalog import Catalog
from muster.plan.policies import broken, broken_outputs, broken_together
from muster.plan.policy_model import UNKNOWN, Break, Resource

_VALUE = "value"


@dataclass
class Police:
    """Judges all that is created after `begin`.

    At `up` a break stops the registration of its resource, so that it is not built. A preview
    builds nothing: it goes to the end, and then names every break. Both show a line for each, and
    no traceback.
    """

    catalog: Catalog
    judged: list[pulumi.Output[Resource]] = field(default_factory=list)

    @classmethod
    def begin(cls, catalog: Catalog) -> Police:
        """Judge every resource of this program from now on."""
        police = cls(catalog)
        pulumi.runtime.register_stack_transformation(police._look)
        return police

    def outputs(self, made: Mapping[str, Any]) -> dict[str, Any]:
        """Return the outputs, once they and the whole stack are judged."""
        listed: pulumi.Output[Any] = pulumi.Output.all(*self.judged)
        whole = listed.apply(self._judge_whole)

        def checked(name: str, value: Any) -> pulumi.Output[Any]:
            def judge(pair: list[Any]) -> Any:
                _stop(broken_outputs({name: pair[0]}))
                return pair[0]

            return pulumi.Output.all(value, whole).apply(judge)

        return {name: checked(name, value) for name, value in made.items()}

    def _judge_whole(self, found: list[Resource]) -> None:
        each = [one for resource in found for one in broken(resource, self.catalog)]
        _stop((*each, *broken_together(found)))

    def _judge(self, resource: Resource) -> list[pulumi.Resource]:
        if not pulumi.runtime.is_dry_run():
            _stop(broken(resource, self.catalog))
        return []

    def _look(
        self, args: pulumi.ResourceTransformationArgs
    ) -> pulumi.ResourceTransformationResult | None:
        if not isinstance(args.resource, pulumi.CustomResource):
            return None
        reading: Awaitable[Resource] = _resource(args)
        seen: pulumi.Output[Resource] = pulumi.Output.from_input(reading)
        self.judged.append(seen)
        # The engine hears of the resource only after what it depends on: this output fails first.
        guard = seen.apply(self._judge)
        more = pulumi.ResourceOptions(depends_on=guard)
        opts = pulumi.ResourceOptions.merge(args.opts, more)
        return pulumi.ResourceTransformationResult(props=args.props, opts=opts)


def _stop(breaks: Sequence[Break]) -> None:
    if breaks:
        raise pulumi.RunError("\n".join(map(str, breaks)))


async def _resource(args: pulumi.ResourceTransformationArgs) -> Resource:
    """Read a resource as the engine will see it."""
    kind = type(args.resource)
    # A provider's SDK has a class of arguments beside each resource, which knows the wire's names;
    # it is called InitArgs where a nested type has its name.
    home, name = inspect.getmodule(kind), kind.__name__
    typed = getattr(home, f"{name}InitArgs", None) or getattr(home, f"{name}Args", None)
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
