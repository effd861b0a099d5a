"""Progress inside `pulumi up`: status text in a resource's row, sent beside the work."""

from __future__ import annotations

import queue
import threading
import time

import grpc
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc

from muster.errors import MusterError
from muster.progress import Progress

_LOG_TIMEOUT_S = 5.0
_INTERVAL_S = 0.5
"""Least time between two status texts of one resource: in a log every one is a line."""


class EngineLog:
    """Sends status texts to the engine from a thread of its own."""

    def __init__(self, engine_address: str) -> None:
        self._channel = grpc.insecure_channel(engine_address)
        self._engine = engine_pb2_grpc.EngineStub(self._channel)
        self._queue: queue.Queue[engine_pb2.LogRequest] = queue.Queue()
        self._cancelled = threading.Event()
        threading.Thread(target=self._send_all, daemon=True, name="engine-log").start()

    def cancel(self) -> None:
        """Make every later call of a `progress` raise, so that long work stops."""
        self._cancelled.set()

    def progress(self, urn: str) -> Progress:
        """Return a function that shows a line in the row of a resource."""
        last_s = 0.0

        def show(line: str) -> None:
            nonlocal last_s
            if self._cancelled.is_set():
                what = "stopped on request"
                raise MusterError(what, hint="The next `up` goes on from here.")
            now_s = time.monotonic()
            if now_s - last_s < _INTERVAL_S:
                return
            last_s = now_s
            self._queue.put(
                engine_pb2.LogRequest(
                    severity=engine_pb2.INFO, message=line, urn=urn, ephemeral=True
                )
            )

        return show

    def _send_all(self) -> None:
        while True:
            request = self._queue.get()
            try:
                self._engine.Log(request, timeout=_LOG_TIMEOUT_S)
            except grpc.RpcError:
                # A status text that cannot be shown is no reason to stop the work; where the engine
                # is gone, `orphan` ends this process.
                continue
