"""From settings to a server: the one place that knows every adapter, and that owns every lifetime.

async with assemble(settings) as sidecar:
    await sidecar.serve_until(stop)
"""

import asyncio
import contextlib
import importlib.metadata
import logging
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import msgspec

from sidemirror_server.models.adapters.rules import RulesModel
from sidemirror_server.models.language_model import LanguageModel
from sidemirror_server.rpc import server as rpc_server
from sidemirror_server.rpc.identity import Identity
from sidemirror_server.rpc.info import ModelFacts, ServerInfo, StoreFacts
from sidemirror_server.rpc.interceptors import Boundary
from sidemirror_server.rpc.listening import UNIX, CannotListen, check_address, held_socket, socket_mode
from sidemirror_server.rpc.reflections import ReflectionCalls
from sidemirror_server.rpc.requests import Once
from sidemirror_server.rpc.run_turn import TurnStreams
from sidemirror_server.rpc.sessions import SessionCalls
from sidemirror_server.rpc.sidecar import SidecarCalls
from sidemirror_server.rpc.streams import StreamLimits, Streams
from sidemirror_server.rpc.tracing import Tracing
from sidemirror_server.rpc.turns import TurnCalls
from sidemirror_server.rpc.watch import WatchStreams
from sidemirror_server.settings import Settings
from sidemirror_server.storage.sqlite.database import Database
from sidemirror_server.storage.sqlite.requests import SqliteRequests
from sidemirror_server.storage.sqlite.sessions import SqliteSessions
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from sidemirror_server.thinking.store import Sessions
from sidemirror_server.trace.live import Bell
from sidemirror_server.trace.log import TurnLog
from sidemirror_server.trace.requests import Requests
from sidemirror_server.turns.conductor import Conductor, TurnLimits
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.turns.reflecting import Reflections
from sidemirror_server.vocabulary.clock import Clock, SystemClock
from sidemirror_server.vocabulary.errors import SidemirrorError
from sidemirror_server.vocabulary.scope import Scope

_log = logging.getLogger(__name__)

# How often turns that need no memory are let go, idle ones abandoned and expired answers forgotten.
_SWEEP_EVERY_S = 30.0
_FORGET_AT_ONCE = 1_000
# What of the grace period is kept for the store, after the calls had theirs.
_STORE_GRACE_S = 2.0
# How often a watch looks for what other processes have recorded. The embedded store has one process: nothing to find.
_LOOK_AGAIN_S = 30.0


class Stores(msgspec.Struct, frozen=True):
    """The ports that the server keeps its records in, and what there is to say about them."""

    log: TurnLog
    sessions: Sessions
    requests: Requests
    facts: tuple[StoreFacts, ...]


