"""From settings to a server: the one place that knows every adapter, and that owns every lifetime.

async with assemble(settings) as sidecar:
    await sidecar.serve_until(stop)
"""

import asyncio
import contextlib
import importlib.metadata
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from sidemirror_server.critique.keeping import Critic
from sidemirror_server.critique.store import Critiques
from sidemirror_server.entrance import answers_reflection, call_limits, check_listeners, credentials_of, identity_of
from sidemirror_server.memory import prompts as memory_prompts
from sidemirror_server.memory.context import MemoryContext
from sidemirror_server.memory.keep import Keeper, Trust
from sidemirror_server.memory.meanings import MemoryMeanings
from sidemirror_server.memory.prompts import MemoryPrompts
from sidemirror_server.memory.recall import Recall
from sidemirror_server.memory.reflector import Reflector
from sidemirror_server.memory.scoring import Scorer, models_own
from sidemirror_server.memory.search import MemorySearch
from sidemirror_server.memory.store import Memories
from sidemirror_server.memory.waking import WakingMemories
from sidemirror_server.models.adapters.anthropic import AnthropicModel
from sidemirror_server.models.adapters.openai_compatible import OpenAICompatibleEmbedder, OpenAICompatibleModel
from sidemirror_server.models.adapters.rules import RulesModel
from sidemirror_server.models.embedding import PaidEmbedder
from sidemirror_server.models.gateway import Gateway, Provider, Route
from sidemirror_server.models.language_model import LanguageModel, Purpose
from sidemirror_server.models.ledger import NANO, Cap, Ledger
from sidemirror_server.models.prices import OwnPrice, Prices
from sidemirror_server.models.profiles import Profile
from sidemirror_server.models.spending import Caps, Spending
from sidemirror_server.models.templates import BadTemplate, Templates
from sidemirror_server.observing import Gauge, observe, with_times
from sidemirror_server.rpc import server as rpc_server
from sidemirror_server.rpc.admission import Admission
from sidemirror_server.rpc.critique import CritiqueCalls
from sidemirror_server.rpc.critiques import KeptCritiqueCalls
from sidemirror_server.rpc.disabled import DisabledCalls
from sidemirror_server.rpc.health import HealthListener
from sidemirror_server.rpc.info import ModelFacts, ServerInfo, StoreFacts
from sidemirror_server.rpc.interceptors import Boundary
from sidemirror_server.rpc.listening import UNIX, CannotListen, give_to_group, held_socket, socket_mode
from sidemirror_server.rpc.memories import KeptMemoryCalls
from sidemirror_server.rpc.memory import MemoryCalls
from sidemirror_server.rpc.memory_search import MemorySearchCalls
from sidemirror_server.rpc.portable_memories import PortableMemoryCalls
from sidemirror_server.rpc.reflections import ReflectionCalls
from sidemirror_server.rpc.requests import Once
from sidemirror_server.rpc.run_turn import TurnStreams
from sidemirror_server.rpc.sessions import SessionCalls
from sidemirror_server.rpc.sidecar import SidecarCalls
from sidemirror_server.rpc.streams import StreamLimits, Streams
from sidemirror_server.rpc.tracing import Tracing
from sidemirror_server.rpc.turn_material import TurnMaterial
from sidemirror_server.rpc.turns import TurnCalls
from sidemirror_server.rpc.watch import WatchStreams
from sidemirror_server.settings import BadSettings, PurposeSettings, Settings, is_measured
from sidemirror_server.storage.sqlite.critiques import SqliteCritiques
from sidemirror_server.storage.sqlite.database import FILE_NAME, Database
from sidemirror_server.storage.sqlite.ledger import SqliteLedger
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.memory_process import SearchProcess
from sidemirror_server.storage.sqlite.memory_search import SqliteMemorySearch
from sidemirror_server.storage.sqlite.receipts import SqliteReceipts
from sidemirror_server.storage.sqlite.requests import SqliteRequests
from sidemirror_server.storage.sqlite.sessions import SqliteSessions
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from sidemirror_server.thinking.prompts import ReflectionPrompts, templates
from sidemirror_server.thinking.store import Sessions
from sidemirror_server.trace.live import Bell, Lookout
from sidemirror_server.trace.log import TurnLog
from sidemirror_server.trace.receipts import KEPT_FOR_US as RECEIPTS_KEPT_FOR_US
from sidemirror_server.trace.receipts import Receipts
from sidemirror_server.trace.requests import Requests
from sidemirror_server.turns.conductor import Conductor, TurnLimits
from sidemirror_server.turns.critiquing import TurnCritiques
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.turns.reflecting import Reflections
from sidemirror_server.vocabulary.clock import Clock, SystemClock
from sidemirror_server.vocabulary.errors import SidemirrorError
from sidemirror_server.vocabulary.scope import Scope

