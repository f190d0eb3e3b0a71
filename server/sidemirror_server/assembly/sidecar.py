"""A server made of its stores, models and services, which owns their lifetimes. Called by `assembly/assembled.py`."""

import asyncio
import functools
import logging
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from sidemirror_server.assembly.memory import ReflectiveMemory
from sidemirror_server.assembly.models import (
    asks_to_learn,
    caps_of,
    defaults_of,
    embedder_of,
    info_of,
    telling_of,
    templates_of,
)
from sidemirror_server.assembly.policies import policies_of
from sidemirror_server.assembly.retention import KeptFor
from sidemirror_server.assembly.service_health import ServiceHealth
from sidemirror_server.assembly.stores import Stores
from sidemirror_server.assembly.telemetry import telemetry_of
from sidemirror_server.assembly.upkeep import Upkeep
from sidemirror_server.critique.keeping import Critic
from sidemirror_server.entrance import (
    answers_reflection,
    credentials_of,
    identity_of,
    serves_of,
)
from sidemirror_server.goals.context import GoalContexts
from sidemirror_server.goals.publish import GoalRecords, Publisher
from sidemirror_server.goals.report import KIND as GOAL_REPORT
from sidemirror_server.goals.report import reflection_of
from sidemirror_server.goals.republish import Republisher
from sidemirror_server.models.gateway import Gateway, Route
from sidemirror_server.models.language_model import Purpose
from sidemirror_server.models.spending import Spending
from sidemirror_server.models.templates import PurposePrompts, Templates
from sidemirror_server.observing import gauges, observe
from sidemirror_server.rpc.boundary.admission import Admission, CallLimits
from sidemirror_server.rpc.boundary.interceptors import Boundary
from sidemirror_server.rpc.boundary.recorded_turns import RecordedTurns
from sidemirror_server.rpc.boundary.refusals import Refusals
from sidemirror_server.rpc.boundary.requests import Once
from sidemirror_server.rpc.boundary.services import MEMORY, ServiceTable
from sidemirror_server.rpc.boundary.shares import AgentLimits, Shares
from sidemirror_server.rpc.boundary.streams import StreamLimits, Streams
from sidemirror_server.rpc.boundary.tracing import Tracing
from sidemirror_server.rpc.critique.service import critique_service
from sidemirror_server.rpc.goals.service import goals_service
from sidemirror_server.rpc.listening.addresses import (
    UNIX,
    CannotListen,
    check_free,
    give_to_group,
    socket_mode,
)
from sidemirror_server.rpc.listening.health import HealthListener
from sidemirror_server.rpc.listening.server import Server
from sidemirror_server.rpc.sidecar.service import sidecar_service
from sidemirror_server.rpc.thinking.service import thinking_service
from sidemirror_server.settings import Settings, is_measured
from sidemirror_server.telemetry_in.inbox import WaitingSpans
from sidemirror_server.thinking.config import SessionDefaults
from sidemirror_server.thinking.prompts import ReflectionPrompts
from sidemirror_server.trace.erasure import JOB_KIND as ERASURE
from sidemirror_server.trace.live import Bell, Lookout
from sidemirror_server.turns.advice_changes import AdviceChanges
from sidemirror_server.turns.conductor import Conductor
from sidemirror_server.turns.critiquing import TurnCritiques
from sidemirror_server.turns.erasing import SETTLE_S, Eraser
from sidemirror_server.turns.goal_tasks import GoalTasks
from sidemirror_server.turns.lessons import Lessons
from sidemirror_server.turns.limits import TurnLimits
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.turns.reflecting import Reflections
from sidemirror_server.turns.teaching import Teacher
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.ids import new_id
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.traffic import Traffic
from sidemirror_server.work.bounded_queue import Bounded
from sidemirror_server.work.rotation import Rotation
from sidemirror_server.work.worker import Handler, Pace, Worker

if TYPE_CHECKING:
    from sidemirror_server.assembly.http_door import HttpDoor

_log = logging.getLogger(__name__)

# The part of the grace period that is reserved for writing to the store after the calls have ended.
_STORE_GRACE_S = 2.0
# The shortest pause between two looks for entries of other processes while a client watches. Chosen here: soon enough
# for a person who watches another sidecar's agent.
_LOOK_EVERY_S = 0.5


