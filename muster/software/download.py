"""Reading a file from an address, piece by piece; never a part of it as if it were all."""

from __future__ import annotations

import http.client
import random
import urllib.error
import urllib.request
from collections.abc import Iterator

from muster.clock import Clock
from muster.errors import RemoteError

TIMEOUT_S = 30
ATTEMPTS = 3
_FIRST_PAUSE_S = 1.0
_PIECE = 1 << 20
_CLIENT_ERRORS = range(400, 500)


class Downloads:
    """Downloads with a timeout, and a few attempts to reach the server."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def __call__(self, url: str) -> Iterator[bytes]:
        """Give the bytes of an address.

        Raises:
            RemoteError: no answer, an answer that is not the file, or a connection cut short.

        """
        with self._open(url) as answer:
            stated = answer.headers.get("Content-Length")
            received = 0
            try:
                while piece := answer.read(_PIECE):
                    received += len(piece)
                    yield piece
            except (OSError, http.client.HTTPException) as error:
                raise RemoteError(f"the connection broke: {error}", where=url) from error
            if stated is not None and int(stated) != received:
                what = f"the connection broke after {received} of {stated} bytes"
                raise RemoteError(what, where=url)

    def _open(self, url: str) -> http.client.HTTPResponse:
        why = ""
        for attempt in range(ATTEMPTS):
            if attempt:
                # Spreads out the attempts of many machines; nothing secret is drawn.
                self._clock.sleep(_FIRST_PAUSE_S * 2**attempt * random.uniform(0.5, 1.0))  # noqa: S311
            try:
                # The model of an artefact lets https and file through, and nothing else.
                return urllib.request.urlopen(url, timeout=TIMEOUT_S)  # type: ignore[no-any-return] # noqa: S310 - typeshed says Any
            except urllib.error.HTTPError as error:
                why = f"the server answers {error.code} {error.reason}"
                if error.code in _CLIENT_ERRORS:
                    break
            except (OSError, http.client.HTTPException) as error:
                why = f"cannot be reached: {getattr(error, 'reason', error)}"
        raise RemoteError(why, where=url)