if TYPE_CHECKING:
    from sidemirror_server.storage.postgres.examine import ExaminedShared
    from sidemirror_server.storage.sqlite.examine import Examined

_log = logging.getLogger(__name__)

# How often turns that need no memory are let go, idle ones abandoned and expired answers forgotten.
_SWEEP_EVERY_S = 30.0
_FORGET_AT_ONCE = 1_000
# What of the grace period is kept for the store, after the calls had theirs.
_STORE_GRACE_S = 2.0
# How often to look for what other processes have recorded, while somebody watches. Chosen here: soon enough for a
# person who watches another sidecar's agent.
_LOOK_EVERY_S = 0.5
# How often a store that tells nobody is looked at. Chosen here: a look is a flag's value, and probes come every 5 s.
_LOOK_AT_STORE_S = 1.0
# What is of no use without its store; the others think and answer without it, and say in their answers what they lack.
_NEED_THE_STORE = (rpc_server.CRITIQUE.full_name, rpc_server.MEMORY.full_name)


class Stores(msgspec.Struct, frozen=True):
    """The ports that the server keeps its records in, and what there is to say about them. `is_shared`: other processes
    put records there too. `changed` is set when the store went away or came back."""

    log: TurnLog
    sessions: Sessions
    requests: Requests
    ledger: Ledger
    critiques: Critiques
    receipts: Receipts
    memories: Memories
    memory_search: MemorySearch
    facts: tuple[StoreFacts, ...]
    is_shared: bool
    changed: asyncio.Event