class Sidecar:
    """An assembled server. `port` is known after `start`."""

    def __init__(
        self,
        settings: Settings,
        stores: Stores,
        routes: Mapping[Purpose, Route],
        clock: Clock,
        turn_limits: TurnLimits,
        pace: Pace,
        socket: str | None,
    ) -> None:
        limits = settings.limits
        self._settings = settings
        self._stores = stores
        # This machine's clock, for tokens and certificates.
        own_clock = clock
        # The store's clock, for everything that other sidecars see.
        self._clock = clock = stores.clock
        self.serves = serves_of(settings)
        self.policies = policies_of(settings, self.serves, stores)
        self.retention = KeptFor(self.policies, self.serves, stores)
        self._socket, self.port = socket, 0
        self._health_listener: HealthListener | None = None
        self._traffic = Traffic(own_clock)
        bell = Bell()
        self._lookout = Lookout(stores.log, bell, _LOOK_EVERY_S, stores.wakes) if stores.wakes else None
        self.recorder = Recorder(
            *(stores.log, bell, limits.backlog_bytes, limits.project_backlog_bytes),
            expects=self._rotation.expect,
            appends=stores.appends,
        )
        spending = Spending(*(stores.ledger, caps_of(settings, self.serves), clock, self.policies, stores.counts_apart))
        own_prompts = templates_of(settings)
        self.gateway = Gateway(routes, spending, clock, prompts=PurposePrompts(own_prompts))
        self.memory = memory = ReflectiveMemory(
            *(settings, stores, embedder_of(settings, spending, clock, self.gateway.questions), self.policies, clock)
        )
        prompts = ReflectionPrompts(own_prompts)
        contexts = GoalContexts(
            *(stores.goal_reflections, stores.receipts, self.policies),
            *(memory.retired.saying, telling_of(settings)),
        )
        critic = Critic(self.gateway, stores.critiques, clock)
        defaults = defaults_of(settings)
        self.conductor = self._conductor(contexts, prompts, critic, turn_limits, defaults)
        self.eraser = Eraser(
            *(stores.erasures, stores.goal_reflections, stores.journal, stores.receipts),
            *(self.conductor.evictions, clock),
            SETTLE_S if stores.is_shared else 0.0,
            WaitingSpans(stores.journal),
            stores.memory_search,
        )
        self._queue = Bounded(stores.work, limits.queued_jobs, clock, self._rotation)
        self._telemetry = telemetry_of(settings, stores, self._queue, self.conductor, self.recorder, clock)
        handlers = self._handlers(own_prompts, bell)
        self._worker = Worker(
            *(stores.work, handlers, clock, random.Random(), new_id(clock.now_us()), pace, self.serves),
            rotation=self._rotation,
        )
        streams = Streams(StreamLimits(settings.heartbeat_s, limits.idle_stream_s, limits.stream_age_s))
        self._refusals = Refusals(own_clock)
        self._identity = identity_of(settings, self._refusals, own_clock)
        self.admission = Admission(
            CallLimits(limits.concurrent_calls, limits.open_streams, limits.requests_per_second), clock
        )
        # gRPC and HTTP share all of a boundary but for who may call, and how much at once.
        boundary_of = partial(
            Boundary,
            refusals=self._refusals,
            once=Once(stores.requests, clock),
            streams=streams,
            clock=clock,
            tracing=Tracing(on=settings.tracing),
            text_bytes=limits.text_bytes,
            shares=Shares(
                AgentLimits(
                    limits.agent_calls,
                    limits.agent_streams,
                    limits.agent_bytes_per_second,
                    limits.agent_waiting_bytes,
                ),
                own_clock,
                self._traffic,
            ),
            traffic=self._traffic,
            metered=is_measured(settings),
        )
        self.server = Server(streams, limits.message_bytes, limits.streams_per_connection)
        turned_off = () if settings.memory.enabled else (MEMORY.full_name,)
        self._standing = ServiceHealth(stores, self.server, self.recorder, own_clock, turned_off)
        turns = RecordedTurns(stores.log, stores.sessions, self.conductor, self.recorder)
        services = (
            thinking_service(
                stores.log,
                stores.sessions,
                stores.pruning,
                stores.critiques,
                stores.observations,
                stores.receipts,
                *(self.conductor, self.recorder, self.gateway, prompts, memory.retired, bell, streams),
                defaults.config,
            ),
            critique_service(self.gateway, critic, stores.critiques, turns),
            goals_service(
                self._queue,
                stores.goal_reflections,
                GoalRecords(stores.work, stores.goal_reflections, stores.journal),
                *(contexts, stores.journal, bell, streams),
            ),
            memory.service(self.gateway, own_prompts, turns),
            sidecar_service(
                info_of(
                    *(
                        settings,
                        Scope(settings.tenant_id, settings.project_id),
                        self.serves,
                        stores.facts,
                        clock,
                        routes,
                    ),
                    *(memory.embedding, own_clock, self._traffic, self._refusals.strangers, self.gateway.questions),
                ),
                *(spending, stores.erasures, stores.work, self.policies, self._changes, stores.memory_search),
                settings.limits.tombstones,
            ),
        )
        self._open_doors(services, boundary_of, own_clock)
        self._open_to_view(own_clock)

    def _conductor(
        self,
        contexts: GoalContexts,
        prompts: ReflectionPrompts,
        critic: Critic,
        limits: TurnLimits,
        defaults: SessionDefaults,
    ) -> Conductor:
        """What conducts turns, with the reflections, critiques and lessons beside them."""
        stores, clock, telling = self._stores, self._clock, telling_of(self._settings)
        lessons = Lessons(contexts, self.memory.context, stores.receipts, self.policies, clock, telling)
        teacher = Teacher(self._settings.learn.turns_per_hour, by_signature=asks_to_learn(self._settings))
        return Conductor(
            *(stores.log, stores.sessions, self.recorder),
            Reflections(self.gateway, prompts, self.recorder, lessons, self.memory.retired, clock),
            TurnCritiques(critic, self.recorder, clock),
            lessons,
            clock,
            limits,
            self.memory.advice(self.recorder, lessons),
            defaults,
            teacher if defaults.learns else None,
            self._changes,
            is_shadow=telling.is_shadow,
            traffic=self._traffic,
        )

    def _open_doors(
        self, services: Sequence[ServiceTable], boundary_of: Callable[..., Boundary], own_clock: Clock
    ) -> None:
        """Gives the services to gRPC, and to the HTTP door if the settings ask for one."""
        self._boundary = boundary_of(self._identity, admission=self.admission)
        self.server.register(self._boundary, *services)
        receiver = self._telemetry.receiver if self._telemetry else None
        if receiver is not None:
            from sidemirror_server.rpc.otlp.services import grpc_services  # OTLP's messages are loaded only for it

            self.server.register_foreign(grpc_services(self._boundary, receiver))
        self._credentials = credentials_of(self._settings, own_clock)
        self.door: HttpDoor | None = None
        if self._settings.http_address:
            from sidemirror_server.assembly import http_door  # uvicorn is loaded only for a door

            self.door = http_door.HttpDoor(
                *(self._settings, services, boundary_of, self._refusals, own_clock, receiver),
                grpc_address=lambda: self.address,
            )

    def _handlers(self, own_prompts: Templates | None, bell: Bell) -> dict[str, Handler]:
        """The handlers of background jobs, by kind."""
        stores = self._stores
        with_tasks = GoalTasks(stores.log).fill
        publisher = Publisher(
            *(self.gateway, stores.goal_reflections, stores.journal, bell, self._clock),
            *(with_tasks, self.memory.retired.saying),
        )
        telemetry = self._telemetry.handlers if self._telemetry else {}
        return {ERASURE: self.eraser.handle, **telemetry, **self.memory.handlers(self.gateway, own_prompts, publisher)}

    def _open_to_view(self, own_clock: Clock) -> None:
        """Turns on server reflection and metrics, if the settings allow them."""
        if answers_reflection(self._settings):
            self.server.reflect()
        if is_measured(self._settings):
            facts = self._stores.facts
            parts = (self.admission, self.conductor, self.recorder, self._queue, facts, self._clock, self._traffic)
            observe(gauges(*parts, own_clock, self._worker))

    @functools.cached_property
    def _rotation(self) -> Rotation:
        """Whose background jobs are next."""
        return Rotation()

    @functools.cached_property
    def _changes(self) -> AdviceChanges:
        """Who changed what agents are told, and when."""
        is_shadow = telling_of(self._settings).is_shadow
        return AdviceChanges(self._stores.journal, self._clock, is_shadow=is_shadow)

    @property
    def address(self) -> str:
        """The address for clients, after `start`; the TCP address when there is a socket too."""
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
            if self._settings.health_address:
                # Bound before the server starts, so that a failure leaves nothing to undo.
                self._health_listener = HealthListener(self.server.health, self._settings.health_address)
            await self.server.start(unable=self._standing.unable())
        if self._health_listener is not None:
            await self._health_listener.start()
            _log.info("health_served", extra={"port": self._health_listener.port})
        if self.door is not None:
            await self.door.start()
        _log.info("serving", extra={"address": address, "port": self.port, "socket": self._socket or ""})
        self._say_whom_it_serves()

    def _say_whom_it_serves(self) -> None:
        retention = "policies" if self._stores.is_shared else "policies, settings"
        told = {"scopes": str(self.serves), "retention": retention}
        if self.serves.said or not self._stores.is_shared:
            _log.info("serves", extra=told)
        else:
            # This is safe for a single operator only: every tenant's texts go to this sidecar's models.
            _log.warning("serves_everybody", extra={**told, "setting": "serves (SIDEMIRROR_SERVES)"})

    def _listen(self, address: str) -> None:
        check_free("address", address)
        try:
            self.port = self.server.listen(address, self._credentials)
        except RuntimeError as error:
            raise CannotListen(f"address {address!r}: it is in use, or not an address of this machine") from error

    async def serve_until(self, stop: Awaitable[object], ready: Callable[[], None] | None = None) -> bool:
        """Serves until `stop` is done, then drains, and returns what that does. Raises the error of a background task
        that fails. `ready` is called when everything that models need is loaded."""
        async with asyncio.TaskGroup() as group:
            work = [
                *(self.recorder.run(), self.upkeep.run(), self._prepare(ready), self._standing.follow_the_store()),
                *(self._worker.run(), self._republish(), self._standing.follow_goals(), self.memory.alikes.run()),
                *(self._identity.follow(), self._standing.follow_the_clock()),
            ]
            if self._lookout is not None:
                work.append(self._lookout.run())
            if self.memory.meanings is not None:
                work.append(self.memory.meanings.run())
            if self.memory.learner is not None:
                work.append(self.memory.learner.run())
            background = [group.create_task(task) for task in work]
            await stop
            is_kept = await self.drain()
            for task in background:
                task.cancel()
        return is_kept

    async def drain(self) -> bool:
        """Announces the end, waits for calls within the grace period, and makes the entries of turns durable. Returns
        whether all of them are."""
        grace_s = self._settings.grace_s
        ends_s = self._clock.monotonic_s() + grace_s
        self._boundary.refuse()
        if self.door is not None:
            self.door.refuse()
        await self.server.announce_end(grace_s)
        calls_s = max(0.0, grace_s - _STORE_GRACE_S)
        await asyncio.gather(self.server.stop(calls_s), *([self.door.stop(calls_s)] if self.door else []))
        self.conductor.evictions.give_up_all()
        is_kept = True
        try:
            async with asyncio.timeout(max(0.5, ends_s - self._clock.monotonic_s())):
                await self.recorder.drain()
        except TimeoutError:
            is_kept = False
            _log.error("turns_not_recorded", extra={"reason": "the store did not answer before the grace period ended"})
        if self._health_listener is not None:
            await self._health_listener.stop()
        return is_kept

    async def close(self) -> None:
        """Ends running calls to models, and logs the number of refused calls that were not logged."""
        self._refusals.close()
        await self.gateway.close()
        if self._telemetry is not None:
            await self._telemetry.receiver.close()
        if self.memory.meanings is not None:
            await self.memory.meanings.close()

    async def _prepare(self, ready: Callable[[], None] | None) -> None:
        await self.gateway.prepare()
        if self.memory.meanings is not None:
            await self.memory.meanings.prepare()
        if ready is not None:
            ready()

    async def _republish(self) -> None:
        """Republishes the goal reflections that Redis has lost."""
        stores = self._stores
        if stores.redis is not None:
            republisher = Republisher(
                *(stores.work, GOAL_REPORT, reflection_of, stores.goal_reflections, self._clock, self.serves)
            )
            await republisher.run(stores.redis.may_have_forgotten)

    @functools.cached_property
    def upkeep(self) -> Upkeep:
        """What this sidecar does unasked."""
        queue = self._queue if is_measured(self._settings) else None
        return Upkeep(self._stores, self.serves, self.conductor, self.retention, self.memory, self._worker, queue)
