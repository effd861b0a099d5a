"""The part of a resource type that needs no Pulumi."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muster.progress import Progress, silent
from muster.provider.handler import UNKNOWN, Change, Handler, Properties


class Box(Handler):
    """A thing with a size and a colour, that can break."""

    resource_type = "test:index:Box"
    computed = ("serial", "broken", "weight")
    kept_on_update = frozenset({"serial"})
    replace_on = frozenset({"size"})
    not_compared = frozenset({"note"})

    def damage(self, state: Mapping[str, Any]) -> list[str]:
        return ["broken"] if state.get("broken") else []

    def create(self, name: str, inputs: Properties, progress: Progress) -> tuple[str, Properties]:
        progress("making")
        return name, {**inputs, "serial": "s1", "broken": False, "weight": 3}

    def read(self, resource_id: str, state: Properties) -> Properties | None:
        return state if resource_id else None

    def update(
        self, resource_id: str, old: Properties, inputs: Properties, progress: Progress
    ) -> Properties:
        return {**old, **inputs}

    def delete(self, resource_id: str, state: Properties, progress: Progress) -> None:
        return None


STATE = Box().create("box", {"size": 1, "colour": "red", "note": "a"}, silent)[1]


def test_equal_inputs_change_nothing() -> None:
    assert Box().diff(STATE, {"size": 1, "colour": "red", "note": "a"}) == Change()


def test_a_changed_input_is_named() -> None:
    change = Box().diff(STATE, {"size": 1, "colour": "blue", "note": "a"})
    assert change == Change(keys=("colour",))


def test_an_input_that_cannot_change_in_place_replaces() -> None:
    change = Box().diff(STATE, {"size": 2, "colour": "red", "note": "a"})
    assert change == Change(keys=("size",), replaces=("size",))


def test_an_unknown_input_counts_as_changed() -> None:
    change = Box().diff(STATE, {"size": 1, "colour": UNKNOWN, "note": "a"})
    assert change.keys == ("colour",)


def test_a_removed_input_is_a_change() -> None:
    assert Box().diff(STATE, {"size": 1, "note": "a"}).keys == ("colour",)


def test_an_input_that_needs_no_action_is_not_compared() -> None:
    assert Box().diff(STATE, {"size": 1, "colour": "red", "note": "b"}) == Change()


def test_damage_seen_by_a_refresh_is_mended_by_the_next_up() -> None:
    broken = {**STATE, "broken": True}
    assert Box().diff(broken, {"size": 1, "colour": "red", "note": "a"}).keys == ("broken",)


def test_a_preview_of_a_create_knows_inputs_only() -> None:
    preview = Box().preview(None, {"size": 1})
    assert preview == {"size": 1, "serial": UNKNOWN, "broken": UNKNOWN, "weight": UNKNOWN}


def test_a_preview_of_an_update_keeps_what_an_update_never_changes() -> None:
    preview = Box().preview(STATE, {"size": 1, "colour": "blue"})
    assert preview["serial"] == "s1"
    assert preview["weight"] is UNKNOWN
    assert preview["colour"] == "blue"