class Sidecar:
    """A server that is put together. `port` is known once it is started."""

    def __init__(
        self,
        settings: Settings,
        stores: Stores,
        model: LanguageModel,
        clock: Clock,
        turn_limits: TurnLimits,
        socket: str | None,
    ) -> None:
        limits = settings.limits
        self._settings = settings
        self._stores = stores
        self._clock = clock
        self._socket = socket
        self.port = 0
        bell = Bell()
        self.recorder = Recorder(stores.log, bell, limits.backlog_bytes)
        reflections = Reflections(model, self.recorder, clock)
        self.conductor = Conductor(stores.log, stores.sessions, self.recorder, reflections, clock, turn_limits)
        streams = Streams(StreamLimits(settings.heartbeat_s, limits.idle_stream_s))
        own = Scope(settings.tenant_id, settings.project_id)
        identity = Identity(own, pinned=settings.pin_scope)
        self._boundary = boundary = Boundary(
            identity, Once(stores.requests, clock), clock, Tracing(on=settings.tracing)
        )
        self.server = rpc_server.Server(streams, limits.message_bytes, limits.streams_per_connection)
        thinking = (
            SessionCalls(stores.sessions, self.conductor),
            TurnCalls(stores.log, self.conductor, self.recorder),
            ReflectionCalls(stores.sessions, self.conductor, self.recorder),
            TurnStreams(self.conductor, streams),
            WatchStreams(stores.log, bell, streams, _LOOK_AGAIN_S),
        )
        sidecar = (SidecarCalls(_info(settings, own, stores, model)),)
        self.server.register(rpc_server.THINKING, rpc_server.handlers_of(boundary, rpc_server.THINKING, thinking))
        self.server.register(rpc_server.SIDECAR, rpc_server.handlers_of(boundary, rpc_server.SIDECAR, sidecar))
        if settings.reflection:
            self.server.reflect()

    @property
    def address(self) -> str:
        """Where it listens, once it is started, as a client says it; the TCP address when there are two."""
        if self._settings.address.startswith(UNIX):
            return self._settings.address
        return f"{self._settings.address.rpartition(':')[0]}:{self.port}"

    async def start(self) -> None:
        """Listens and serves. Raises CannotListen when the address is taken."""
        address = self._settings.address
        if not address.startswith(UNIX):
            self._listen(check_address(address))
        with socket_mode():
            if self._socket is not None:
                self.server.listen(self._socket)
            await self.server.start()
        _log.info("serving", extra={"address": address, "port": self.port, "socket": self._socket or ""})

    def _listen(self, address: str) -> None:
        try:
            self.port = self.server.listen(address)
        except RuntimeError as error:
            raise CannotListen(f"address {address!r}: it is in use, or not an address of this machine") from error

    async def serve_until(self, stop: Awaitable[object]) -> None:
        """Serves until `stop` is done, then drains. A background task that fails ends the server, loudly."""
        async with asyncio.TaskGroup() as group:
            background = [group.create_task(self.recorder.run()), group.create_task(self._sweep())]
            await stop
            await self.drain()
            for task in background:
                task.cancel()

    async def drain(self) -> None:
        """Says that it goes away, lets calls end, and makes durable what turns have recorded."""
        grace_s = self._settings.grace_s
        ends_s = self._clock.monotonic_s() + grace_s
        self._boundary.refuse()
        await self.server.announce_end(grace_s)
        await self.server.stop(max(0.0, grace_s - _STORE_GRACE_S))
        self.conductor.give_up_all()
        try:
            async with asyncio.timeout(max(0.5, ends_s - self._clock.monotonic_s())):
                await self.recorder.drain()
        except TimeoutError:
            _log.error("turns_not_recorded", extra={"reason": "the store did not answer before the grace period ended"})

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_EVERY_S)
            try:
                await self.conductor.sweep()
                await self._stores.requests.forget(self._clock.now_us(), _FORGET_AT_ONCE)
            except SidemirrorError as error:
                _log.warning("sweep_failed", extra={"reason": str(error)})


@contextlib.asynccontextmanager
async def assemble(
    settings: Settings,
    *,
    model: LanguageModel | None = None,
    clock: Clock | None = None,
    turn_limits: TurnLimits | None = None,
) -> AsyncIterator[Sidecar]:
    """A server made of these settings, with everything that it owns; all of it is closed at the end.

    `model`, `clock` and `turn_limits` stand in for the settings' own, for tests and demonstrations.
    """
    clock = clock or SystemClock()
    limits = turn_limits or TurnLimits(
        events_per_turn=settings.limits.events_per_turn, abandon_after_s=settings.abandon_after_s
    )
    async with contextlib.AsyncExitStack() as stack:
        path = settings.socket or settings.address.removeprefix(UNIX) * settings.address.startswith(UNIX)
        socket = stack.enter_context(held_socket(Path(path))) if path else None
        database = await Database.open(settings.data_dir, now_us=clock.now_us())
        stack.push_async_callback(database.close)
        stores = Stores(
            log=SqliteTurnLog(database),
            sessions=SqliteSessions(database),
            requests=SqliteRequests(database),
            facts=(StoreFacts("sqlite", "everything", _DURABILITY, lambda: True),),
        )
        yield Sidecar(settings, stores, model or RulesModel(), clock, limits, socket)


_DURABILITY = "an OK survives a crash of the sidecar and of the machine (WAL, synchronous=FULL)"


def _info(settings: Settings, own: Scope, stores: Stores, model: LanguageModel) -> ServerInfo:
    limits = {name: int(value) for name, value in msgspec.structs.asdict(settings.limits).items()}
    return ServerInfo(
        version=importlib.metadata.version("sidemirror-server"),
        own_scope=own,
        stores=stores.facts,
        models=(ModelFacts("mid-turn reflection", model.provider, model.name),),
        limits=limits,
    )
