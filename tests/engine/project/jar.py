"""A resource made of real files, served by our real provider: a jar that takes a coin a moment.

It stands for long work that can be killed at any moment: each coin is a file, so that a second
create finds those of the first. `accepted` is the number of coins; a directory `leak` beside them
lets it hold two at most.
"""

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from muster.progress import Progress
from muster.provider import server
from muster.provider.handler import Handler, InitFailedError, Properties

_MOMENT_S = 0.3
_LEAKY_MAX = 2


class Jar(Handler):
    """`wanted` coins in `fleet.directory`."""

    resource_type = "muster:index:Acceptance"
    computed = ("ready", "reason", "readiness", "report", "run", "accepted", "verdicts")

    def create(self, name: str, inputs: Properties, progress: Progress) -> tuple[str, Properties]:
        directory = Path(inputs["fleet"]["directory"])
        limit = _LEAKY_MAX if (directory / "leak").exists() else inputs["wanted"]
        for number in range(min(limit, inputs["wanted"])):
            coin = directory / f"coin-{number}"
            if coin.exists():
                continue
            progress(f"coin {number + 1}/{inputs['wanted']}")
            time.sleep(_MOMENT_S)
            coin.touch()
        state = self._look(inputs)
        if not state["ready"]:
            raise InitFailedError("jar", state, [state["reason"]])
        return "jar", state

    def read(self, resource_id: str, state: Properties) -> Properties | None:
        return self._look(state) if Path(state["fleet"]["directory"]).is_dir() else None

    def update(
        self, resource_id: str, old: Properties, inputs: Properties, progress: Progress
    ) -> Properties:
        return self.create("", inputs, progress)[1]

    def delete(self, resource_id: str, state: Properties, progress: Progress) -> None:
        for coin in Path(state["fleet"]["directory"]).glob("coin-*"):
            coin.unlink()

    def damage(self, state: Mapping[str, Any]) -> list[str]:
        return [] if state.get("ready") else ["ready"]

    def _look(self, state: Properties) -> Properties:
        count = len(list(Path(state["fleet"]["directory"]).glob("coin-*")))
        ready = count >= state["wanted"]
        reason = f"{count} of {state['wanted']} coins"
        return {
            **{key: value for key, value in state.items() if key not in self.computed},
            "ready": ready,
            "reason": reason,
            "readiness": "",
            "report": "",
            "run": "r1",
            "accepted": count,
            "verdicts": {},
        }


if __name__ == "__main__":
    server.main([Jar()], sys.argv[1:])
