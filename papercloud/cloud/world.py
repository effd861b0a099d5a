"""The state of one simulated account, apart from what moto keeps."""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from moto.backends import get_backend
from moto.core.models import DEFAULT_ACCOUNT_ID

from muster.clock import Clock
from papercloud.cloud.machines import Machines
from papercloud.cloud.scenario import Scenario

REGION = "us-east-2"
_CALLS_KEPT = 20_000

State = TypeVar("State")


@dataclass(frozen=True, slots=True)
class CallRecord:
    """A call that was made: `error` is the code of its answer, empty where it went well."""

    at: str
    service: str
    action: str
    error: str


@dataclass
class World:
    """One simulated account in one scenario."""

    scenario: Scenario
    clock: Clock
    machines: Machines | None
    lock: threading.RLock = field(default_factory=threading.RLock)
    calls: deque[CallRecord] = field(default_factory=lambda: deque(maxlen=_CALLS_KEPT))
    account: str = DEFAULT_ACCOUNT_ID

    def __post_init__(self) -> None:
        self._states: dict[type, Any] = {}
        self.set(self.scenario)

    def set(self, scenario: Scenario) -> None:
        """Go on in another scenario: its random draws and fault counts begin anew."""
        self.scenario = scenario
        self.random = random.Random(scenario.seed)  # noqa: S311  # repeatable, not secret
        self.scenario_set = self.now()
        self.hits: dict[int, int] = {}

    def now(self) -> datetime:
        """Return the time in this world."""
        return self.clock.now()

    def state(self, kind: type[State]) -> State:
        """Return this world's only instance of a class of state, made empty when first asked."""
        found = self._states.setdefault(kind, kind())
        if not isinstance(found, kind):
            raise TypeError(kind)
        return found

    def backend(self, service: str, region: str = REGION) -> Any:
        """Return what moto keeps of a service."""
        find: Any = get_backend  # typed for literal names only
        return find(service)[self.account][region]

    def arn(self, service: str, resource: str, region: str = REGION) -> str:
        """Return the ARN of something in this account."""
        return f"arn:aws:{service}:{region}:{self.account}:{resource}"

    def new_id(self, prefix: str) -> str:
        """Return a new id, as cr-0a1b2c3d4e5f60718."""
        return f"{prefix}-{random.SystemRandom().getrandbits(68):017x}"


Tick = Callable[[World], None]
"""What happens as time passes; called before each call is answered."""