class Sidecar:
    """A server that is put together. `port` is known once it is started."""

    def __init__(
        self,
        settings: Settings,
        stores: Stores,
        routes: Mapping[Purpose, Route],
        clock: Clock,
        turn_limits: TurnLimits,
        socket: str | None,
    ) -> None:
        limits = settings.limits
        self._settings = settings
        self._stores = stores
        self._clock = clock
        self._socket = socket
        # Services that a setting has turned off.
        self._off = () if settings.memory.enabled else (rpc_server.MEMORY.full_name,)
        self.port = 0
        self._health_listener: HealthListener | None = None
        bell = Bell()
        self._lookout = Lookout(stores.log, bell, _LOOK_EVERY_S) if stores.is_shared else None
        self.recorder = Recorder(stores.log, bell, limits.backlog_bytes)
        spending = Spending(stores.ledger, _caps(settings), clock)
        self.gateway = Gateway(routes, spending, clock)
        embedder = _embedder(settings, spending, clock)
        self.meanings = None if embedder is None else MemoryMeanings(embedder, stores.memory_search)
        if self.meanings is not None:
            waking = WakingMemories(stores.memories, self.meanings.wake)
            stores = self._stores = msgspec.structs.replace(stores, memories=waking)
        own_templates = _templates(settings)
        prompts = ReflectionPrompts(own_templates)
        reflections = Reflections(self.gateway, prompts, self.recorder, clock)
        critic = Critic(self.gateway, stores.critiques, clock)
        critiques = TurnCritiques(critic, self.recorder, clock)
        self.conductor = Conductor(
            stores.log, stores.sessions, self.recorder, reflections, critiques, clock, turn_limits
        )
        streams = Streams(StreamLimits(settings.heartbeat_s, limits.idle_stream_s, limits.stream_age_s))
        own = Scope(settings.tenant_id, settings.project_id)
        self.admission = Admission(call_limits(settings), clock)
        self._boundary = boundary = Boundary(
            identity_of(settings, clock),
            self.admission,
            Once(stores.requests, clock),
            clock,
            Tracing(on=settings.tracing),
            limits.text_bytes,
            metered=is_measured(settings),
        )
        self.server = rpc_server.Server(streams, limits.message_bytes, limits.streams_per_connection)
        thinking = (
            SessionCalls(stores.sessions, self.conductor),
            TurnCalls(stores.log, self.conductor, self.recorder),
            ReflectionCalls(stores.sessions, self.conductor, self.recorder, prompts),
            TurnStreams(self.conductor, streams),
            WatchStreams(stores.log, bell, streams),
        )
        turns = TurnMaterial(stores.log, self.conductor, self.recorder)
        critique = (
            CritiqueCalls(self.gateway, critic, turns),
            KeptCritiqueCalls(self.gateway, stores.critiques, turns),
        )
        memory = _memory_calls(settings, stores, self.gateway, own_templates, clock, turns, self.meanings)
        sidecar = (SidecarCalls(_info(settings, own, stores, routes), spending),)
        for service, calls in (
            (rpc_server.THINKING, thinking),
            (rpc_server.CRITIQUE, critique),
            (rpc_server.MEMORY, memory),
            (rpc_server.SIDECAR, sidecar),
        ):
            self.server.register(service, rpc_server.handlers_of(boundary, service, calls))
        if answers_reflection(settings):
            self.server.reflect()
        if is_measured(settings):
            observe(self._gauges())
        self._credentials = credentials_of(settings, clock)

    def _gauges(self) -> Iterable[Gauge]:
        """What metrics tell of the state of things, beside what is counted as it happens."""
        clock, loop = self._clock, asyncio.get_running_loop()
        return (
            ("sidemirror.streams.open", "{stream}", "Streams that are open.", lambda: [(self.admission.streams, {})]),
            (
                "sidemirror.calls.running",
                "{call}",
                "Unary calls that are served.",
                lambda: [(self.admission.calls, {})],
            ),
            ("sidemirror.turns.memory", "{turn}", "Turns in memory.", lambda: [(len(self.conductor), {})]),
            ("sidemirror.tasks", "{task}", "Tasks of the server's loop.", lambda: [(len(asyncio.all_tasks(loop)), {})]),
            ("sidemirror.backlog", "By", "What waits for the store.", lambda: [(self.recorder.waiting_bytes, {})]),
            (
                "sidemirror.durable.lag",
                "s",
                "For how long the turn that waited longest has had something that is not durable.",
                lambda: [(self.recorder.lag_s(clock.monotonic_s()), {})],
            ),
            (
                "sidemirror.store.available",
                "1",
                "1 when the store answered when it was asked last.",
                lambda: [(int(store.is_available()), {"store": store.kind}) for store in self._stores.facts],
            ),
        )

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
            self._listen(address)
        with socket_mode(int(self._settings.socket_mode, 8)):
            if self._socket is not None:
                self.server.listen(self._socket)
                if self._settings.socket_group:
                    give_to_group(self._socket, self._settings.socket_group)
            await self.server.start(unable=self._off if self._store_answers() else (*self._off, *_NEED_THE_STORE))
        if self._settings.health_address:
            self._health_listener = HealthListener(self.server.health, self._settings.health_address)
            await self._health_listener.start()
            _log.info("health_served", extra={"port": self._health_listener.port})
        _log.info("serving", extra={"address": address, "port": self.port, "socket": self._socket or ""})

    def _store_answers(self) -> bool:
        return all(store.is_available() for store in self._stores.facts)

    async def _follow_the_store(self) -> None:
        """Says of the services that need the store whether it is there, and wakes what waits for it."""
        said = self._store_answers()
        while True:
            # The embedded store tells nobody: it fails when it is asked, and answers again when it is.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_AT_STORE_S):
                    await self._stores.changed.wait()
            told = self._stores.changed.is_set()
            self._stores.changed.clear()
            answers = self._store_answers()
            if answers == said and not told:
                continue
            said = answers
            for service in _NEED_THE_STORE:
                await self.server.set_able(service, able=answers and service not in self._off)
            if answers:
                self.recorder.try_again()

    def _listen(self, address: str) -> None:
        try:
            self.port = self.server.listen(address, self._credentials)
        except RuntimeError as error:
            raise CannotListen(f"address {address!r}: it is in use, or not an address of this machine") from error

    async def serve_until(self, stop: Awaitable[object]) -> None:
        """Serves until `stop` is done, then drains. A background task that fails ends the server, loudly."""
        async with asyncio.TaskGroup() as group:
            work = [self.recorder.run(), self._sweep(), self.gateway.prepare(), self._follow_the_store()]
            if self._lookout is not None:
                work.append(self._lookout.run())
            background = [group.create_task(task) for task in work]
            if self.meanings is not None:
                background.append(group.create_task(self.meanings.run()))
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
        if self._health_listener is not None:
            await self._health_listener.stop()

    async def close(self) -> None:
        """Ends what is under way with models."""
        await self.gateway.close()
        if self.meanings is not None:
            await self.meanings.close()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_EVERY_S)
            try:
                await self.conductor.sweep()
                await self._stores.requests.forget(self._clock.now_us(), _FORGET_AT_ONCE)
                await self._stores.receipts.forget(self._clock.now_us() - RECEIPTS_KEPT_FOR_US, _FORGET_AT_ONCE)
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

    `model`, `clock` and `turn_limits` stand in for the settings' own, for tests and demonstrations; such a model costs
    nothing. Raises BadSettings, StoreUnavailable, CannotListen.
    """
    clock = clock or SystemClock()
    limits = turn_limits or TurnLimits(
        events_per_turn=settings.limits.events_per_turn,
        turn_bytes=settings.limits.turn_bytes,
        abandon_after_s=settings.abandon_after_s,
    )
    check_listeners(settings)
    async with contextlib.AsyncExitStack() as stack:
        alone = settings.address.removeprefix(UNIX) if settings.address.startswith(UNIX) else ""
        path = settings.socket.removeprefix(UNIX) or alone
        socket = stack.enter_context(held_socket(Path(path), settings.socket_group)) if path else None
        stores = await (_shared(settings, stack) if settings.database_url else _embedded(settings, clock, stack))
        if is_measured(settings):
            stores = with_times(stores, ("log", "sessions", "requests", "ledger", "critiques"))
        routes = routes_of(settings, clock) if model is None else _stand_in(model, clock)
        sidecar = Sidecar(settings, stores, routes, clock, limits, socket)
        stack.push_async_callback(sidecar.close)
        yield sidecar


async def _embedded(settings: Settings, clock: Clock, stack: contextlib.AsyncExitStack) -> Stores:
    """Everything in a SQLite file of this sidecar's own."""
    database = await Database.open(settings.data_dir, now_us=clock.now_us())
    stack.push_async_callback(database.close)
    searches = SearchProcess(settings.data_dir / FILE_NAME)
    stack.push_async_callback(searches.close)
    durability = "an OK survives a crash of the sidecar and of the machine (WAL, synchronous=FULL)"
    return Stores(
        log=SqliteTurnLog(database),
        sessions=SqliteSessions(database),
        requests=SqliteRequests(database),
        ledger=SqliteLedger(database),
        critiques=SqliteCritiques(database),
        receipts=SqliteReceipts(database),
        memories=SqliteMemories(database),
        memory_search=SqliteMemorySearch(database, searches),
        facts=(StoreFacts("sqlite", "everything", durability, database.answers),),
        is_shared=False,
        changed=asyncio.Event(),
    )


