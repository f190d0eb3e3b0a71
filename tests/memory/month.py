"""A month of an agent's life, hour by hour, on a clock that a test moves: what it learns, dreams and forgets.

Nothing runs beside it: each hour the projects that are due are looked for, their passes are run, and once a day what is
old is removed, with the parts that the server is made of.
"""

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from sidemirror_server.memory.dreams.dreaming import Dreamer
from sidemirror_server.memory.dreams.dreams import Dream, dream_in
from sidemirror_server.memory.dreams.prompts import DreamPrompts
from sidemirror_server.memory.dreams.schedule import KIND, DreamSchedule
from sidemirror_server.memory.lessons.keeping import Ids, Keeper, Trust
from sidemirror_server.memory.lessons.reflector import Result
from sidemirror_server.memory.record import AppliesWhen, MemoryRecord
from sidemirror_server.memory.store import MemoryKey
from sidemirror_server.models.caps import Caps
from sidemirror_server.models.gateway import Gateway, Provider, Route
from sidemirror_server.models.language_model import AnswerT, Ask, Completion, Purpose
from sidemirror_server.models.ledger import US_PER_DAY, day_of
from sidemirror_server.models.prices import OwnPrice, Prices
from sidemirror_server.models.spending import Spending
from sidemirror_server.policy.record import Cap
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.dreams import SqliteDreams
from sidemirror_server.storage.sqlite.ledger import SqliteLedger
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.pruning import SqlitePruning
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from sidemirror_server.storage.sqlite.work import SqliteWork
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope
from sidemirror_server.vocabulary.status import Usage
from sidemirror_server.work.queue import Job
from sidemirror_server.work.worker import ClaimedJob
from tests.adapters.sqlite_store import sqlite_database
from tests.faults.clocks import SetClock
from tests.memory.dreamers import understands

DAYS = 30
# Days on which there is something new, and on which what comes is known or noise; on the others nothing comes.
NEW_DAYS, BUSY_DAYS = 15, 24
HOURS_AT_WORK = range(9, 17)
CAUSES_A_DAY = 3


class Settings(msgspec.Struct, frozen=True):
    """`retention.memory_days`, `retention.memory_importance` and `purposes.dreaming.usd_per_day`."""

    memory_days: int = 7
    memory_importance: float = 0.65
    usd_per_day: float = 0.10


class Day(msgspec.Struct, frozen=True):
    """What a day came to: episodes that were told, memories at its end, what was spent, questions, lessons, pruned."""

    told: int
    memories: int
    spent_usd: float
    asked: int
    made: int
    pruned: int


