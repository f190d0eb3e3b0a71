"""The Redis that many sidecars share: its connections and time limits, and a task that detects outages and lost data.

    value = await database.ask("GET", key)
    kept = await database.run("put", keys, arguments)

Each command is sent once, on one connection, with one time limit. redis-py's time limits apply to each attempt, so that
its retries multiply them (decision 010). redis-py's connection pool is not used either: a caller that is cancelled
while it returns a connection leaves the pool with one connection less.

A background task probes the server. After an outage it probes every half second until the server answers, then reads
the server's settings and checks that the marker is unchanged. Until then calls are refused at once. A server may be
unreachable at start; a server that can never be used is refused.
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

# Chosen here: each command takes Redis well below a millisecond, and few callers ask at once.
_CONNECTIONS = 4
# The time limit of each step: waiting for a free connection, connecting, and waiting for the answer.
_ANSWER_S = 1.0
# Decision 010: the first call succeeds within 5 s of the server's return.
_PROBE_EVERY_S = 0.5
# How often a healthy server is probed: an outage of an idle server, a restart, a flush or an eviction is detected
# within this time.
_LOOK_EVERY_S = 2.0
# Random bytes in a marker.
_MARKER_BYTES = 16
# The shortest time between two reports of evictions. Chosen here: a full Redis evicts all the time, and restoring the
# lost entries makes it evict more.
_EVICTED_EVERY_S = 60.0
# A single failure may concern one connection; two in a row mean that the server is away.
_AWAY_AFTER = 2

_AnyConnection = Connection | SSLConnection | UnixDomainSocketConnection


class Scripts:
    """The Lua scripts of a file, each preceded by the block `common`. Redis identifies a script by its SHA-1."""

    def __init__(self, path: Path) -> None:
        parts = dict(load_statements(path))
        common = parts.pop("common")
        self._texts = {name: f"{common}\n{text}".encode() for name, text in parts.items()}
        self._digests = {name: sha1(text, usedforsecurity=False).hexdigest() for name, text in self._texts.items()}

    def text(self, name: str) -> bytes:
        """The source, for EVAL: sent when Redis has not cached the script yet."""
        return self._texts[name]

    def digest(self, name: str) -> str:
        """The SHA-1 in hexadecimal, for EVALSHA."""
        return self._digests[name]


class RedisDatabase:
    """One Redis server. Use it from one event loop only."""

    def __init__(self, kind: type[_AnyConnection], options: Mapping[str, Any], scripts: Scripts) -> None:
        """Use `open`."""
        self._kind = kind
        self._options = options
        self._scripts = scripts
        self._free = asyncio.Semaphore(_CONNECTIONS)
        self._idle: list[_AnyConnection] = []
        self._taken: set[_AnyConnection] = set()
        self._failures = 0
        self._told_error = ""  # what the last look met
        self._away = True
        self._closed = False
        self._look = asyncio.Event()
        self._attending: asyncio.Task[None] | None = None
        self.standing: RedisFacts | None = None
        self._told: RedisFacts | None = None
        self._told_s = 0.0
        # Set when the server may have lost data: it was restarted, was flushed, or has evicted keys. The task that
        # waits for the event clears it.
        self.may_have_forgotten = asyncio.Event()

    @classmethod
    async def open(cls, url: str, scripts: Scripts) -> Self:
        """The Redis at `url`: redis://, rediss:// or unix://. A server that does not answer is probed until it does.

        Raises StoreRefused with the reason when it can never be used: a Cluster, a wrong password, an invalid URL.
        """
        try:
            options: dict[str, Any] = dict(parse_url(url))
        except ValueError as exc:
            raise StoreRefused(store="redis", reason="its URL is not one of redis://, rediss:// or unix://") from exc
        kind = options.pop("connection_class", Connection)
        options = {name: value for name, value in options.items() if name not in _POOLS}
        # The driver gets no time limit for commands: it would use `asyncio.wait_for`, which before Python 3.12 loses a
        # cancellation that arrives as the send ends. The cancelling task would then wait for ever.
        options |= {"protocol": 2, "socket_timeout": None, "socket_connect_timeout": _ANSWER_S}
        database = cls(kind, options, scripts)
        try:
            await database._meet()
        except BaseException:
            await database.close()
            raise
        database._look.set()  # sets the marker now, so that a later flush is detected
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
            _tell_away(exc)

    async def close(self) -> None:
        """Closes every connection; commands in progress fail."""
        self._closed = True
        if self._attending is not None:
            self._attending.cancel()
            await asyncio.gather(self._attending, return_exceptions=True)
        for connection in (*self._idle, *self._taken):
            await connection.disconnect()
        self._idle.clear()

    @property
    def place(self) -> str:
        """Where the server is, such as `cache:6379` or `unix:/run/redis`, without credentials."""
        if path := self._options.get("path"):
            return f"unix:{path}"
        host = self._options.get("host", "localhost")
        return f"{f'[{host}]' if ':' in host else host}:{self._options.get('port', 6379)}"

    def is_available(self) -> bool:
        """Whether the server answered the last command or probe."""
        return not (self._away or self._closed)

    def durability(self) -> str:
        """Which crashes an acknowledged write survives, as a sentence for people."""
        return "it has not been reached yet" if self.standing is None else self.standing.durability

    def risks(self) -> tuple[str, ...]:
        """How acknowledged writes may be lost, as sentences; empty if they cannot, or before the first answer."""
        return () if self.standing is None else self.standing.risks

    async def ask(self, *command: str | bytes | int) -> Any:
        """The answer to one command; texts are bytes. Raises StoreUnavailable (the command may have run) and StoreFull
        (it did not)."""
        self._check()
        async with self._translated():
            answer = await self._say(command)
        self._failures = 0
        return answer

    async def run(self, name: str, keys: Sequence[str], arguments: Sequence[str | bytes | int]) -> Any:
        """The answer of a script, which Redis runs atomically. Raises the errors of `ask`."""
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
        """A connection. It is reused only if its last answer was read to the end."""
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
                    await connection.connect()  # type: ignore[no-untyped-call]  # redis-py has no types for it
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
                self._failed(exc)
            failure = store_failure(exc)
            if failure is None:
                raise
            # A server that is away has a line of its own.
            level = logging.INFO if isinstance(failure, StoreUnavailable) else logging.WARNING
            if not self._away:
                _log.log(level, "store_failed", extra={"store": "redis", "reason": failure.facts["reason"]})
            raise failure from exc

    # --- attending to the server -------------------------------------------------------------------------------------

    def _failed(self, cause: Exception) -> None:
        self._failures += 1
        if self._failures >= _AWAY_AFTER and not self._away:
            self._went_away(cause)
            self._look.set()

    def _went_away(self, cause: Exception) -> None:
        self._away = True
        _tell_away(cause)

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
                self._tell_error("store_refused", str(refusal))
            except (SidemirrorError, raised.RedisError) as error:
                if not self._away:
                    self._went_away(error)
                if isinstance(error, raised.RedisError):
                    self._tell_error("store_failed", type(error).__name__)
            else:
                self._told_error = ""

    def _tell_error(self, event: str, reason: str) -> None:
        """Logs what a look has met, unless the look before has met the same."""
        if self._told_error != reason:
            _log.error(event, extra={"store": "redis", "reason": reason})
        self._told_error = reason

    async def _examine(self, *, marked: bool = False) -> None:
        """Reads the server's settings and marks the server as available. `marked`: also sets the marker if it is
        missing; otherwise nothing is written. Raises StoreRefused and StoreUnavailable."""
        if self._away:
            while self._idle:  # most likely broken
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
        """The marker, set first if it is missing; empty if Redis refuses the command or has no room."""
        try:
            found = await self._say(("GET", MARKER))
            if found is None:
                # When several sidecars find no marker, NX lets one of them set it, and all of them see a new value.
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
            # The marker may have been evicted too.
            is_news = now_s - self._told_s >= _EVICTED_EVERY_S
        else:
            is_news = bool(told.marker and found.marker) and found.marker != told.marker
        if is_news:
            self._told, self._told_s = found, now_s
            self.may_have_forgotten.set()
        elif told is not None and not told.marker:
            self._told = msgspec.structs.replace(told, marker=found.marker)


# URL options for a pool or for retries. Neither is used here, so the options are ignored.
_POOLS = {"max_connections", "retry_on_timeout", "retry_on_error", "timeout"}


def _tell_away(cause: Exception) -> None:
    failure = cause if isinstance(cause, SidemirrorError) else store_failure(cause)
    reason = type(cause).__name__ if failure is None else failure.facts.get("reason", "")
    _log.warning("store_away", extra={"store": "redis", "reason": reason})
