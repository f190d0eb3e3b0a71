"""Sets the health of each service according to the availability of the stores that it needs.

Called by `assembly/sidecar.py`, which runs the loops while it serves.
"""

import asyncio
import contextlib

from sidemirror_server.assembly.stores import Stores
from sidemirror_server.rpc.boundary.services import CRITIQUE, GOALS, MEMORY, SIDECAR
from sidemirror_server.rpc.listening.server import Server
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.leaps import Leaps

# How often the stores of goal reflections are polled.
_LOOK_AT_REFLECTIONS_S = 0.5
# How often a store that signals no change is polled. Chosen here: a poll reads a flag, and probes come every 5 s.
_LOOK_AT_STORE_S = 1.0
# Services that cannot work without the store. The others answer without it, and their answers say what is missing.
_NEED_THE_STORE = (CRITIQUE.full_name, MEMORY.full_name)


class ServiceHealth:
    """Tracks which services can serve with the stores that are available."""

    def __init__(
        self, stores: Stores, server: Server, recorder: Recorder, own_clock: Clock, turned_off: tuple[str, ...] = ()
    ) -> None:
        """`own_clock`: this machine's. `turned_off`: services that never serve, by full name."""
        self._turned_off = turned_off
        self._stores = stores
        self._server = server
        self._recorder = recorder
        self._leaps = None if stores.is_shared else Leaps(own_clock)

    def unable(self) -> tuple[str, ...]:
        """The services that cannot serve now, by full name."""
        needing = () if self._store_answers() else _NEED_THE_STORE
        goals = () if self._goals_answer() else (GOALS.full_name,)
        return (*self._turned_off, *needing, *goals)

    def _store_answers(self) -> bool:
        """Whether the main store answers; goal reflections may have another."""
        return self._stores.facts[0].is_available()

    def _goals_answer(self) -> bool:
        return self._store_answers() and (self._stores.redis is None or self._stores.redis.is_available())

    async def follow_the_store(self) -> None:
        """Sets the health of the services that need the main store, and of the whole server while only a restart
        helps. Wakes the recorder when the store is back."""
        said = self._store_answers()
        was_lost = False
        while True:
            # The embedded store signals no change; only a request shows whether it works.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_AT_STORE_S):
                    await self._stores.changed.wait()
            told = self._stores.changed.is_set()
            self._stores.changed.clear()
            answers = self._store_answers()
            if (is_lost := bool(self._stores.facts[0].lost())) != was_lost:
                was_lost = is_lost
                await self._server.set_able("", able=not is_lost)
            if answers == said and not told:
                continue
            said = answers
            for service in _NEED_THE_STORE:
                await self._server.set_able(service, able=answers and service not in self._turned_off)
            if answers:
                self._recorder.try_again()

    async def follow_goals(self) -> None:
        """Sets the health of goal reflections: whether their stores answer, and keep acknowledged writes."""
        able: bool | None = None
        durable: bool | None = None
        while True:
            keeps = self._stores.redis is None or not self._stores.redis.risks()
            if keeps != durable:
                durable = keeps
                await self._server.set_able(f"{GOALS.full_name}/durable", able=durable)
            answers = self._goals_answer()
            if answers != able:
                able = answers
                await self._server.set_able(GOALS.full_name, able=able)
            await asyncio.sleep(_LOOK_AT_REFLECTIONS_S)

    async def follow_the_clock(self) -> None:
        """Sets the health `sidemirror.v1.SidecarService/clock`: whether the store's clock is free of doubt. Of an
        embedded store, which goes by this machine's clock, logs its leaps."""
        able: bool | None = None
        while True:
            if self._leaps is not None:
                self._leaps.look()
            if (sure := not self._stores.clock.doubt) != able:
                able = sure
                await self._server.set_able(f"{SIDECAR.full_name}/clock", able=able)
            await asyncio.sleep(_LOOK_AT_STORE_S)
