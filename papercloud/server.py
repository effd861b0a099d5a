"""A simulated AWS on loopback, in a thread of this process."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path
from types import TracebackType
from typing import Self

from moto.ec2.models.availability_zones_and_regions import RegionsAndZonesBackend, Zone
from moto.moto_api._internal.models import moto_api_backend
from moto.moto_server.werkzeug_app import MotoRequestHandler
from werkzeug.serving import BaseWSGIServer, make_server

from muster.clock import Clock, SystemClock
from muster.errors import UsageError
from papercloud.cloud.front import Front
from papercloud.cloud.machines import Machines
from papercloud.cloud.scenario import Scenario
from papercloud.cloud.world import REGION, CallRecord, World

BANNER = "paper cloud: simulated"
LOOPBACK = "127.0.0.1"
PLUGIN = Path(__file__).parent / "provider" / "plugin"
# moto reads this when it makes a backend: a thousand images of no use here take a second to make.
_MOTO_SETTINGS = {"MOTO_EC2_LOAD_DEFAULT_AMIS": "false"}
# Nothing of a real account may reach what runs against the simulated one.
_NOT_PASSED_ON = ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_CA_BUNDLE", "AWS_ROLE_ARN")


class PaperCloud:
    """A simulated AWS that serves while it is entered; each one begins empty.

    moto keeps its state per process: one PaperCloud at a time.
    """

    _running = threading.Lock()

    def __init__(
        self,
        scenario: Scenario | None = None,
        machines: Machines | None = None,
        port: int = 0,
        *,
        host: str = LOOPBACK,
        clock: Clock | None = None,
    ) -> None:
        """Prepare one; `port` 0 takes a free one.

        Raises:
            UsageError: `host` is not a loopback address.

        """
        if not _is_loopback(host):
            hint = "It has no authentication: use 127.0.0.1."
            raise UsageError(f"the paper cloud listens on loopback only, not {host!r}", hint=hint)
        self._host = host
        self._port = port
        self._first = scenario or Scenario()
        self._machines = machines
        self._clock = clock or SystemClock()
        self._server: BaseWSGIServer | None = None

    def __enter__(self) -> Self:
        """Start to serve.

        Raises:
            UsageError: another one serves in this process.

        """
        if not self._running.acquire(blocking=False):
            raise UsageError("another paper cloud serves in this process")
        self._before = {name: os.environ.get(name) for name in _MOTO_SETTINGS}
        os.environ.update(_MOTO_SETTINGS)
        self._front = Front(self._begin(self._first), self.reset)
        self._server = make_server(
            self._host, self._port, self._front, threaded=True, request_handler=_Quiet
        )
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="papercloud", daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop serving, and forget everything."""
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
        moto_api_backend.reset()
        for name, value in self._before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        self._running.release()

    @property
    def endpoint(self) -> str:
        """The address for AWS_ENDPOINT_URL."""
        if self._server is None:
            raise UsageError("the paper cloud does not serve yet")
        return f"http://{self._host}:{self._server.server_port}"

    @property
    def world(self) -> World:
        """The state behind it, for tests."""
        return self._front.world

    def set(self, scenario: Scenario) -> None:
        """Go on in another scenario; what exists stays."""
        with self.world.lock:
            self.world.set(scenario)

    def reset(self) -> None:
        """Empty the account, and begin the first scenario again."""
        with self.world.lock:
            self._front.world = self._begin(self._first)

    def calls(self) -> Sequence[CallRecord]:
        """Return the calls that were made, the earliest first."""
        return tuple(self.world.calls)

    def environ(self, state_directory: Path) -> dict[str, str]:
        """Return the whole environment for a `pulumi` or `muster` that is to use this cloud."""
        state, home = state_directory / "pulumi", state_directory / "home"
        for folder in (state, home):
            folder.mkdir(parents=True, exist_ok=True)
        kept = {name: text for name, text in os.environ.items() if name not in _NOT_PASSED_ON}
        path = [str(PLUGIN), str(Path(sys.executable).parent), kept.get("PATH", os.defpath)]
        return kept | {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "paper",
            "AWS_SECRET_ACCESS_KEY": "paper",  # the simulated cloud checks no signature
            "AWS_DEFAULT_REGION": REGION,
            "AWS_REGION": REGION,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
            "NO_PROXY": LOOPBACK,
            "PATH": os.pathsep.join(path),
            "PULUMI_BACKEND_URL": f"file://{state.resolve()}",
            "PULUMI_HOME": str(home.resolve()),
            "PULUMI_CONFIG_PASSPHRASE": "paper",
            "PULUMI_SKIP_UPDATE_CHECK": "1",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "1",
            "MUSTER_PAPERCLOUD": "1",
        }

    def _begin(self, scenario: Scenario) -> World:
        moto_api_backend.reset()
        _name_zones(scenario.zone_ids)
        return World(scenario, self._clock, self._machines)


class _Quiet(MotoRequestHandler):
    """Keeps requests off the terminal; the call log has them."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing."""


_ZONES = tuple(RegionsAndZonesBackend.zones[REGION])


def _name_zones(zone_ids: Mapping[str, str]) -> None:
    """Give the zones the scenario's ids; which name has which id differs between accounts."""
    RegionsAndZonesBackend.zones[REGION] = [
        Zone(region_name=REGION, name=zone.name, zone_id=zone_ids.get(zone.name, zone.zone_id))
        for zone in _ZONES
    ]


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
