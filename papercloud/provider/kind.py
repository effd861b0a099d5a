"""One resource type: which operations make, find, change and end it, and under which names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from papercloud.provider.account import Account, RefusedError
from papercloud.provider.naming import Names, at
from papercloud.provider.schema import Schema
from papercloud.provider.values import Properties

ALWAYS_OURS: Final = frozenset({"region", "tags"})
"""Inputs that no operation of the type takes by itself."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """An operation, the member that takes the id, and where the answer has what is asked for."""

    operation: str
    by: str = ""
    found: str = ""
    fixed: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Ready:
    """Where an answer tells the state, and which states end the wait."""

    path: str
    good: tuple[str, ...]
    bad: tuple[str, ...] = ()
    dead: tuple[str, ...] = ()
    """States in which the thing counts as gone."""


@dataclass(frozen=True, kw_only=True)
class Tagging:
    """How tags of an existing thing are changed."""

    add: str
    remove: str
    by: str
    """The member that takes the id or, where `by_arn`, the ARN."""
    by_arn: bool = False
    keys: str = "TagKeys"
    fixed: Mapping[str, Any] = field(default_factory=dict)


EC2_TAGS: Final = Tagging(add="CreateTags", remove="DeleteTags", by="Resources", keys="Tags")


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A resource type that botocore's own names describe, but for what is written here."""

    service: str
    create_by: Call
    """`found` is the path of the id in the answer."""
    find_by: Call
    end_by: Call | None
    also_find: tuple[Call, ...] = ()
    """More questions about the same thing; their answers are laid over the first."""
    update_by: tuple[Call, ...] = ()
    set_by: Mapping[str, Call] = field(default_factory=dict)
    """Properties with an operation of their own, called after the thing is made."""
    rename: Mapping[str, str] = field(default_factory=dict)
    flatten: str = ""
    """The structure that takes the properties which the request itself has no member for."""
    ours: frozenset[str] = frozenset()
    """Inputs that steer the provider and are never sent."""
    replace: frozenset[str] = frozenset()
    """Inputs that an operation could change, but the real provider does not."""
    replace_if: Mapping[str, Callable[[Any, Any], bool]] = field(default_factory=dict)
    """Inputs of which some changes must replace: takes the old and the new value."""
    not_kept: frozenset[str] = frozenset()
    """Outputs that an update may change, so that a preview cannot know them."""
    name: str = ""
    """The input that is named after the resource where the program names none."""
    prefix: str = "namePrefix"
    lower_name: bool = False
    """Names of it have no capital letters."""
    alone: bool = False
    """Two of it cannot stand side by side: a replacement deletes first."""
    tag_type: str = ""
    tagging: Tagging | None = None
    ready: Ready | None = None
    wait_s: float = 1800
    ends_slowly: bool = False

    @property
    def names(self) -> Names:
        """Return the type's names."""
        return Names(self.rename, self.flatten)

    def request(self, account: Account, inputs: Mapping[str, Any]) -> Properties:
        """Compose the create request; raises UnmodelledError."""
        not_sent = self.ours | ALWAYS_OURS | set(self.set_by) | self.written_apart()
        sent = {key: value for key, value in inputs.items() if key not in not_sent}
        shape = account.model(self.service, self.create_by.operation).input_shape
        request = {**self.create_by.fixed, **self.names.request(sent, shape)}
        tags = {**account.default_tags, **(inputs.get("tags") or {})}
        if tags and self.tag_type:
            pairs = [{"Key": key, "Value": value} for key, value in tags.items()]
            mine = {"ResourceType": self.tag_type, "Tags": pairs}
            request["TagSpecifications"] = [mine]
        elif tags and self.tagging:
            request |= self.names.request({"tags": tags}, shape)
        return request

    def identify(self, answer: Mapping[str, Any], inputs: Mapping[str, Any]) -> str:
        """Return the id of what was made."""
        del inputs
        return str(at(answer, self.create_by.found))

    def written_apart(self) -> frozenset[str]:
        """Inputs that a subclass writes by itself."""
        return frozenset()

    def create(self, account: Account, inputs: Properties) -> str:
        """Make it; returns its id."""
        request = self.request(account, inputs)
        answer = account.call(self.service, self.create_by.operation, **request)
        return self.identify(answer, inputs)

    def complete(self, account: Account, resource_id: str, inputs: Mapping[str, Any]) -> None:
        """Do what follows the create; may be called again."""
        for key in self.set_by:
            if inputs.get(key) is not None:
                self._set(account, resource_id, key, inputs)

    def find(
        self, account: Account, resource_id: str, state: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Ask the cloud for it; None where there is none."""
        del state
        try:
            answer = self._ask(account, self.find_by, resource_id)
            found = at(answer, self.find_by.found)
            if not found or self._is_dead(found):
                return None
            for call in self.also_find:
                more = self._ask(account, call, resource_id)
                found = {**found, **(at(more, call.found) or {})}
        except RefusedError as error:
            if error.is_gone:
                return None
            raise
        return dict(found)

    def why_gone(self, account: Account, resource_id: str) -> str:
        """Return what the cloud says of the end of something that did not live to be ready."""
        del account, resource_id
        return ""

    def outputs(
        self,
        account: Account,
        resource_id: str,
        found: Mapping[str, Any],
        kinds: Mapping[str, Any],
        schema: Schema,
    ) -> Properties:
        """Read what was found as the outputs of the SDK's type."""
        del account, resource_id
        return self.names.properties(found, kinds, schema)

    def status(self, found: Mapping[str, Any]) -> str:
        """Return the state that the cloud says it is in, "" where it has none."""
        return str(at(found, self.ready.path) or "") if self.ready else ""

    def carries(self, account: Account, key: str) -> bool:
        """Whether an input can be changed in place."""
        if key in self.replace:
            return False
        if key in self.ours or key in self.set_by or key in self.replace_if:
            return True
        if key == "tags":
            return self.tagging is not None
        return any(self._takes(account, call, key) for call in self.update_by)

    def update(
        self,
        account: Account,
        resource_id: str,
        inputs: Properties,
        changed: frozenset[str],
        state: Mapping[str, Any],
    ) -> None:
        """Change in place the inputs that differ; `complete` follows."""
        del state
        for call in self.update_by:
            keys = [key for key in changed if key in inputs and self._takes(account, call, key)]
            if keys:
                shape = account.model(self.service, call.operation).input_shape
                sent = self.names.request({key: inputs[key] for key in keys}, shape)
                request = {**call.fixed, **self._addressed(account, call, resource_id), **sent}
                account.call(self.service, call.operation, **request)

    def retag(
        self, account: Account, resource_id: str, arn: str, old: set[str], new: Mapping[str, str]
    ) -> None:
        """Make the tags be exactly `new`; `old` are the keys it has."""
        if self.tagging is None:
            return
        way = self.tagging
        name = arn if way.by_arn else resource_id
        is_list = account.model(self.service, way.add).input_shape.members[way.by]
        who = {way.by: [name] if is_list.type_name == "list" else name, **way.fixed}
        if dropped := sorted(old - set(new)):
            keys = [{"Key": key} for key in dropped] if way.keys == "Tags" else dropped
            account.call(self.service, way.remove, **who, **{way.keys: keys})
        if new:
            shape = account.model(self.service, way.add).input_shape
            account.call(self.service, way.add, **who, **Names({}).request({"tags": new}, shape))

    def delete(self, account: Account, resource_id: str, state: Mapping[str, Any]) -> None:
        """End it; raises RefusedError."""
        del state
        if self.end_by is not None:
            self._ask(account, self.end_by, resource_id)

    def _set(self, account: Account, resource_id: str, key: str, inputs: Mapping[str, Any]) -> None:
        call = self.set_by[key]
        shape = account.model(self.service, call.operation).input_shape
        sent = self.names.request({key: inputs.get(key)}, shape)
        who = self._addressed(account, call, resource_id)
        account.call(self.service, call.operation, **call.fixed, **who, **sent)

    def _ask(self, account: Account, call: Call, resource_id: str) -> dict[str, Any]:
        who = self._addressed(account, call, resource_id)
        return account.call(self.service, call.operation, **who, **call.fixed)

    def _addressed(self, account: Account, call: Call, resource_id: str) -> Properties:
        if call.by.startswith("filter:"):
            values = [resource_id]
            return {"Filters": [{"Name": call.by.removeprefix("filter:"), "Values": values}]}
        shape = account.model(self.service, call.operation).input_shape.members[call.by]
        return {call.by: [resource_id] if shape.type_name == "list" else resource_id}

    def _is_dead(self, found: Any) -> bool:
        return bool(self.ready and at(found, self.ready.path) in self.ready.dead)

    def _takes(self, account: Account, call: Call, key: str) -> bool:
        shape = account.model(self.service, call.operation).input_shape
        target = self.names.target(key, shape)
        return target is not None and target != call.by


@dataclass(frozen=True, kw_only=True)
class Written(Kind):
    """A setting that is written whole, the first time and every other."""

    id_from: str = ""
    """The input that is the id."""

    def identify(self, answer: Mapping[str, Any], inputs: Mapping[str, Any]) -> str:
        """Return the input that names it."""
        del answer
        return str(inputs[self.id_from])

    def carries(self, account: Account, key: str) -> bool:
        """All but what names it."""
        del account
        return key not in self.replace and key != self.id_from

    def update(
        self,
        account: Account,
        resource_id: str,
        inputs: Properties,
        changed: frozenset[str],
        state: Mapping[str, Any],
    ) -> None:
        """Write it anew."""
        del resource_id, state
        if changed:
            self.create(account, inputs)
