"""Answers of AWS by name, and parts made of them: a part that lacks an answer says why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from muster.cloud.asking import Answers, Found
from muster.errors import MusterError
from muster.plan.cloud_view import NOT_ASKED, Unread

_Part = TypeVar("_Part")
STACK_TAG = "muster:stack"
POOL_TAG = "muster:pool"


class NotRead(MusterError):  # noqa: N818 - it carries a part of a view, it is no failure
    """An answer that a part is made of was not read."""

    def __init__(self, unread: Unread) -> None:
        self.unread = unread
        super().__init__(unread.why)


class Sheet:
    """Answers by name."""

    def __init__(self, stack: str, answers: Answers) -> None:
        self.stack = stack
        self._answers = answers

    def __getitem__(self, name: str) -> Found:
        """Return an answer.

        Raises:
            NotRead: it was not asked for, or not answered.

        """
        answer = self._answers.get(name, NOT_ASKED)
        if isinstance(answer, Unread):
            raise NotRead(answer)
        return answer

    def first(self, name: str) -> Mapping[str, Any] | None:
        """Return the first of an answer; None where there is no such thing."""
        found = self[name]
        return found[0] if found else None

    def is_own(self, item: Mapping[str, Any]) -> bool:
        """Did this stack make it? Its tags say so."""
        return tags_of(item).get(STACK_TAG) == self.stack


def part(make: Callable[[], _Part]) -> _Part | Unread:
    """Make a part of a view; where an answer lacks, or is not as its model says, say why."""
    try:
        return make()
    except NotRead as error:
        return error.unread
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        what = " ".join(f"an answer was not understood: {type(error).__name__}: {error}".split())
        return Unread(what, "Report this.")


def tags_of(item: Mapping[str, Any]) -> dict[str, str]:
    """Return the tags of a resource, of whatever service."""
    listed = item.get("Tags") or item.get("TagSet") or []
    return {tag["Key"]: tag["Value"] for tag in listed}
