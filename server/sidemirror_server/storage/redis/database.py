"""The Redis that many sidecars share: how its adapter reaches it, and how it is known to be away, or to have forgotten.

    value = await database.ask("GET", key)
    kept = await database.run("put", keys, arguments)

Each question has one connection and one time limit, and is asked once: redis-py's own time limits are per attempt, and
its retries multiply them (research page reliability-and-security, fact 6). Its pool is not used either: a caller that
is cancelled while it gives a connection back leaves the pool with one less.

A task attends to the server all the time: it notices that it went away, asks every half second until it is back, and
looks at what it is like, and whether the marker that it left there is still the same. Until then calls are refused at
once. A server may be away at start; one that can never be used is refused.
"""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from hashlib import sha1
from pathlib import Path
from typing import Any, Self

import msgspec
import redis.exceptions as raised
from redis.asyncio.connection import Connection, SSLConnection, UnixDomainSocketConnection, parse_url

from sidemirror_server.storage.redis.failures import RedisFailureKind, meaning_of, refusal, store_failure
from sidemirror_server.storage.redis.keys import MARKER
from sidemirror_server.storage.redis.server_facts import RedisFacts, examine
from sidemirror_server.storage.sql import load_statements
from sidemirror_server.vocabulary.errors import SidemirrorError, StoreRefused, StoreUnavailable

_log = logging.getLogger(__name__)

# Chosen here: what is asked takes Redis well below a millisecond, and few callers ask at once.
_CONNECTIONS = 4
# Waiting for a connection, for its making, and for an answer, each.
_ANSWER_S = 1.0
# Design of the issue: the first success comes within 5 s of the server's return.
_PROBE_EVERY_S = 0.5
# How soon it is noticed that a server went away that nobody asks, that it was started again or emptied, or that it has
# evicted.
_LOOK_EVERY_S = 2.0
# How many bytes of chance a marker is made of.
_MARKER_BYTES = 16
# How often an eviction is news. Chosen here: a full one evicts all the time, and what puts back what it has lost makes
# it evict more.
_EVICTED_EVERY_S = 60.0
# A connection may break by itself; two in a row tell of the server.
_AWAY_AFTER = 2

_AnyConnection = Connection | SSLConnection | UnixDomainSocketConnection


class Scripts:
    """The scripts of a file, each with what stands under `common` before it. Redis knows them by their SHA-1."""

    def __init__(self, path: Path) -> None:
        parts = dict(load_statements(path))
        common = parts.pop("common")
        self._texts = {name: f"{common}\n{text}".encode() for name, text in parts.items()}
        self._digests = {name: sha1(text, usedforsecurity=False).hexdigest() for name, text in self._texts.items()}

    def text(self, name: str) -> bytes:
        """What Redis is given when it does not know the script."""
        return self._texts[name]

    def digest(self, name: str) -> str:
        """What it is named by from then on."""
        return self._digests[name]


