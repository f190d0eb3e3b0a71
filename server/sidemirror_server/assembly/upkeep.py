"""What a sidecar does unasked, again and again: it tidies memory, and looks in its store for turns that nobody goes on
with, for what is old, and for dreams, recoveries and jobs that are due. Called by `assembly/sidecar.py`.
"""

from sidemirror_server.assembly.looks import Look, Looks
from sidemirror_server.assembly.memory import ReflectiveMemory
from sidemirror_server.assembly.retention import KeptFor
from sidemirror_server.assembly.stores import Stores
from sidemirror_server.turns.conductor import Conductor
from sidemirror_server.vocabulary.scope import Serves
from sidemirror_server.work.bounded_queue import Bounded
from sidemirror_server.work.worker import Worker

# How often a sidecar in use evicts turns from memory, abandons idle ones, removes old records, and learns recoveries
# from turns that others have ended.
SWEEP_EVERY_S = 30.0
# How often a sidecar in use looks for jobs of other processes, and for projects whose next pass of dreams is due.
JOBS_EVERY_S = 1.0
DREAMS_EVERY_S = 60.0
# How often a sidecar that is not in use asks a shared store (decision 056). Chosen here: together at most a transaction
# every 100 seconds. A crashed sidecar's work is taken up this late when only idle ones are left.
QUIET_LOOK_S = 900.0
QUIET_FORGET_S = 7200.0


class Upkeep:
    """A sidecar's looks. `queue`: the one whose waiting jobs metrics show; None while nothing is measured."""

    def __init__(
        self,
        stores: Stores,
        serves: Serves,
        conductor: Conductor,
        retention: KeptFor,
        memory: ReflectiveMemory,
        worker: Worker,
        queue: Bounded | None,
    ) -> None:
        self._stores = stores
        self._serves = serves
        self._conductor = conductor
        self._retention = retention
        self._memory = memory
        self._worker = worker
        self._queue = queue

    async def run(self) -> None:
        """Looks until cancelled. In the embedded store a look costs next to nothing, and its pauses stay as they are;
        its worker looks for jobs by itself."""
        postgres = self._stores.postgres
        looks = [
            Look("memory", self._tidy, SWEEP_EVERY_S, SWEEP_EVERY_S, is_local=True),
            Look("turns", self._abandon, SWEEP_EVERY_S, QUIET_LOOK_S if postgres else SWEEP_EVERY_S),
            Look("forget", self._retention.forget, SWEEP_EVERY_S, QUIET_FORGET_S if postgres else SWEEP_EVERY_S),
        ]
        if self._memory.schedule is not None:
            longest_s = QUIET_LOOK_S if postgres else DREAMS_EVERY_S
            looks.append(Look("dreams", self._start_dreams, DREAMS_EVERY_S, longest_s))
        if self._memory.learner is not None:
            longest_s = QUIET_LOOK_S if postgres else SWEEP_EVERY_S
            looks.append(Look("recoveries", self._memory.learner.look, SWEEP_EVERY_S, longest_s))
        if postgres is None:
            await Looks(looks, lambda: 0, lambda: None).run()
        else:
            looks.append(Look("jobs", self._worker.look, JOBS_EVERY_S, QUIET_LOOK_S))
            await Looks(looks, lambda: postgres.writes, postgres.rest).run()

    async def sweep(self) -> None:
        """Evicts turns from memory, abandons idle ones and removes old records. Raises the stores' errors."""
        await self._abandon()
        await self._retention.forget()

    async def _tidy(self) -> bool:
        self._conductor.evictions.tidy()
        return False

    async def _abandon(self) -> bool:
        if self._queue is not None:
            await self._queue.count_again()
        # While the clock is in doubt, no turn of another process is abandoned.
        return await self._conductor.evictions.sweep(Serves(()) if self._stores.clock.doubt else self._serves)

    async def _start_dreams(self) -> bool:
        return self._memory.schedule is not None and await self._memory.schedule.look() > 0
