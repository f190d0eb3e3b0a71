"""Opens what the settings name and makes a sidecar of it, which is closed at the end."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec

from sidemirror_server.assembly.models import check_embedding, routes_of, stand_in
from sidemirror_server.assembly.sidecar import Sidecar
from sidemirror_server.assembly.stores import PORTS, open_stores
from sidemirror_server.entrance import check_files, check_listeners, serves_of
from sidemirror_server.models.language_model import LanguageModel
from sidemirror_server.observing import time_verbs
from sidemirror_server.rpc.listening.addresses import UNIX, held_socket
from sidemirror_server.settings import Settings, is_measured
from sidemirror_server.turns.limits import TurnLimits
from sidemirror_server.vocabulary.clock import Clock, SystemClock
from sidemirror_server.work.worker import Pace

# Chosen here: a killed sidecar can claim its jobs again soon after its restart.
_PACE = Pace(lease_s=10.0)
# The age at which a finished turn without a summary gets one from the sidecar that reads it. Chosen here: many times
# what a healthy sidecar takes, and soon enough for a person.
_SUMMARY_DUE_S = 10.0


@contextlib.asynccontextmanager
async def assemble(
    settings: Settings,
    *,
    model: LanguageModel | None = None,
    clock: Clock | None = None,
    turn_limits: TurnLimits | None = None,
    pace: Pace | None = None,
) -> AsyncIterator[Sidecar]:
    """A server made from these settings; closes it and its stores at the end.

    `model`, `clock`, `turn_limits` and `pace` (of background work) replace the defaults in tests and demonstrations.
    The use of `model` costs nothing. Raises BadSettings, StoreUnavailable, CannotListen.
    """
    clock = clock or SystemClock()
    limits = turn_limits or TurnLimits(
        events_per_turn=settings.limits.events_per_turn,
        turn_bytes=settings.limits.turn_bytes,
        abandon_after_s=settings.abandon_after_s,
    )
    check_listeners(settings)
    check_files(settings)
    serves_of(settings)
    routes = routes_of(settings, clock) if model is None else stand_in(model, clock)
    check_embedding(settings)
    async with contextlib.AsyncExitStack() as stack:
        alone = settings.address.removeprefix(UNIX) if settings.address.startswith(UNIX) else ""
        path = settings.socket.removeprefix(UNIX) or alone
        socket = stack.enter_context(held_socket(Path(path), settings.socket_group)) if path else None
        stores = await open_stores(settings, clock, stack)
        pace = pace or _PACE
        if stores.is_shared:
            limits = msgspec.structs.replace(limits, summary_due_s=_SUMMARY_DUE_S)
            pace = msgspec.structs.replace(pace, poll_s=None)  # `upkeep` looks instead
        if is_measured(settings):
            for port in PORTS:
                time_verbs(port, getattr(stores, port))
        sidecar = Sidecar(settings, stores, routes, clock, limits, pace, socket)
        stack.push_async_callback(sidecar.close)
        yield sidecar