async def _shared(settings: Settings, stack: contextlib.AsyncExitStack) -> Stores:
    """Everything in a Postgres database that many sidecars share, be it there or away; raises StoreRefused when it must
    not be used. Its driver is loaded only here."""
    from sidemirror_server.storage.postgres.critiques import PostgresCritiques
    from sidemirror_server.storage.postgres.database import Database as PostgresDatabase
    from sidemirror_server.storage.postgres.ledger import PostgresLedger
    from sidemirror_server.storage.postgres.memories import PostgresMemories
    from sidemirror_server.storage.postgres.memory_search import PostgresMemorySearch
    from sidemirror_server.storage.postgres.receipts import PostgresReceipts
    from sidemirror_server.storage.postgres.requests import PostgresRequests
    from sidemirror_server.storage.postgres.sessions import PostgresSessions
    from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog

    changed = asyncio.Event()
    database = await PostgresDatabase.open(
        settings.database_url.reveal(),
        connections=settings.database_connections,
        # Thinking goes on while the store is away, also from the start.
        must_answer=False,
        changed=changed.set,
    )
    stack.push_async_callback(database.close)
    durability = "an OK survives a crash of the sidecar and of the database (synchronous_commit)"
    return Stores(
        log=PostgresTurnLog(database),
        sessions=PostgresSessions(database),
        requests=PostgresRequests(database),
        ledger=PostgresLedger(database),
        critiques=PostgresCritiques(database),
        receipts=PostgresReceipts(database),
        memories=PostgresMemories(database),
        memory_search=PostgresMemorySearch(database),
        facts=(StoreFacts("postgres", "everything", durability, database.is_available),),
        is_shared=True,
        changed=changed,
    )


