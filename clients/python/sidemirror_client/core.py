"""What both fronts of a client share: its connections, its turns, and what it could not deliver."""

import asyncio
import contextlib
import inspect
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any

import grpc
from grpc import aio
from grpc_health.v1 import health_pb2

from sidemirror.v1 import (
    critique_pb2,
    critique_pb2_grpc,
    goal_reflection_pb2,
    goal_reflection_pb2_grpc,
    reflective_memory_pb2,
    reflective_memory_pb2_grpc,
    sidecar_pb2,
    sidecar_pb2_grpc,
    thinking_pb2,
)
from sidemirror_client.background import BACKGROUND
from sidemirror_client.channel import Channel
from sidemirror_client.delivery import Delivery
from sidemirror_client.link import Link
from sidemirror_client.losses import Losses, Undelivered
from sidemirror_client.pool import Pool
from sidemirror_client.text import sendable
from sidemirror_client.turn import Started, TurnParts
from sidemirror_client.turn_queue import MOST_TURNS, Queue, Report

_log = logging.getLogger("sidemirror_client")
# How long closing waits for what is still on its way.
DEFAULT_FLUSH_S = 2.0
# How much longer the end of the process waits for that: connections are closed then.
_LEAVE_S = 2.0
_SERVING = health_pb2.HealthCheckResponse.SERVING