class RedisDatabase:
    """One Redis. To be used from one event loop."""

    def __init__(self, kind: type[_AnyConnection], options: Mapping[str, Any], scripts: Scripts) -> None:
        """Use `open`."""
        self._kind = kind
        self._options = options
        self._scripts = scripts
        self._free = asyncio.Semaphore(_CONNECTIONS)
        self._idle: list[_AnyConnection] = []
        self._taken: set[_AnyConnection] = set()
        self._failures = 0
        self._away = True
        self._closed = False
        self._look = asyncio.Event()
        self._attending: asyncio.Task[None] | None = None
        self.standing: RedisFacts | None = None
        self._told: RedisFacts | None = None
        self._told_s = 0.0
        # Set when it may have lost something that was there: it was started anew or emptied, or has evicted. Whoever
        # waits for it clears it.
        self.may_have_forgotten = asyncio.Event()

    @classmethod
    async def open(cls, url: str, scripts: Scripts) -> Self:
        """The Redis at `url`: redis://, rediss:// or unix://. Where nobody answers it is away, and waited for.

        Raises StoreRefused, saying why, when it can never be used: a Cluster, a wrong password, a URL that is none.
        """
        try:
            options: dict[str, Any] = dict(parse_url(url))
        except ValueError as exc:
            raise StoreRefused(store="redis", reason="its URL is not one of redis://, rediss:// or unix://") from exc
        kind = options.pop("connection_class", Connection)
        options = {name: value for name, value in options.items() if name not in _POOLS}
        # No limit of the driver's own for commands: it would send them through `asyncio.wait_for`, which before Python
        # 3.12 loses a cancellation that comes as the sending ends, so that whoever cancels waits for ever.
        options |= {"protocol": 2, "socket_timeout": None, "socket_connect_timeout": _ANSWER_S}
        database = cls(kind, options, scripts)
        try:
            await database._meet()
        except BaseException:
            await database.close()
            raise
        database._look.set()  # for the marker: what is emptied after this is noticed
        database._attending = asyncio.get_running_loop().create_task(database._attend())
        return database

    async def _meet(self) -> None:
        """The first look at the server."""
        try:
            await self._examine()
        except StoreRefused:
            raise
        except (StoreUnavailable, raised.ResponseError) as exc:
            refused = refusal(exc)
            if refused is not None:
                raise refused from exc
            if isinstance(exc, raised.ResponseError):
                raise
            _log.warning("store_away", extra={"store": "redis"})

    async def close(self) -> None:
        """Cuts every connection; what runs fails."""
        self._closed = True
        if self._attending is not None:
            self._attending.cancel()
            await asyncio.gather(self._attending, return_exceptions=True)
        for connection in (*self._idle, *self._taken):
            await connection.disconnect()
        self._idle.clear()

    def is_available(self) -> bool:
        """Whether it answered when it was asked last."""
        return not (self._away or self._closed)

    def durability(self) -> str:
        """What an OK survives, for people."""
        return "it has not been reached yet" if self.standing is None else self.standing.durability

    def risks(self) -> tuple[str, ...]:
        """What may be forgotten that was acknowledged; empty when nothing may, or nothing is known yet."""
        return () if self.standing is None else self.standing.risks

    async def ask(self, *command: str | bytes | int) -> Any:
        """The answer to one command, bytes where it is a text. Raises StoreUnavailable (it may have happened) and
        StoreFull (it has not)."""
        self._check()
        async with self._translated():
            answer = await self._say(command)
        self._failures = 0
        return answer

    async def run(self, name: str, keys: Sequence[str], arguments: Sequence[str | bytes | int]) -> Any:
        """The answer of a script, which Redis runs as a whole before anything else. Raises what `ask` raises."""
        self._check()
        rest = (len(keys), *keys, *arguments)
        async with self._translated():
            try:
                answer = await self._say(("EVALSHA", self._scripts.digest(name), *rest))
            except raised.NoScriptError:
                answer = await self._say(("EVAL", self._scripts.text(name), *rest))
        self._failures = 0
        return answer

    def _check(self) -> None:
        if not self.is_available():
            raise StoreUnavailable(store="redis", reason="it did not answer; it is being asked again")

    # --- connections -------------------------------------------------------------------------------------------------

    async def _say(self, command: Sequence[str | bytes | int]) -> Any:
        async with self._connection() as connection, asyncio.timeout(_ANSWER_S):
            await connection.send_command(*command)
            return await connection.read_response()

    @contextlib.asynccontextmanager
    async def _connection(self) -> AsyncIterator[_AnyConnection]:
        """A connection, which is used again only when its last answer was read to the end."""
        try:
            async with asyncio.timeout(_ANSWER_S):
                await self._free.acquire()
        except TimeoutError as exc:
            raise StoreUnavailable(store="redis", reason=f"all {_CONNECTIONS} connections are busy") from exc
        connection = self._idle.pop() if self._idle else self._kind(**self._options)
        self._taken.add(connection)
        in_order = False
        try:
            if not connection.is_connected:
                async with asyncio.timeout(_ANSWER_S):
                    await connection.connect()  # type: ignore[no-untyped-call]  # it has no types
            try:
                yield connection
                in_order = True
            except raised.ResponseError:
                in_order = True
                raise
        finally:
            self._taken.discard(connection)
            self._free.release()
            if in_order and not self._closed:
                self._idle.append(connection)
            else:
                await connection.disconnect(nowait=True)

    @contextlib.asynccontextmanager
    async def _translated(self) -> AsyncIterator[None]:
        try:
            yield
        except SidemirrorError:
            raise
        except Exception as exc:
            if meaning_of(exc) is RedisFailureKind.AWAY:
                self._failed()
            failure = store_failure(exc)
            if failure is None:
                raise
            _log.warning("store_failed", extra={"store": "redis", "reason": failure.facts["reason"]})
            raise failure from exc

    # --- attending to the server -------------------------------------------------------------------------------------

    def _failed(self) -> None:
        self._failures += 1
        if self._failures >= _AWAY_AFTER and not self._away:
            self._went_away()
            self._look.set()

    def _went_away(self) -> None:
        self._away = True
        _log.warning("store_away", extra={"store": "redis"})

    async def _attend(self) -> None:
        while not self._closed:
            try:
                async with asyncio.timeout(_PROBE_EVERY_S if self._away else _LOOK_EVERY_S):
                    await self._look.wait()
            except TimeoutError:
                pass
            self._look.clear()
            try:
                await self._examine(marked=True)
            except StoreRefused as refusal:
                self._away = True
                _log.error("store_refused", extra={"store": "redis", "reason": str(refusal)})
            except (SidemirrorError, raised.RedisError) as error:
                if not self._away:
                    self._went_away()
                if isinstance(error, raised.RedisError):
                    _log.error("store_failed", extra={"store": "redis", "reason": type(error).__name__})

    async def _examine(self, *, marked: bool = False) -> None:
        """Looks at the server: from here on it is there. `marked`: sets the marker where there is none; a look alone
        writes nothing. Raises StoreRefused and StoreUnavailable."""
        if self._away:
            while self._idle:  # cut connections, most likely
                await self._idle.pop().disconnect(nowait=True)
        async with self._translated():
            found = await examine(lambda *command: self._say(command))
            if marked:
                found = msgspec.structs.replace(found, marker=await self._marker())
        before, self.standing = self.standing, found
        if self._away:
            _log.info("store_back" if before else "store_reached", extra={"store": "redis"})
        self._away, self._failures = False, 0
        if before is None or found.risks != before.risks:
            for risk in found.risks:
                _log.warning("store_not_durable", extra={"store": "redis", "reason": risk})
        self._tell_of_losses(found)

    async def _marker(self) -> str:
        """The marker, which is set where there is none; empty where that may not be, or there is no room for it."""
        try:
            found = await self._say(("GET", MARKER))
            if found is None:
                # Of several who find none, one sets it, and all of them find another than before.
                await self._say(("SET", MARKER, secrets.token_hex(_MARKER_BYTES), "NX"))
                found = await self._say(("GET", MARKER))
        except raised.ResponseError:
            return ""
        return found.decode(errors="replace") if isinstance(found, bytes) else ""

    def _tell_of_losses(self, found: RedisFacts) -> None:
        told, now_s = self._told, asyncio.get_running_loop().time()
        if told is None or found.run_id != told.run_id:
            is_news = True
        elif found.evicted_keys != told.evicted_keys:
            # The marker may be among what was evicted.
            is_news = now_s - self._told_s >= _EVICTED_EVERY_S
        else:
            is_news = bool(told.marker and found.marker) and found.marker != told.marker
        if is_news:
            self._told, self._told_s = found, now_s
            self.may_have_forgotten.set()
        elif told is not None and not told.marker:
            self._told = msgspec.structs.replace(told, marker=found.marker)


# What a URL may say of a pool or of retries, which there are none of here.
_POOLS = {"max_connections", "retry_on_timeout", "retry_on_error", "timeout"}
