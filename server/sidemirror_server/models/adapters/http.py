"""Shared by the HTTP adapters: a client that limits the size of answers, and the meaning of its failures.

Imports the HTTP library of both SDKs, so an adapter imports this module on its first call.
"""

import math
import re
import time
from collections.abc import AsyncIterator, Awaitable, Collection, Mapping
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

import httpx2

from sidemirror_server.models.untrusted import MAX_BODY_BYTES, word
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.giving_way import OneATurn
from sidemirror_server.vocabulary.status import ResultStatus, Usage

# Messages for people, by status. The provider's own text is left out, because it may repeat the prompt.
_MEANING: Mapping[int, str] = {
    400: "it does not take this request",
    401: "the API key was not accepted",
    402: "the account has no credit left",
    403: "the API key may not do this",
    404: "it does not know this model or address",
    408: "it waited too long for the request",
    413: "the request is too large for it",
    422: "it does not take this request",
    429: "too many requests",
    529: "it is overloaded",
}
_RETRYABLE_BELOW_500 = frozenset({408, 409, 425, 429})
_NEVER_RETRYABLE = frozenset({501, 505})
# Codes of a 429 that a retry cannot cure (OpenAI's error codes page).
_OUT_OF_MONEY = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
# With these statuses, a proxy may have given up on a call that the model answered all the same, so the cost is unknown.
_MAY_HAVE_COST = frozenset({500, 502, 504})

# All root classes of httpx2's exceptions; a test checks that there are no others.
_HTTP_ERRORS = (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, httpx2.CookieConflict)
# Only this much of an error's message is read.
_TELLING_CHARS = 200


class BodyTooLarge(Exception):
    """The body is larger than any valid answer. The rest was not read."""


class BodyPacked(Exception):
    """The body is compressed although the request did not allow it, so its full size is unknown."""


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends with an error after `MAX_BODY_BYTES`. Of bodies that have come, one ends in a turn of the loop:
    the SDK reads it then in one piece."""

    def __init__(self, stream: httpx2.AsyncByteStream, ends: OneATurn) -> None:
        self._stream = stream
        self._ends = ends

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_BODY_BYTES
        async for chunk in self._stream:
            left -= len(chunk)
            if left < 0:
                raise BodyTooLarge
            yield chunk
        await self._ends()

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _bound(ends: OneATurn, response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise BodyPacked
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(response.stream, ends)


def timeout_until(ends_s: float) -> httpx2.Timeout:
    """The HTTP library's timeouts for each read. They are late enough for the caller to end the call first."""
    return httpx2.Timeout(max(0.0, ends_s - time.monotonic()) + 1.0)


def client_settings(*, direct: bool) -> dict[str, Any]:
    """The settings of an HTTP client. Bodies are limited and uncompressed. Redirects are not followed, so that a prompt
    reaches only the configured address. `direct`: ignores the environment's proxies."""
    return {
        "trust_env": not direct,
        "event_hooks": {"response": [partial(_bound, OneATurn())]},
        "follow_redirects": False,
        "headers": {"accept-encoding": "identity"},
    }


async def body_of(
    call: Awaitable[Any], status_error: type[Exception], sdk_error: type[Exception], nothing: Usage
) -> bytes:
    """The body of a raw response. Raises ModelFailed for any error of the SDK or the HTTP library.

    `nothing`: the usage to report if the call is known to have cost nothing.
    """
    try:
        response = await call
        content: bytes = response.http_response.content
    except status_error as error:
        raise status_failure(error, nothing) from error
    except (sdk_error, *_HTTP_ERRORS, BodyTooLarge, BodyPacked) as error:
        raise connection_failure(error, nothing) from error
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RuntimeError, ExceptionGroup) as error:
        # Python's own errors, for a body that is not JSON, a text that is not Unicode, or a failed connection.
        why = f"the request could not be made or its answer not read ({type(error).__name__})"
        raise ModelFailed(ResultStatus.FAILED_MODEL, why) from error
    return content


def status_failure(error: Any, nothing: Usage) -> ModelFailed:
    """The failure for a status of 300 or above."""
    status, headers = int(error.status_code), error.response.headers
    names = error_names(error.body)
    meaning = _MEANING.get(status, "it failed" if status >= 500 else "it did not answer")
    said = f" ({', '.join(names)})" if names else ""
    retryable = status in _RETRYABLE_BELOW_500 or (status >= 500 and status not in _NEVER_RETRYABLE)
    if headers.get("x-should-retry") == "false" or not _OUT_OF_MONEY.isdisjoint(names):
        retryable = False
    return ModelFailed(
        ResultStatus.FAILED_MODEL,
        f"the provider answered {status}: {meaning}{said}",
        retryable=retryable,
        retry_after_s=retry_after_s(headers) if retryable else None,
        usage=None if status in _MAY_HAVE_COST else nothing,
    )


def connection_failure(error: BaseException, nothing: Usage) -> ModelFailed:
    """The failure for a missing or incomplete response."""
    causes = tuple(_causes(error))
    for kind, why in (
        (BodyTooLarge, f"the answer is larger than {MAX_BODY_BYTES} bytes"),
        (BodyPacked, "the answer is compressed although that was not asked for"),
    ):
        if any(isinstance(cause, kind) for cause in causes):
            return ModelFailed(ResultStatus.FAILED_MODEL, why)
    if any(isinstance(cause, httpx2.UnsupportedProtocol | httpx2.InvalidURL) for cause in causes):
        return ModelFailed(ResultStatus.FAILED_MODEL, "the provider's address is not a URL", usage=nothing)
    if any(isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout) for cause in causes):
        return ModelFailed(ResultStatus.FAILED_MODEL, "the provider cannot be reached", retryable=True, usage=nothing)
    why = f"the connection to the provider failed ({type(causes[-1]).__name__})"
    retryable = any(isinstance(cause, httpx2.TransportError) for cause in causes)
    return ModelFailed(ResultStatus.FAILED_MODEL, why, retryable=retryable)


def error_names(body: object) -> list[str]:
    """The type, code and parameter in an error's body, if they look like names."""
    error = body.get("error", body) if isinstance(body, Mapping) else None
    if not isinstance(error, Mapping):
        return []
    found = [word(error[name]) for name in ("type", "code", "param") if isinstance(error.get(name), str)]
    return [name for name in dict.fromkeys(found) if name != "(unreadable)"]


def named_in(body: object, names: Collection[str]) -> str | None:
    """The element of `names` that the error is about: its `param`, or else the first that its message mentions."""
    error = body.get("error", body) if isinstance(body, Mapping) else None
    if not isinstance(error, Mapping):
        return None
    param, message = error.get("param"), error.get("message")
    # A message begins with the error. Later it may repeat the request, which mentions every parameter.
    text = param or (message[:_TELLING_CHARS] if isinstance(message, str) else "")
    words = set(re.findall(r"\w+", text)) if isinstance(text, str) else set()
    return next((name for name in names if name in words), None)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The pause that the provider asks for, from `retry-after-ms` or `retry-after` (seconds or a date)."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit_s
        except ValueError:
            continue
        if math.isfinite(seconds) and seconds >= 0:
            return seconds
    try:
        # A date is compared with the provider's own clock, because ours may be wrong.
        until, sent = (parsedate_to_datetime(headers.get(name, "")) for name in ("retry-after", "date"))
        return max(0.0, (until - sent).total_seconds())
    except (ValueError, TypeError):
        return None


def _causes(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and len(found) < 10:
        found.append(cause)
        cause = cause.__cause__
    return found