class DreamingModel:
    """Finds what the memories of a cluster have in common; each cluster's lesson is its own."""

    provider = "test"
    name = "dreams"

    async def complete(self, ask: Ask[AnswerT], deadline_s: float) -> Completion[AnswerT]:
        said = understands(ask)
        first = " ".join(ask.evidence.steps[0].text.split()[:8])
        answer = msgspec.structs.replace(said, lesson=f"{said.lesson} It is about {first}.")
        assert isinstance(answer, ask.answer_type)
        return Completion(answer, Usage(self.provider, self.name, input_tokens=len(ask.prompt) // 4, output_tokens=150))


class Life:
    """An agent that works on several projects, and the parts that remember for it."""

    def __init__(self, database: SqliteDatabase, settings: Settings, scopes: Sequence[Scope]) -> None:
        self.clock = SetClock(1_800_000_000_000_000 // US_PER_DAY * US_PER_DAY)
        self.memories, self.dreams = SqliteMemories(database), SqliteDreams(database)
        self.days: list[Day] = []
        self._settings = settings
        self._scopes = scopes
        self._pruning, self._work = SqlitePruning(database), SqliteWork(database)
        self._ledger = SqliteLedger(database)
        caps = Caps(purposes={Purpose.DREAMING: Cap(nano_usd=round(settings.usd_per_day * 1e9))})
        self._spending = Spending(self._ledger, caps, self.clock)
        model = DreamingModel()
        provider = Provider(model, Prices(model.provider, model.name, None, OwnPrice(2.0, 8.0)), 8, self.clock)
        self._gateway = Gateway({Purpose.DREAMING: Route(provider)}, self._spending, self.clock)
        self._dreamer = Dreamer(self._gateway, DreamPrompts(), self.memories, self.dreams, self.clock, Trust())
        self._schedule = DreamSchedule(self.dreams, self._work, SqliteTurnLog(database), self.clock)
        self._keeper = Keeper(self.memories, self.clock, Trust())
        self._chance = random.Random(5)
        self._number = 0
        # What was told once, by project, to be told again.
        self._told: dict[Scope, list[Result]] = {scope: [] for scope in scopes}

    async def close(self) -> None:
        await self._gateway.close()

    async def live(self, episodes: int) -> None:
        """The month, with so many episodes in all."""
        a_day = episodes // BUSY_DAYS
        for day in range(DAYS):
            extra = episodes - a_day * BUSY_DAYS if day == BUSY_DAYS - 1 else 0
            await self._live_a_day(day, a_day + extra if day < BUSY_DAYS else 0)

    async def _live_a_day(self, day: int, episodes: int) -> None:
        told, dreams = 0, list[Dream]()
        for hour in range(24):
            if hour in HOURS_AT_WORK:
                due = episodes * (hour - HOURS_AT_WORK.start + 1) // len(HOURS_AT_WORK)
                for _ in range(due - told):
                    await self._tell(day)
                told = due
            dreams += await self._dream()
            self.clock.advance(3600)
        pruned = await self._prune()
        spent = sum([await self._spent(scope) for scope in self._scopes])
        made = sum(lesson.is_new for dream in dreams for lesson in dream.lessons)
        asked = sum(dream.asked for dream in dreams)
        self.days.append(Day(told, await self.count(), spent, asked, made, pruned))

    async def _tell(self, day: int) -> None:
        """One episode: noise, something that was told before, or a failure that recurs in other words."""
        self._number += 1
        scope = self._scopes[self._number % len(self._scopes)]
        kind = self._chance.random()
        known = self._told[scope]
        if kind < 0.3:
            result = self._result(" ".join(self._words("noise", 12)), self._chance.uniform(0.1, 0.45))
        elif known and (day >= NEW_DAYS or kind < 0.65):
            again = self._chance.choice(known)
            result = msgspec.structs.replace(again, episode=f"{self._number:032x}", session_id=f"s{self._number}")
        else:
            cause = self._chance.randrange(CAUSES_A_DAY * (day + 1))
            words = [f"cause{cause}{letter}" for letter in "abcdefgh"]
            text = f"{' '.join(words)} in the case of {' '.join(self._words('case', 4))}"
            result = self._result(text, 0.6, f"tool_{cause}")
            known.append(result)
        ids = Ids(f"m{self._number}", f"m{self._number}/strategy")
        await self._keeper.keep(scope, result, ids)

    def _words(self, kind: str, count: int) -> list[str]:
        return [f"{kind}{self._chance.randrange(10**6)}" for _ in range(count)]

    def _result(self, text: str, importance: float, tool: str = "") -> Result:
        return Result(
            reflection=text,
            strategy="",
            importance=importance,
            confidence=0.7,
            tags=(),
            error_category="",
            source_event_ids=(),
            related_ids=(),
            applies_when=AppliesWhen(tools=(tool,) if tool else ()),
            origin=Origin.AGENT,
            outcome="failure",
            task="",
            event_count=3,
            session_id=f"s{self._number}",
            episode=f"{self._number:032x}",
            generated_us=self.clock.now_us(),
        )

    async def _dream(self) -> list[Dream]:
        """Runs every pass that is due."""
        await self._schedule.look()
        ended: list[Dream] = []
        while jobs := await self._work.claim(SERVES_ALL, (KIND,), 10, 30.0, self.clock.now_us(), "month"):
            ended += [await self._run(job) for job in jobs]
        return ended

    async def _run(self, job: Job) -> Dream:
        result = await self._dreamer.handle(ClaimedJob(job, self._work, self.clock))
        await self._work.finish(job.scope, job.job_id, job.token, result, self.clock.now_us())
        return dream_in(result)

    async def _prune(self) -> int:
        now_us = self.clock.now_us()
        before_us = now_us - self._settings.memory_days * US_PER_DAY
        pruned = 0
        while count := await self._pruning.prune_memories(
            SERVES_ALL, self._settings.memory_importance, before_us, 1_000, now_us
        ):
            pruned += count
        return pruned

    async def _spent(self, scope: Scope) -> float:
        """USD of the day that has just ended."""
        now_us = self.clock.now_us()
        day = day_of(now_us - 1)
        spends = await self._ledger.spent(scope, day, now_us)
        counted = [spend for spend in spends if spend.day == day]
        return sum(one.settled.nano_usd + one.in_flight.nano_usd + one.orphaned.nano_usd for one in counted) / 1e9

    async def count(self) -> int:
        """How many memories there are, in all projects."""
        return len([memory for scope in self._scopes async for memory in every(self.memories, scope)])


async def every(memories: SqliteMemories, scope: Scope) -> AsyncIterator[MemoryRecord]:
    """All memories of a project, the newest first."""
    after: MemoryKey | None = None
    while page := await memories.list(scope, None, None, after, 1_000):
        for memory in page:
            yield memory
        after = MemoryKey(page[-1].created_us, page[-1].memory_id)


@asynccontextmanager
async def a_life(
    folder: Path, scopes: Sequence[Scope], settings: Settings
) -> AsyncIterator[tuple[Life, SqliteDatabase]]:
    """The agent on the first day."""
    async with sqlite_database(folder) as database:
        life = Life(database, settings, scopes)
        try:
            yield life, database
        finally:
            await life.close()
