"""Clients of one sidecar: `connect` for agents on a loop, `connect_sync` for those without one."""

import asyncio
import os
import uuid
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, Unpack

import grpc
from grpc import aio
from grpc.aio import ClientInterceptor

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
    thinking_pb2_grpc,
)
from sidemirror_client.address import DEFAULT_ADDRESS, address_of
from sidemirror_client.background import BACKGROUND
from sidemirror_client.calls import DEFAULT_DEADLINE_S, Carried, channel_options, interceptors
from sidemirror_client.channel import SyncChannel
from sidemirror_client.core import DEFAULT_FLUSH_S, Core
from sidemirror_client.losses import Undelivered
from sidemirror_client.turn import Goal, Started, SyncTurn, Turn

__all__ = ["DEFAULT_ADDRESS", "DEFAULT_FLUSH_S", "SERVICES", "Sidemirror", "SyncSidemirror", "connect", "connect_sync"]

SERVICES = (
    thinking_pb2.DESCRIPTOR.services_by_name["ThinkingService"],
    critique_pb2.DESCRIPTOR.services_by_name["CritiqueService"],
    goal_reflection_pb2.DESCRIPTOR.services_by_name["GoalReflectionService"],
    reflective_memory_pb2.DESCRIPTOR.services_by_name["ReflectiveMemoryService"],
    sidecar_pb2.DESCRIPTOR.services_by_name["SidecarService"],
)

# Where the names of files are that `connect` is not given.
_FILES = (
    "SIDEMIRROR_TOKEN_FILE",
    "SIDEMIRROR_CA_FILE",
    "SIDEMIRROR_CLIENT_CERTIFICATE_FILE",
    "SIDEMIRROR_CLIENT_KEY_FILE",
)


class Sidemirror:
    """The services of one sidecar, from any loop and any thread. Close it, or use it as an async context manager."""

    def __init__(self, core: Core) -> None:
        """Made by `connect`."""
        self._core = core
        self.channel: aio.Channel = core.channel
        self.thinking = thinking_pb2_grpc.ThinkingServiceStub(self.channel)
        self.critique = critique_pb2_grpc.CritiqueServiceStub(self.channel)
        self.goals = goal_reflection_pb2_grpc.GoalReflectionServiceStub(self.channel)
        self.memory = reflective_memory_pb2_grpc.ReflectiveMemoryServiceStub(self.channel)
        self.sidecar = sidecar_pb2_grpc.SidecarServiceStub(self.channel)

    def begin_turn(
        self, turn_id: str = "", agent: str = "", *, goal: Goal | None = None, **started: Unpack[Started]
    ) -> Turn:
        """A turn of the agent, reported beside it: nothing here waits for the sidecar, and nothing raises because it is
        away. `started` holds fields of `TurnStarted`; `agent` names which of several agents acts; `goal` is what the
        turn works towards, reported with its outcome however it ends."""
        turn = Turn(turn_id or str(uuid.uuid4()), agent, started.get("task", ""), goal, self._core)
        self._core.begin(turn, started)
        return turn

    @property
    def away(self) -> bool:
        """The sidecar was there, or was looked for, and does not answer now."""
        return self._core.link.away

    async def wait_until_ready(self, timeout_s: float = DEFAULT_DEADLINE_S) -> None:
        """Returns once the sidecar says that it serves and does not count as away. Raises TimeoutError, and AioRpcError
        when the client is closed."""
        await BACKGROUND.across(self._core.wait_until_ready(timeout_s))

    async def flush(self, timeout_s: float = DEFAULT_FLUSH_S) -> bool:
        """Waits until everything reported so far is durable with the sidecar; False when time is up first."""
        return await BACKGROUND.across(self._core.flush(timeout_s)) if BACKGROUND.usable() else not self._core.lost()

    async def close(self, flush_s: float = DEFAULT_FLUSH_S) -> Undelivered:
        """Waits up to `flush_s` for what is on its way, then ends every connection and every call. Returns what was not
        delivered, which is in the log as well."""
        if not BACKGROUND.usable():
            return self._core.lost()
        try:
            return await BACKGROUND.across(self._core.close(flush_s))
        except asyncio.CancelledError:
            # Whoever closes does not wait so long, and all is closed all the same.
            await asyncio.shield(BACKGROUND.across(self._core.close(0)))
            raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        await self.close()