class Core:
    """A client without its front."""

    def __init__(
        self,
        address: str,
        make: Callable[[], aio.Channel],
        on_away: Callable[[str], None] | None,
        on_refused: Callable[[str], None] | None,
    ) -> None:
        """`make` makes a connection of its own to the address, each time. Raises TypeError for a callback that would
        have to be awaited."""
        told = _at_home("on_away", on_away), _at_home("on_refused", on_refused)
        self.link = Link(address, self._probe, self._ask, self._renew, *told)
        self.channel = Channel(make, self.link.heard)
        self._probes = Channel(make, self.link.heard)
        self._pool = Pool(make)
        self._make = make
        self._turns: set[TurnParts] = set()
        self.losses = Losses()
        self._is_closed = False
        self._closing = asyncio.Lock()

    def begin(self, turn: TurnParts, started: Started) -> None:
        """Begins a turn. Raises TypeError or ValueError for a field that does not exist or has a wrong value."""
        if "task" in started:
            started["task"] = sendable(started["task"])
        first = thinking_pb2.TurnStarted(**started)
        room = len(self._turns) < MOST_TURNS and not self._is_closed
        self._turns.add(turn)
        BACKGROUND.open.add(self)
        turn.begin(first, self._delivery, self._ended, room=room)

    def _delivery(self, queue: Queue) -> Delivery:
        return Delivery(self.link, self._pool, queue, self._report)

    def build(self, request: reflective_memory_pb2.BuildMemoryContextRequest, timeout_s: float) -> Awaitable[Any]:
        """The call for lessons, on our loop."""
        stub = reflective_memory_pb2_grpc.ReflectiveMemoryServiceStub(self.channel.itself())
        return stub.BuildMemoryContext(request, timeout=timeout_s)

    def judge(self, request: critique_pb2.CritiqueRequest, timeout_s: float) -> Awaitable[Any]:
        """The call for a verdict, on our loop."""
        return critique_pb2_grpc.CritiqueServiceStub(self.channel.itself()).Critique(request, timeout=timeout_s)

    def _report(self, report: Report, timeout_s: float) -> Awaitable[Any]:
        channel = self.channel.itself()
        if isinstance(report.request, goal_reflection_pb2.ReportGoalRequest):
            goals = goal_reflection_pb2_grpc.GoalReflectionServiceStub(channel)
            return goals.ReportGoal(report.request, timeout=timeout_s)
        memory = reflective_memory_pb2_grpc.ReflectiveMemoryServiceStub(channel)
        return memory.ReportOutcome(report.request, timeout=timeout_s)

    def _ended(self, turn: TurnParts) -> None:
        """Nothing is left to deliver of a turn, or nothing can be."""
        self._turns.discard(turn)

    def _renew(self) -> None:
        """The sidecar went away: what is sent when it is back goes on new connections."""
        self._pool.renew()
        self.channel.renew()

    async def _probe(self, timeout_s: float) -> object:
        stub = sidecar_pb2_grpc.SidecarServiceStub(self._probes.itself())
        try:
            return await stub.GetServerInfo(sidecar_pb2.GetServerInfoRequest(), timeout=timeout_s)
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                left, self._probes = self._probes, Channel(self._make, self.link.heard)
                await left.close_itself()
            raise

    async def _ask(self, timeout_s: float) -> object:
        check: Any = self._probes.itself().unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        return await check(health_pb2.HealthCheckRequest(), timeout=timeout_s)

    # --- on our loop -------------------------------------------------------------------------------------------------

    async def wait_until_ready(self, timeout_s: float) -> None:
        """Returns once the sidecar says that it serves and does not count as away. Raises TimeoutError, and AioRpcError
        when the client is closed."""
        async with asyncio.timeout(timeout_s):
            while True:
                if await self._serves() and not self.link.away:
                    return
                await asyncio.sleep(0.05)

    async def _serves(self) -> bool:
        """Returns when the sidecar says so, or says nothing any more."""
        watch_health: Any = self.channel.itself().unary_stream(
            "/grpc.health.v1.Health/Watch",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        watch = watch_health(health_pb2.HealthCheckRequest(), wait_for_ready=True)
        try:
            async for state in watch:
                if state.status == _SERVING:
                    return True
        except grpc.aio.AioRpcError:
            pass
        finally:
            watch.cancel()
        return False

    async def flush(self, timeout_s: float) -> bool:
        """Waits until everything reported so far is durable with the sidecar; False when time is up first."""
        try:
            async with asyncio.timeout(timeout_s):
                for turn in tuple(self._turns):
                    await turn.until_delivered()
        except TimeoutError:
            return False
        return True

    async def close(self, flush_s: float) -> Undelivered:
        """Waits for what is on its way, and ends every connection."""
        try:
            if self._turns:
                await self.flush(flush_s)
        finally:
            # Also when whoever closes does not wait so long.
            async with self._closing:
                await self._end()
        return self.losses.so_far()

    async def _end(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        await self.link.close()
        for turn in tuple(self._turns):
            await turn.give_up()
        await self._pool.close()
        for channel in (self.channel, self._probes):
            await channel.close_itself()
        BACKGROUND.open.discard(self)
        if left := self.losses.so_far():
            _log.warning(
                "not delivered to Sidemirror: %d events, %d outcomes and %d goals, of %d turns",
                *(left.events, left.outcomes, left.goals, len(left.turns)),
            )

    def lost(self) -> Undelivered:
        """What can no longer be delivered, in a forked child or at the end of the process: everything."""
        for turn in tuple(self._turns):
            turn.drop()
            self._ended(turn)
        return self.losses.so_far()

    def forked(self) -> None:
        """In a child: a thread of the parent may have held a lock, and there is none that gives it back."""
        self.link.renew_lock()
        self.losses.renew_lock()
        for turn in tuple(self._turns):
            turn.forked()

    def leave(self) -> None:
        """The process ends, and nobody has closed the client."""
        with contextlib.suppress(TimeoutError):
            closing: Future[Undelivered] = BACKGROUND.start(self.close(DEFAULT_FLUSH_S))
            closing.result(DEFAULT_FLUSH_S + _LEAVE_S)


def _at_home(name: str, tell: Callable[[str], None] | None) -> Callable[[str], None] | None:
    """Tells the agent where it lives: on the loop that it connected on, else on a thread. What it raises is reported
    there, and hinders nothing here. Raises TypeError for a coroutine function, which nobody would await."""
    if tell is None:
        return None
    if inspect.iscoroutinefunction(tell) or inspect.iscoroutinefunction(type(tell).__call__):
        raise TypeError(f"{name}: a function is expected, and no coroutine function")
    try:
        home = asyncio.get_running_loop()
    except RuntimeError:
        home = None

    def told(why: str) -> None:
        if home is not None and not home.is_closed():
            with contextlib.suppress(RuntimeError):
                home.call_soon_threadsafe(tell, why)
                return
        # Never awaited: nobody here waits for the agent. At the end of the process there are no threads any more.
        with contextlib.suppress(RuntimeError):
            _ = asyncio.get_running_loop().run_in_executor(None, _call, tell, why)

    return told


def _call(tell: Callable[[str], None], why: str) -> None:
    try:
        tell(why)
    except Exception:  # noqa: BLE001  # the agent's own callback; what it raises must not end anything of ours
        _log.exception("the callback that is told of the sidecar has failed")
