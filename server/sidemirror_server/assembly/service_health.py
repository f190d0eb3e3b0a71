"""Health that follows the stores: each service says whether what it needs is there.

Called by `assembly/sidecar.py`, which runs both loops as long as it serves.
"""

import asyncio
import contextlib

from sidemirror_server.assembly.stores import Stores
from sidemirror_server.rpc.boundary.services import CRITIQUE, GOALS, MEMORY
from sidemirror_server.rpc.listening.server import Server
from sidemirror_server.turns.recorder import Recorder

# How often the stores of goal reflections are looked at, for the health of their service.
_LOOK_AT_REFLECTIONS_S = 0.5
# How often a store that tells nobody is looked at. Chosen here: a look is a flag's value, and probes come every 5 s.
_LOOK_AT_STORE_S = 1.0
# What is of no use without its store; the others think and answer without it, and say in their answers what they lack.
_NEED_THE_STORE = (CRITIQUE.full_name, MEMORY.full_name)


class ServiceHealth:
    """What stands and falls with which store."""

    def __init__(self, stores: Stores, server: Server, recorder: Recorder, turned_off: tuple[str, ...] = ()) -> None:
        """`turned_off`: services that never serve, by full name."""
        self._turned_off = turned_off
        self._stores = stores
        self._server = server
        self._recorder = recorder

    def unable(self) -> tuple[str, ...]:
        """The services that cannot serve now, by full name."""
        needing = () if self._store_answers() else _NEED_THE_STORE
        goals = () if self._goals_answer() else (GOALS.full_name,)
        return (*self._turned_off, *needing, *goals)

    def _store_answers(self) -> bool:
        """The store of all but goal reflections, which may be in one of their own."""
        return self._stores.facts[0].is_available()

    def _goals_answer(self) -> bool:
        return self._store_answers() and (self._stores.redis is None or self._stores.redis.is_available())

    async def follow_the_store(self) -> None:
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
                await self._server.set_able(service, able=answers and service not in self._turned_off)
            if answers:
                self._recorder.try_again()

    async def follow_goals(self) -> None:
        """Says of goal reflections whether all their stores are there, and whether they keep what they acknowledge."""
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