async def migrate_shared(url: str, grant_to: Sequence[str]) -> tuple[str, ...]:
    """Brings the schema of a Postgres database up to date, as its owner, and lets the roles use it; returns the
    migrations applied now, by name. Raises StoreUnavailable, saying why."""
    from sidemirror_server.storage.postgres.migrate import migrate

    return await migrate(url, grant_to, SystemClock().now_us())


# The provider's small model (research page critique-and-thinking, section 3). openai_compatible: OpenAI's, at its own
# address only; what another server has nobody knows.
_SMALL = {"anthropic": "claude-haiku-5-5", "openai_compatible": "gpt-5-mini", "rules": RulesModel.name}
# Where another package offers a provider: a callable (model name, API key or None, base URL or None) → LanguageModel.
_ENTRY_POINTS = "sidemirror.models"
# Where another package offers a scorer of memories: a callable `memory.scoring.Scored` → `memory.scoring.Scores`.
_SCORERS = "sidemirror.scorers"


def examine_store(settings: Settings) -> "Examined":
    """What is found where these settings keep records, without opening it as a server does."""
    from sidemirror_server.storage.sqlite.examine import examine

    return examine(settings.data_dir)


async def examine_shared_store(settings: Settings, now_us: int) -> "ExaminedShared":
    """The same of the Postgres that these settings name."""
    from sidemirror_server.storage.postgres.examine import examine_shared

    return await examine_shared(settings.database_url.reveal(), settings.database_connections, now_us)


def routes_of(settings: Settings, clock: Clock) -> dict[Purpose, Route]:
    """What answers for each purpose, as the settings have it. Raises BadSettings."""
    chosen = settings.model
    make = _maker(chosen.provider)
    small = "" if chosen.base_url and chosen.provider == "openai_compatible" else _SMALL.get(chosen.provider, "")
    own_price = None
    if chosen.input_usd_per_mtok is not None and chosen.output_usd_per_mtok is not None:
        own_price = OwnPrice(chosen.input_usd_per_mtok, chosen.output_usd_per_mtok)
    providers: dict[str, Provider] = {}
    routes = {}
    for purpose in Purpose:
        own: PurposeSettings = getattr(settings.purposes, purpose.value, PurposeSettings())
        name = own.model or chosen.name or small
        if not name:
            raise BadSettings(f"model__name (SIDEMIRROR_MODEL__NAME): {chosen.provider} needs the name of a model")
        if name not in providers:
            prices = Prices(chosen.provider, name, chosen.base_url or None, own_price)
            model = make(name, chosen.api_key.reveal() or None, chosen.base_url or None)
            is_free = isinstance(model, RulesModel)
            providers[name] = Provider(model, None if is_free else prices, chosen.concurrency, clock)
        routes[purpose] = Route(providers[name], Profile(own.effort, own.temperature, own.max_tokens))
    return routes


def _maker(provider: str) -> Callable[[str, str | None, str | None], LanguageModel]:
    """What makes a model of the provider from its name, key and address. Raises BadSettings for an unknown one."""
    ours: dict[str, Callable[[str, str | None, str | None], LanguageModel]] = {
        "rules": lambda _name, _key, _url: RulesModel(),
        "anthropic": AnthropicModel,
        "openai_compatible": OpenAICompatibleModel,
    }
    if provider in ours:
        return ours[provider]
    offered = {point.name: point for point in importlib.metadata.entry_points(group=_ENTRY_POINTS)}
    if provider not in offered:
        known = ", ".join([*ours, *sorted(offered)])
        raise BadSettings(f"model__provider (SIDEMIRROR_MODEL__PROVIDER): there is no {provider!r}; there are {known}")
    found: Callable[[str, str | None, str | None], LanguageModel] = offered[provider].load()
    return found


def _stand_in(model: LanguageModel, clock: Clock) -> dict[Purpose, Route]:
    provider = Provider(model, None, 1, clock)
    return {purpose: Route(provider) for purpose in Purpose}


