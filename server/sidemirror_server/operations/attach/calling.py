"""Calls a hook's address as a host would."""

import http.client
import time
from collections.abc import Mapping
from urllib.parse import urlsplit

from msgspec import Struct

from sidemirror_server.operations.attach.hosts import ANSWERS

# Why there is no answer of ours, and what helps.
NO_SIDECAR = "what answers there is no sidecar"
ANOTHER_ADDRESS = "with SIDEMIRROR_HTTP_ADDRESS `serve` and `attach` take another address"
_PATIENCE_S = 5.0


class Answer(Struct, frozen=True):
    """What came back. `said`: the body of a hook that was served; `why`: what went wrong, empty if nothing did.
    `is_there`: whether anything answered, and `took_s` within which time."""

    said: str
    why: str
    is_there: bool
    took_s: float = 0.0


def post(url: str, headers: Mapping[str, str], body: str) -> Answer:
    """Posts a hook's event to an http URL, for which it waits 5 s at most."""
    try:
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.netloc, timeout=_PATIENCE_S)
    except (ValueError, http.client.HTTPException) as error:
        return Answer("", f"this is no address: {error}", is_there=False)
    began_s = time.monotonic()
    try:
        connection.request("POST", f"{parts.path}?{parts.query}", body, {"content-type": "application/json", **headers})
        answer = connection.getresponse()
        said = answer.read().decode("utf-8", "replace")
    except ValueError:
        return Answer("", "a header of the hook is none of HTTP", is_there=False)
    except (OSError, http.client.HTTPException) as error:
        return Answer("", f"nothing can be reached at {parts.netloc}: {error}", is_there=False)
    finally:
        connection.close()
    if answer.status != http.client.OK:
        return Answer("", f"it was refused with {answer.status}", is_there=True)
    # The answer of a hook that has nothing to say is empty.
    is_json = (answer.getheader("content-type") or "").startswith("application/json")
    if not is_json or (said and not said.startswith(ANSWERS)):
        return Answer("", NO_SIDECAR, is_there=True)
    return Answer(said, "", is_there=True, took_s=time.monotonic() - began_s)
