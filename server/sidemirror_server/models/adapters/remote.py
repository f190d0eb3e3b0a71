"""`RemoteModel`: the base of models behind an SDK. It loads the SDK late and ends calls in time."""

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable, Coroutine
from typing import Any, Protocol
from urllib.parse import urlsplit

from sidemirror_server.models.answers import MidTurnAnswer
from sidemirror_server.models.evidence import Evidence
from sidemirror_server.models.language_model import AnswerT, Ask, Completion, Purpose
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.giving_way import OneATurn
from sidemirror_server.vocabulary.status import ResultStatus, Usage


def what_is_missing(service: str, api_key: str | None, base_url: str | None) -> str:
    """Why no connection is possible with these values; "" if one is possible. Does not reveal the key."""
    if not api_key and not base_url:
        return f"there is no API key for {service}"
    if api_key and not (api_key.isascii() and api_key.isprintable() and " " not in api_key):
        return f"the API key for {service} has characters that no key has"
    try:
        address = urlsplit(base_url or "https://x")
        usable = address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0
    except ValueError:  # an invalid port or IPv6 address
        usable = False
    return "" if usable else f"the base URL for {service} is not an http or https address"


def rehearse(call: Callable[[str], Coroutine[Any, Any, object]]) -> None:
    """Makes a first call with `call`, which gets an address that refuses it. Run this function in a thread.

    Without a rehearsal the first caller waits for an SDK's imports and set-up, which take up to 0.2 s of CPU. This
    function binds the address without listening, so that the call is refused before anything is sent.
    """
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        with contextlib.suppress(ModelFailed):
            asyncio.run(call(f"http://127.0.0.1:{held.getsockname()[1]}"))


# The question of a rehearsal, and its time limit.
_REHEARSED: Ask[MidTurnAnswer] = Ask(
    purpose=Purpose.MID_TURN_REFLECTION,
    system="",
    prompt="Are you there?",
    answer_type=MidTurnAnswer,
    evidence=Evidence(),
    max_tokens=1,
)
_REHEARSAL_S = 5.0


class Connection(Protocol):
    """An SDK's client and its knowledge of one model."""

    async def complete(self, ask: Ask[AnswerT], ends_s: float) -> Completion[AnswerT]:
        """The answer. The caller ends the call at `ends_s`, on the monotonic clock. Raises ModelFailed."""
        ...

    async def count_tokens(self, ask: Ask[AnswerT], ends_s: float) -> int | None:
        """The provider's count of the ask's input tokens; None if it offers none. Raises ModelFailed."""
        ...

    async def close(self) -> None:
        """Closes the connections."""
        ...


class RemoteModel:
    """A model whose SDK is loaded by `prepare` or the first call. The constructor neither imports nor connects.

    A call is one request without streaming, because answers are short and a partial one is useless.
    """

    def __init__(
        self, provider: str, name: str, address: str, missing: str, connect: Callable[[str | None], Connection]
    ) -> None:
        """`address`: the URL that every question goes to. `missing`: why no connection is possible, or "".
        `connect` imports the SDK. It is called in a thread, and raises ImportError if the SDK is not installed. Its
        argument is None, or the address of a rehearsal, which uses neither proxy nor key."""
        self.provider = provider
        self.name = name
        self.address = address
        self._missing = missing
        self._connect = connect
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()
        # An SDK makes a request in one piece, which takes about a millisecond.
        self._begins = OneATurn()

    async def prepare(self) -> None:
        """Imports the SDK (a second or two) and rehearses a call, in a thread. Other calls wait only for the import.
        Raises ModelFailed if the SDK is not installed."""
        await self._connected()
        await asyncio.to_thread(rehearse, self._rehearsal)

    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        """The answer within `deadline_s` seconds. Raises ModelFailed."""
        if deadline_s <= 0:
            raise self._too_late()
        ends_s = time.monotonic() + deadline_s
        is_asked = False
        try:
            async with asyncio.timeout(deadline_s):
                connection = await self._connected()
                await self._begins()
                is_asked = True
                return await connection.complete(ask, ends_s)
        except TimeoutError as error:
            if not is_asked:
                raise self._too_late() from error
            why = f"the model did not answer within {deadline_s:g} s"
            raise ModelFailed(ResultStatus.FAILED_MODEL, why) from error

    async def count_tokens(self, ask: Ask[AnswerT], deadline_s: float) -> int | None:
        """The provider's count of the ask's input tokens; None if it does not come in time."""
        try:
            async with asyncio.timeout(deadline_s):
                connection = await self._connected()
                await self._begins()
                return await connection.count_tokens(ask, time.monotonic() + deadline_s)
        except (TimeoutError, ModelFailed):
            return None

    async def close(self) -> None:
        """Closes the connections."""
        if self._connection is not None:
            await self._connection.close()

    def _too_late(self) -> ModelFailed:
        nothing = Usage(self.provider, self.name)
        return ModelFailed(ResultStatus.SKIPPED_DEADLINE, "no time was left to answer", usage=nothing)

    async def _connected(self) -> Connection:
        async with self._connecting:
            if self._connection is None:
                self._connection = await self._new_connection()
            return self._connection

    async def _new_connection(self) -> Connection:
        why = self._missing
        if not why:
            try:
                return await asyncio.to_thread(self._connect, None)
            except ImportError as error:
                why = f"the package of {self.provider} is not installed ({error.name})"
        raise ModelFailed(ResultStatus.FAILED_MODEL, why, usage=Usage(self.provider, self.name))

    async def _rehearsal(self, address: str) -> None:
        connection = self._connect(address)
        try:
            await connection.complete(_REHEARSED, time.monotonic() + _REHEARSAL_S)
        finally:
            await connection.close()