def _caps(settings: Settings) -> Caps:
    spend = settings.spend
    return Caps(
        total=_cap(spend.tokens_per_day, spend.usd_per_day),
        tenant=_cap(spend.tenant_tokens_per_day, spend.tenant_usd_per_day),
        project=_cap(spend.project_tokens_per_day, spend.project_usd_per_day),
        purposes={
            purpose: _cap(own.tokens_per_day, own.usd_per_day)
            for purpose in Purpose
            if (own := getattr(settings.purposes, purpose.value, None)) is not None
        },
    )


def _cap(tokens: int | None, usd: float | None) -> Cap:
    return Cap(tokens, None if usd is None else round(usd * NANO))


def _templates(settings: Settings) -> Templates | None:
    if not settings.prompts_dir:
        return None
    try:
        return Templates(Path(settings.prompts_dir), {**templates(), **memory_prompts.templates()})
    except BadTemplate as error:
        raise BadSettings(f"prompts_dir (SIDEMIRROR_PROMPTS_DIR): {error}") from error


def _scorer(name: str) -> Scorer:
    """The scorer of that name, or the model's own scores. Raises BadSettings for an unknown one."""
    if not name:
        return models_own
    offered = {point.name: point for point in importlib.metadata.entry_points(group=_SCORERS)}
    if name not in offered:
        known = ", ".join(sorted(offered)) or "none"
        raise BadSettings(f"memory__scorer (SIDEMIRROR_MEMORY__SCORER): there is no {name!r}; there are {known}")
    found: Scorer = offered[name].load()
    return found


def _embedder(settings: Settings, spending: Spending, clock: Clock) -> PaidEmbedder | None:
    """What makes vectors, as the settings have it; None when nothing does."""
    chosen = settings.embedding
    if not chosen.name:
        return None
    embedder = OpenAICompatibleEmbedder(chosen.name, chosen.api_key.reveal() or None, chosen.base_url or None)
    own = None if chosen.usd_per_mtok is None else OwnPrice(chosen.usd_per_mtok, 0.0)
    prices = Prices("openai_compatible", chosen.name, chosen.base_url or None, own)
    return PaidEmbedder(embedder, prices, chosen.concurrency, spending, clock)


def _memory_calls(
    settings: Settings,
    stores: Stores,
    gateway: Gateway,
    own: Templates | None,
    clock: Clock,
    turns: TurnMaterial,
    meanings: MemoryMeanings | None,
) -> tuple[object, ...]:
    """What serves ReflectiveMemoryService."""
    if not settings.memory.enabled:
        return (DisabledCalls(rpc_server.MEMORY, "memory__enabled (REFLECTIVE_MEMORY_ENABLED) is false"),)
    reflector = Reflector(gateway, MemoryPrompts(own), _scorer(settings.memory.scorer))
    trust = Trust(settings.memory.trust_policy, settings.memory.min_store_importance)
    keeper = Keeper(stores.memories, clock, trust)
    recall = Recall(stores.memories, stores.memory_search, meanings, clock)
    context = MemoryContext(recall, stores.memory_search, stores.receipts, clock)
    return (
        MemoryCalls(reflector, keeper, stores.memories, stores.receipts, turns),
        KeptMemoryCalls(stores.memories),
        PortableMemoryCalls(stores.memories),
        MemorySearchCalls(recall, context),
    )


# The purposes that something asks for by now.
ASKED_FOR = (
    Purpose.MID_TURN_REFLECTION,
    Purpose.CRITIQUE,
    Purpose.REVISION,
    Purpose.COMPARISON,
    Purpose.TRACE_EVALUATION,
    Purpose.DEBATE,
    Purpose.MEMORY_REFLECTION,
)


def _info(settings: Settings, own: Scope, stores: Stores, routes: Mapping[Purpose, Route]) -> ServerInfo:
    limits = {name: int(value) for name, value in msgspec.structs.asdict(settings.limits).items()}
    return ServerInfo(
        version=importlib.metadata.version("sidemirror-server"),
        own_scope=own,
        stores=stores.facts,
        models=tuple(_facts(purpose, routes[purpose].provider) for purpose in ASKED_FOR),
        limits=limits,
    )


def _facts(purpose: Purpose, provider: Provider) -> ModelFacts:
    model, breaker = provider.model, provider.breaker
    return ModelFacts(purpose.value, model.provider, model.name, lambda: breaker.state != "open")