class SyncSidemirror:
    """The same for agents without a loop, from any thread. Close it, or use it as a context manager."""

    def __init__(self, core: Core) -> None:
        """Made by `connect_sync`."""
        self._core = core
        self.channel: grpc.Channel = SyncChannel(core.channel)
        self.thinking = thinking_pb2_grpc.ThinkingServiceStub(self.channel)
        self.critique = critique_pb2_grpc.CritiqueServiceStub(self.channel)
        self.goals = goal_reflection_pb2_grpc.GoalReflectionServiceStub(self.channel)
        self.memory = reflective_memory_pb2_grpc.ReflectiveMemoryServiceStub(self.channel)
        self.sidecar = sidecar_pb2_grpc.SidecarServiceStub(self.channel)

    def begin_turn(
        self, turn_id: str = "", agent: str = "", *, goal: Goal | None = None, **started: Unpack[Started]
    ) -> SyncTurn:
        """As `Sidemirror.begin_turn`."""
        turn = SyncTurn(turn_id or str(uuid.uuid4()), agent, started.get("task", ""), goal, self._core)
        self._core.begin(turn, started)
        return turn

    @property
    def away(self) -> bool:
        """The sidecar was there, or was looked for, and does not answer now."""
        return self._core.link.away

    def wait_until_ready(self, timeout_s: float = DEFAULT_DEADLINE_S) -> None:
        """As `Sidemirror.wait_until_ready`."""
        BACKGROUND.start(self._core.wait_until_ready(timeout_s)).result()

    def flush(self, timeout_s: float = DEFAULT_FLUSH_S) -> bool:
        """As `Sidemirror.flush`."""
        return BACKGROUND.start(self._core.flush(timeout_s)).result() if BACKGROUND.usable() else not self._core.lost()

    def close(self, flush_s: float = DEFAULT_FLUSH_S) -> Undelivered:
        """As `Sidemirror.close`."""
        if not BACKGROUND.usable():
            return self._core.lost()
        return BACKGROUND.start(self._core.close(flush_s)).result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.close()


def connect(
    address: str | None = None,
    *,
    tls: bool = False,
    token_file: str | None = None,
    ca_file: str | None = None,
    client_certificate_file: str | None = None,
    client_key_file: str | None = None,
    tenant_id: str = "",
    project_id: str = "",
    deadline_s: float = DEFAULT_DEADLINE_S,
    on_away: Callable[[str], None] | None = None,
    on_refused: Callable[[str], None] | None = None,
    traced: bool = False,
) -> Sidemirror:
    """A client for the sidecar at `address` (host:port, `https://host:port` or `unix:/path`); else where
    `SIDEMIRROR_ADDRESS` says; else at the default port. Connects when it is first used.

    What is not given is read from the environment: `SIDEMIRROR_TOKEN_FILE` (read again for each call),
    `SIDEMIRROR_CA_FILE` (with it the connection is TLS), `SIDEMIRROR_CLIENT_CERTIFICATE_FILE` and
    `SIDEMIRROR_CLIENT_KEY_FILE`. `tls`, or an address with https://: TLS by the authorities of the system. Raises
    OSError when a file of these cannot be read, TokenInTheClear when the token would go to another machine without TLS,
    ValueError for what is no address, such as one without a port, TypeError for a callback that would be awaited.

    Unary calls get `deadline_s` seconds where the call says nothing else, calls that ask a model 60. Calls that find
    the sidecar away are tried again for about a second; that is safe, because every write carries a `request_id`, which
    is filled in here when it is empty. `on_away`, `on_refused`: told why when the sidecar goes away, and when it
    refuses the token; else a warning is logged. They are called on the loop that `connect` is called on, if there is
    one.
    `traced`: one client span for each call, by opentelemetry-instrumentation-grpc (install
    `sidemirror-client[tracing]`).
    """
    given = token_file, ca_file, client_certificate_file, client_key_file
    place, make = _way(address, given, tls, (tenant_id, project_id), deadline_s, traced=traced)
    return Sidemirror(Core(place, make, on_away, on_refused))


def connect_sync(
    address: str | None = None,
    *,
    tls: bool = False,
    token_file: str | None = None,
    ca_file: str | None = None,
    client_certificate_file: str | None = None,
    client_key_file: str | None = None,
    tenant_id: str = "",
    project_id: str = "",
    deadline_s: float = DEFAULT_DEADLINE_S,
    on_away: Callable[[str], None] | None = None,
    on_refused: Callable[[str], None] | None = None,
    traced: bool = False,
) -> SyncSidemirror:
    """A client for agents without a loop, by the arguments of `connect`. `on_away` and `on_refused` are called on a
    thread of their own."""
    given = token_file, ca_file, client_certificate_file, client_key_file
    place, make = _way(address, given, tls, (tenant_id, project_id), deadline_s, traced=traced)
    return SyncSidemirror(Core(place, make, on_away, on_refused))


def _way(
    address: str | None,
    given: tuple[str | None, ...],
    tls: bool,
    scope: tuple[str, str],
    deadline_s: float,
    *,
    traced: bool,
) -> tuple[str, Callable[[], aio.Channel]]:
    """Where the sidecar is, and what makes a connection to it. `given`: the files, as `_FILES` has them."""
    token_file, ca_file, certificate_file, key_file = (
        os.environ.get(name, "") if value is None else value for name, value in zip(_FILES, given, strict=True)
    )
    place = address_of(
        address,
        tls=tls,
        ca_file=ca_file,
        certificate_file=certificate_file,
        key_file=key_file,
        has_token=bool(token_file),
    )
    BACKGROUND.is_traced |= traced
    # A connection of its own each time, though others go to the same address.
    options: Any = [*channel_options(SERVICES), ("grpc.use_local_subchannel_pool", 1)]

    def make() -> aio.Channel:
        chain: list[ClientInterceptor] = list(interceptors(Carried(deadline_s, token_file, *scope)))
        if traced:
            from opentelemetry.instrumentation.grpc import aio_client_interceptors

            chain = [*aio_client_interceptors(), *chain]  # type: ignore[no-untyped-call]  # the package has no types
        if place.credentials is None:
            return aio.insecure_channel(place.target, options=options, interceptors=chain)
        return aio.secure_channel(place.target, place.credentials, options=options, interceptors=chain)

    return place.target, make
