"""What the engine asks of a resource, in plain values: check, diff, create, read and so on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from papercloud.provider import difference
from papercloud.provider.account import NOT_YET_SEEN, STILL_USED, Account, PaperError
from papercloud.provider.kind import Kind
from papercloud.provider.request_check import request_mistakes
from papercloud.provider.schema import UNKNOWN_VALUE, Schema
from papercloud.provider.values import Properties, has_unknown

STAMP: Final = "__papercloud"
"""Marks a state as ours, so that neither provider takes the other's for its own."""
_VISIBLE_S: Final = 20.0
_CONFLICT_S: Final = 60.0
_POLL_S: Final = 0.5


class NotReadyError(Exception):
    """It exists, but is not as wanted: the state keeps it, and the next `up` goes on."""

    def __init__(self, resource_id: str, outputs: Properties, reason: str) -> None:
        super().__init__(reason)
        self.resource_id = resource_id
        self.outputs = outputs


@dataclass(frozen=True, kw_only=True)
class Change:
    """What a diff found: path and kind of each change, and the properties that replace."""

    paths: Mapping[str, str]
    replaces: tuple[str, ...] = ()
    delete_first: bool = False


@dataclass(frozen=True, kw_only=True)
class Lifecycle:
    """One resource type in one account."""

    token: str
    kind: Kind
    schema: Schema
    account: Account

    def of_region(self, inputs: Mapping[str, Any]) -> Lifecycle:
        """Return the same for the region that the resource itself names."""
        region = inputs.get("region")
        known = region if region != UNKNOWN_VALUE else None
        return Lifecycle(
            token=self.token,
            kind=self.kind,
            schema=self.schema,
            account=self.account.in_region(known),
        )

    def check(
        self, news: Properties, olds: Mapping[str, Any], *, name: str, seed: bytes
    ) -> tuple[Properties, list[str]]:
        """Name it where the program does not, and say what is wrong with its inputs."""
        mistakes = self.schema.mistakes(self.token, news)
        inputs = self._named(news, olds, name=name, seed=seed)
        if not mistakes:
            mistakes = request_mistakes(self.kind, self.account, _spoken(inputs))
        return inputs, mistakes

    def diff(
        self,
        old_inputs: Mapping[str, Any],
        state: Mapping[str, Any],
        news: Mapping[str, Any],
        ignored: Sequence[str] = (),
    ) -> Change:
        """Compare; what no operation can carry replaces."""
        self.refuse_foreign(state)
        found: dict[str, str] = {}
        for key, new in _spoken(news).items():
            old = old_inputs[key] if key in old_inputs else _seen(new, state.get(key))
            if key == "region" and key not in old_inputs:
                old = state.get("region", new)
            found |= difference.paths(old, new, key)
        for key in set(_spoken(old_inputs)) - set(news) - {"region", self.kind.name}:
            found |= difference.paths(old_inputs[key], None, key)
        found |= self._default_tags_changed(state, news)
        found = difference.without_ignored(found, ignored)
        changed = {difference.top(path) for path in found}
        replaces = sorted(key for key in changed if self._replaces(key, old_inputs, news))
        fixed_name = self.kind.name and self.kind.name not in news.get("__defaults", [])
        same_name = news.get(self.kind.name) == old_inputs.get(self.kind.name)
        return Change(
            paths=found,
            replaces=tuple(replaces),
            delete_first=bool(replaces and (self.kind.alone or (fixed_name and same_name))),
        )

    def preview_create(self, inputs: Properties) -> Properties:
        """Return the inputs, and every other output as not known yet."""
        outputs = dict.fromkeys(self.schema.outputs(self.token), UNKNOWN_VALUE)
        return {**outputs, "region": self.account.region, **self._state(inputs)}

    def preview_update(self, state: Mapping[str, Any], inputs: Properties) -> Properties:
        """Return the state with the new inputs; what the update may change is not known yet."""
        unknown = dict.fromkeys(self.kind.not_kept, UNKNOWN_VALUE)
        return {**state, **unknown, **self._state(inputs)}

    def create(self, inputs: Properties, timeout_s: float) -> tuple[str, Properties]:
        """Make it and wait until it is ready."""
        account = self._patient()
        resource_id = self.kind.create(account, _spoken(inputs))
        return resource_id, self._finish(resource_id, inputs, {}, timeout_s)

    def read(
        self, resource_id: str, state: Mapping[str, Any], inputs: Mapping[str, Any]
    ) -> tuple[Properties, Properties] | None:
        """Look: the outputs, and the inputs as the real thing has them; None where it is gone."""
        self.refuse_foreign(state)
        found = self.kind.find(self.account, resource_id, state)
        if found is None:
            return None
        seen = self._outputs(resource_id, found)
        outputs = {**state, **self._completed(seen, state)}
        if not inputs:  # an import: what is required, so that the program's inputs compare
            required = self.schema.required(self.token)
            return outputs, {key: outputs[key] for key in required if key in outputs}
        return outputs, self._inputs_as_seen(inputs, outputs)

    def update(
        self, resource_id: str, state: Properties, inputs: Properties, timeout_s: float
    ) -> Properties:
        """Change what differs between the real thing or the state and the wanted inputs."""
        self.refuse_foreign(state)
        found = self.read(resource_id, state, inputs)
        if found is None:
            raise PaperError("is gone", where=resource_id, hint="Run 'pulumi refresh'")
        outputs, seen = found
        wanted = _spoken(inputs)
        changed = {key for key, value in wanted.items() if seen.get(key) != value}
        changed |= {key for key, value in wanted.items() if _seen(value, state.get(key)) != value}
        account = self._patient()
        self._retag(account, resource_id, outputs, inputs)
        self.kind.update(account, resource_id, wanted, frozenset(changed - self._tags), outputs)
        return self._finish(resource_id, inputs, outputs, timeout_s)

    def delete(self, resource_id: str, state: Properties, timeout_s: float) -> None:
        """End it; what is gone already is no error."""
        self.refuse_foreign(state)
        if self.kind.find(self.account, resource_id, state) is None:
            return
        account = self.account.forgiving(STILL_USED, timeout_s or _CONFLICT_S)
        self.kind.delete(account, resource_id, state)
        if not self.kind.ends_slowly:
            return
        clock = self.account.clock
        deadline = clock.monotonic_s() + (timeout_s or self.kind.wait_s)
        while self.kind.find(self.account, resource_id, state) is not None:
            if clock.monotonic_s() >= deadline:
                raise PaperError("is still there after the delete", where=resource_id)
            clock.sleep(_POLL_S)

    def refuse_foreign(self, state: Mapping[str, Any]) -> None:
        """Refuse a state that the real provider wrote: it has its `__meta` and lacks our stamp."""
        if state and STAMP not in state and "__meta" in state:
            raise PaperError(
                "this resource was made by the real AWS provider, not by the paper cloud",
                where=self.token,
                hint="Take papercloud out of PATH for this stack",
            )

    @property
    def _tags(self) -> set[str]:
        """The input that holds tags as key and value, where the type has them."""
        return {"tags"} if "tagsAll" in self.schema.outputs(self.token) else set()

    def _patient(self) -> Account:
        return self.account.forgiving(NOT_YET_SEEN, _VISIBLE_S)

    def _finish(
        self,
        resource_id: str,
        inputs: Properties,
        state: Properties,
        timeout_s: float,
    ) -> Properties:
        account = self._patient()
        try:
            self.kind.complete(account, resource_id, _spoken(inputs))
            found = self._await(resource_id, inputs, timeout_s)
            outputs = self._outputs(resource_id, found)
        except PaperError as error:
            raise NotReadyError(
                resource_id, {**state, **self._state(inputs)}, str(error)
            ) from error
        return {**self._state(inputs), **self._completed(outputs, {**state, **inputs})}

    def _await(self, resource_id: str, inputs: Properties, timeout_s: float) -> Mapping[str, Any]:
        kind, clock = self.kind, self.account.clock
        wait_s = timeout_s or kind.wait_s
        deadline = clock.monotonic_s() + wait_s
        while True:
            found = kind.find(self._patient(), resource_id, inputs)
            status = kind.status(found) if found else "gone"
            if found and (kind.ready is None or status in kind.ready.good):
                return found
            if found is None or (kind.ready and status in kind.ready.bad):
                why = kind.why_gone(self.account, resource_id)
                raise PaperError(f"became {status!r}", where=resource_id, hint=why)
            if clock.monotonic_s() >= deadline:
                raise PaperError(f"is still {status!r} after {wait_s:.0f} s", where=resource_id)
            clock.sleep(_POLL_S)

    def _outputs(self, resource_id: str, found: Mapping[str, Any]) -> Properties:
        kinds = self.schema.outputs(self.token)
        return self.kind.outputs(self.account, resource_id, found, kinds, self.schema)

    def _state(self, inputs: Mapping[str, Any]) -> Properties:
        """The part of the state that is known without the cloud."""
        known = {**_spoken(inputs), STAMP: "simulated"}
        if self._tags:
            known["tagsAll"] = {**self.account.default_tags, **(inputs.get("tags") or {})}
        return known

    def _completed(self, seen: Properties, state: Mapping[str, Any]) -> Properties:
        """Lay region, tags and the stamp over what was read."""
        completed = {**seen, STAMP: "simulated"}
        if "region" in self.schema.outputs(self.token) and "region" not in seen:
            completed["region"] = self.account.region
        if self._tags:
            tags = seen.get("tags") or {}
            mine = state.get("tags") or {}
            defaults = self.account.default_tags
            completed["tagsAll"] = tags
            completed["tags"] = {
                key: value
                for key, value in tags.items()
                if key in mine or defaults.get(key) != value
            }
        ordered = {key: _seen(state[key], completed[key]) for key in completed if key in state}
        return {**completed, **{k: v for k, v in ordered.items() if isinstance(v, list)}}

    def _inputs_as_seen(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Properties:
        seen = {key: _seen(value, outputs.get(key)) for key, value in _spoken(inputs).items()}
        for key in self._tags & set(outputs):  # a tag that nobody asked for is drift as well
            if outputs[key] or key in seen:
                seen[key] = outputs[key]
        kept = {key: value for key, value in inputs.items() if key.startswith("__")}
        return {**kept, **{key: value for key, value in seen.items() if value is not None}}

    def _default_tags_changed(
        self, state: Mapping[str, Any], news: Mapping[str, Any]
    ) -> dict[str, str]:
        tags = news.get("tags") or {}
        if "tagsAll" not in state or has_unknown(tags) or self.kind.tagging is None:
            return {}
        wanted = {**self.account.default_tags, **tags}
        return {
            path: kind
            for path, kind in difference.paths(state["tagsAll"], wanted, "tagsAll").items()
            if path.removeprefix("tagsAll.") not in tags
        }

    def _replaces(self, key: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        if key == "tagsAll":
            return False
        if key == "region" or (condition := self.kind.replace_if.get(key)) is None:
            return key == "region" or not self.kind.carries(self.account, key)
        return has_unknown(new.get(key)) or condition(old.get(key), new.get(key))

    def _retag(
        self,
        account: Account,
        resource_id: str,
        outputs: Mapping[str, Any],
        inputs: Mapping[str, Any],
    ) -> None:
        if not self._tags or self.kind.tagging is None:
            return
        wanted = {**account.default_tags, **(inputs.get("tags") or {})}
        has = outputs.get("tagsAll") or {}
        if has != wanted:
            arn = str(outputs.get("arn", ""))
            self.kind.retag(account, resource_id, arn, set(has), wanted)

    def _named(
        self, news: Properties, olds: Mapping[str, Any], *, name: str, seed: bytes
    ) -> Properties:
        key = self.kind.name
        if not key or news.get(key) is not None or news.get(self.kind.prefix) is not None:
            return news
        if key in olds.get("__defaults", []):
            return {**news, key: olds[key], "__defaults": [key]}
        tail = hashlib.sha256(seed + name.encode()).hexdigest()[:7]
        safe = name.lower() if self.kind.lower_name else name
        return {**news, key: f"{safe}-{tail}", "__defaults": [key]}


def _spoken(inputs: Mapping[str, Any]) -> Properties:
    """The inputs that the program or the naming gave, without the marks of the plumbing."""
    return {
        key: value
        for key, value in inputs.items()
        if not key.startswith("__") and value is not None
    }


def _seen(wanted: Any, actual: Any) -> Any:
    return difference.project(wanted, actual)
