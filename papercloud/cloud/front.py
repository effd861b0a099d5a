"""The door of the simulated cloud: every request is logged, may be hit by a fault, is answered."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from moto.core.exceptions import ServiceException
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from pydantic import ValidationError
from werkzeug.wrappers import Request, Response

from papercloud.cloud import faults, gaps, visibility, wire
from papercloud.cloud.calls import Call, answer, pass_time, refused
from papercloud.cloud.scenario import Scenario
from papercloud.cloud.world import CallRecord, World

_CONTROL = "/_paper/"
_FAILED = 400


class Front:
    """A WSGI application that stands before moto."""

    def __init__(self, world: World, reset: Callable[[], None]) -> None:
        gaps.load()
        self.world = world
        self._reset = reset
        self._moto = DomainDispatcherApplication(create_backend_app)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Answer one request."""
        if str(environ.get("PATH_INFO", "")).startswith(_CONTROL):
            return self._control(Request(environ))(environ, start_response)
        exchange = wire.read(environ)
        if exchange is None:
            with self.world.lock:
                return list(self._moto(environ, start_response))
        service, action = exchange.service.service_name, exchange.operation.name
        fault = self._hit(service, action)
        if fault and fault.delay_s:
            self.world.clock.sleep(fault.delay_s)
        if fault and fault.code:
            response = exchange.reply(faults.as_error(fault))
        else:
            with self.world.lock:
                response = self._answer(exchange, environ)
        self._record(service, action, response)
        return response(environ, start_response)

    def _hit(self, service: str, action: str) -> Any:
        with self.world.lock:
            return faults.hit(self.world, service, action)

    def _answer(self, exchange: wire.Exchange, environ: dict[str, Any]) -> Response:
        service, action = exchange.service.service_name, exchange.operation.name
        call = Call(service, action, exchange.params, self.world, exchange.region)
        early = visibility.too_early(self.world, exchange.params) if service == "ec2" else None
        if early:
            return exchange.reply(early)
        if refused(service, action):
            return _not_modelled(service, action)
        pass_time(self.world)
        try:
            result = answer(call)
        except ServiceException as error:
            return exchange.reply(error)
        if result is None:
            response = Response.from_app(self._moto, environ, buffered=True)
        else:
            response = exchange.reply(result)
        if service == "ec2":
            visibility.remember(self.world, action, response.get_data(as_text=True))
        return response

    def _record(self, service: str, action: str, response: Response) -> None:
        error = _error_code(response) if response.status_code >= _FAILED else ""
        at = self.world.now().isoformat()
        self.world.calls.append(CallRecord(at, service, action, error))

    def _control(self, request: Request) -> Response:
        verb = (request.method, request.path.removeprefix(_CONTROL))
        if verb == ("GET", "calls"):
            return _json([asdict(call) for call in tuple(self.world.calls)])
        if verb == ("GET", "scenario"):
            return _json(self.world.scenario.model_dump(mode="json"))
        if verb == ("POST", "reset"):
            self._reset()
            return _json({})
        if verb == ("POST", "scenario"):
            try:
                scenario = Scenario.model_validate_json(request.get_data())
            except ValidationError as error:
                return _json({"error": str(error)}, status=_FAILED)
            with self.world.lock:
                self.world.set(scenario)
            return _json({})
        return _json({"error": "no such control"}, status=404)


def _not_modelled(service: str, action: str) -> Response:
    what = f"paper cloud: {service}:{action} is not modelled"
    return Response(what, status=501, headers={"Content-Type": "text/plain"})


def _error_code(response: Response) -> str:
    text = response.get_data(as_text=True)
    if "<Code>" in text:
        return text.partition("<Code>")[2].partition("</Code>")[0]
    named = response.headers.get("X-Amzn-Errortype", "")
    if not named and text.startswith("{"):
        named = str(json.loads(text).get("__type", ""))
    return named.rpartition("#")[2].partition(":")[0] or str(response.status_code)


def _json(value: Any, *, status: int = 200) -> Response:
    return Response(json.dumps(value), status=status, content_type="application/json")
