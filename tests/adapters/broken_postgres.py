"""Adapters of Postgres that each break a clause of their port. Used by `test_broken_postgres.py`."""

import asyncio
import inspect
from collections.abc import Collection, Mapping
from typing import Any

from msgspec.structs import replace

from sidemirror_server.memory.record import Learned, Lesson, MemoryHistory, MemoryRecord, Revision
from sidemirror_server.models.ledger import Amount, Level, Refusal, Reservation, refusal
from sidemirror_server.policy.record import Cap, StoredPolicy
from sidemirror_server.policy.store import PolicyChange
from sidemirror_server.storage.postgres import (
    work,
)
from sidemirror_server.storage.postgres.critiques import PostgresCritiques
from sidemirror_server.storage.postgres.journal import PostgresJournal
from sidemirror_server.storage.postgres.ledger import PostgresLedger
from sidemirror_server.storage.postgres.memories import PostgresMemories
from sidemirror_server.storage.postgres.policies import PostgresPolicies
from sidemirror_server.storage.postgres.receipts import PostgresReceipts
from sidemirror_server.storage.postgres.requests import PostgresRequests
from sidemirror_server.storage.postgres.sessions import PostgresSessions
from sidemirror_server.storage.postgres.trials import PostgresTrials
from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
from sidemirror_server.storage.postgres.work import PostgresWork
from sidemirror_server.trace.log import Batch, Entry
from sidemirror_server.trace.receipts import Receipt
from sidemirror_server.vocabulary.errors import WrongState
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, Serves
from sidemirror_server.work.queue import Job, NewJob, lease_until_us
from tests.conformance import ledger as ledger_suite


class LooksFirst(PostgresLedger):
    """Looks at the caps in one transaction and takes in another."""

    async def reserve(
        self, scope: Scope, purpose: str, most: Amount, caps: Mapping[Level, Cap], lease_s: float, now_us: int,
        serves: Serves = SERVES_ALL,
    ) -> Reservation | Refusal:  # fmt: skip
        wanted = Reservation("", scope, purpose, now_us // ledger_suite.DAY_US, most)
        exceeded = refusal(await self.used(scope, purpose, wanted.day), wanted, caps)
        return exceeded or await super().reserve(scope, purpose, most, {}, lease_s, now_us)


class ClaimsWhatIsTaken(PostgresWork):
    """Reads what is due in one transaction and takes it in another."""

    async def claim(
        self, serves: Serves, kinds: Collection[str], limit: int, lease_s: float, now_us: int, worker: str
    ) -> tuple[Job, ...]:
        jobs: list[Job] = []
        async with self._database.transaction(None) as transaction:
            found = await transaction.fetch_served(serves, limit, work._SQL["due"], now_us, list(kinds))
        await asyncio.sleep(0)
        statement = work._SQL["claim"].replace("due_us <= $4", "$4::bigint IS NOT NULL")
        for tenant_id, project_id, job_id, *_ in found:
            scope = Scope(tenant_id, project_id)
            async with self._database.transaction(scope) as transaction:
                values = ([JobId(job_id)], now_us, lease_until_us(now_us, lease_s), worker)
                jobs += work._jobs(await transaction.fetch(statement, tenant_id, project_id, *values))
        return tuple(jobs)


class EachBatchByItself(PostgresTurnLog):
    async def append(self, scope: Scope, batches: tuple[Batch, ...]) -> None:
        for batch in batches:
            await super().append(scope, (batch,))


class RefusesWhatItHas(PostgresTurnLog):
    async def append(self, scope: Scope, batches: tuple[Batch, ...]) -> None:
        for batch in batches:
            kept = await self.head(scope, batch.head.turn_id)
            if kept is not None and any(draft.sequence <= kept.last_sequence for draft in batch.drafts):
                raise WrongState("turn", batch.head.turn_id, "has these entries already")
        await super().append(scope, batches)


class DropsWhatItHas(PostgresTurnLog):
    """Takes no look at what stands in a place that is taken."""

    async def append(self, scope: Scope, batches: tuple[Batch, ...]) -> None:
        fresh = []
        for batch in batches:
            kept = await self.head(scope, batch.head.turn_id)
            last = 0 if kept is None else kept.last_sequence
            fresh.append(replace(batch, drafts=tuple(draft for draft in batch.drafts if draft.sequence > last)))
        await super().append(scope, tuple(fresh))


class HidesTheFirstOfAPage(PostgresTurnLog):
    async def tail(
        self, scope: Scope, topic: str, group: str | None, after: int, limit: int, max_bytes: int
    ) -> tuple[Entry, ...]:
        page = await super().tail(scope, topic, group, after, limit, max_bytes)
        return page[1:] if len(page) > 1 else page


class TakesAndRefuses(PostgresLedger):
    async def reserve(
        self, scope: Scope, purpose: str, most: Amount, caps: Mapping[Level, Cap], lease_s: float, now_us: int,
        serves: Serves = SERVES_ALL,
    ) -> Reservation | Refusal:  # fmt: skip
        given = await super().reserve(scope, purpose, most, caps, lease_s, now_us)
        if isinstance(given, Refusal):
            await super().reserve(scope, purpose, most, {}, lease_s, now_us)
        return given


class ChecksEverything(PostgresLedger):
    """Looks at no list of scopes in a check."""

    async def reserve(
        self, scope: Scope, purpose: str, most: Amount, caps: Mapping[Level, Cap], lease_s: float, now_us: int,
        serves: Serves = SERVES_ALL,
    ) -> Reservation | Refusal:  # fmt: skip
        return await super().reserve(scope, purpose, most, caps, lease_s, now_us)


class PutDuplicates(PostgresWork):
    """Makes a job for every put, as one that keys jobs by something of its own would."""

    async def put(self, scope: Scope, job: NewJob, now_us: int) -> Job:
        if await self.get(scope, job.job_id) is not None:
            job = NewJob(JobId(f"{job.job_id}-{now_us}"), job.kind, job.payload)
        return await super().put(scope, job, now_us)


class SecondPutIsIgnored(PostgresWork):
    async def put(self, scope: Scope, job: NewJob, now_us: int) -> Job:
        kept = await self.get(scope, job.job_id)
        return await super().put(scope, job, now_us) if kept is None else kept


class NeverArrives(PostgresWork):
    @property
    def arrived(self) -> asyncio.Event:
        return asyncio.Event()


def of_one_project(adapter: type[Any]) -> type[Any]:
    """The adapter that takes every project of a tenant for the same."""

    def merged(verb: Any) -> Any:
        async def call(self: Any, scope: Scope, *given: Any) -> Any:
            return await verb(self, Scope(scope.tenant_id, "shop"), *given)

        return call

    verbs = [
        (name, verb)
        for name, verb in vars(adapter).items()
        if not name.startswith("_")
        and inspect.iscoroutinefunction(verb)
        and "scope" in inspect.signature(verb).parameters
    ]
    return type(f"{adapter.__name__}OfOneProject", (adapter,), {name: merged(verb) for name, verb in verbs})


class SetsAnyVersion(PostgresPolicies):
    async def set(self, scope: Scope, change: PolicyChange, now_us: int) -> StoredPolicy | None:
        return await super().set(scope, replace(change, if_version=None), now_us)


class ByTime(PostgresJournal):
    async def tail(
        self, scope: Scope, topic: str, group: str | None, after: int, limit: int, max_bytes: int
    ) -> tuple[Entry, ...]:
        found = await super().tail(scope, topic, group, after, limit, max_bytes)
        return tuple(sorted(found, key=lambda entry: entry.at_us))


class KeepsWhatWasShownAlone(PostgresReceipts):
    async def issue(self, scope: Scope, receipt: Receipt) -> Receipt:
        return await super().issue(scope, replace(receipt, omitted=(), silence=""))


class KeepsTheReflectionAnyway(PostgresMemories):
    async def learn(self, scope: Scope, lesson: Lesson, now_us: int) -> Learned:
        try:
            return await super().learn(scope, lesson, now_us)
        except WrongState:
            return await super().learn(scope, replace(lesson, strategy=None), now_us)


class NamesTheDraft(PostgresMemories):
    async def learn(self, scope: Scope, lesson: Lesson, now_us: int) -> Learned:
        learned = await super().learn(scope, lesson, now_us)
        if learned.strategy is None:
            return learned
        return replace(learned, strategy=replace(learned.strategy, strategy_of=lesson.reflection.memory_id))


class LearnsWithoutItsTurn(PostgresMemories):
    """Keeps what it is given, whatever is known."""

    async def learn(self, scope: Scope, lesson: Lesson, now_us: int) -> Learned:
        await self.put(scope, MemoryHistory(lesson.reflection))
        return Learned(lesson.reflection)


class RevisesAgain(PostgresMemories):
    async def revise(
        self, scope: Scope, memory_id: str, revision: Revision, now_us: int, if_version: int | None = None
    ) -> MemoryRecord:
        return await super().revise(scope, memory_id, replace(revision, revision_id=""), now_us, if_version)


class GetsInItsOwnOrder(PostgresMemories):
    async def get(self, scope: Scope, memory_ids: tuple[str, ...]) -> tuple[MemoryRecord, ...]:
        return await super().get(scope, tuple(sorted(memory_ids)))


class TakesOutMarks(PostgresMemories):
    async def put(self, scope: Scope, kept: MemoryHistory) -> bool:
        content = kept.memory.content.replace("\u200d", "")
        return await super().put(scope, replace(kept, memory=replace(kept.memory, content=content)))


BROKEN_VERBS: list[tuple[str, type[Any]]] = [
    ("LG3", HidesTheFirstOfAPage),
    ("LG6", of_one_project(PostgresTurnLog)),
    ("TL1", EachBatchByItself),
    ("TL3", RefusesWhatItHas),
    ("TL4", DropsWhatItHas),
    ("TL8", of_one_project(PostgresTurnLog)),
    ("TL13", of_one_project(PostgresTurnLog)),
    ("SE2", of_one_project(PostgresSessions)),
    ("SE8", of_one_project(PostgresSessions)),
    ("RQ5", of_one_project(PostgresRequests)),
    ("WQ2", PutDuplicates),
    ("WQ3", SecondPutIsIgnored),
    ("WQ4", of_one_project(PostgresWork)),
    ("WQ6", ClaimsWhatIsTaken),
    ("WQ17", of_one_project(PostgresWork)),
    ("WQ22", NeverArrives),
    ("LE2", LooksFirst),
    ("LE13", ChecksEverything),
    ("LE3", TakesAndRefuses),
    ("LE4", of_one_project(PostgresLedger)),
    ("CR8", of_one_project(PostgresCritiques)),
    ("JO2", ByTime),
    ("PO4", SetsAnyVersion),
    ("PO5", of_one_project(PostgresPolicies)),
    ("RC6", of_one_project(PostgresReceipts)),
    ("RC13", KeepsWhatWasShownAlone),
    ("MS1", KeepsTheReflectionAnyway),
    ("MS3", NamesTheDraft),
    ("MS5", LearnsWithoutItsTurn),
    ("MS6", GetsInItsOwnOrder),
    ("MS13", TakesOutMarks),
    ("MS14", of_one_project(PostgresMemories)),
    ("MS15", RevisesAgain),
    ("LT7", of_one_project(PostgresTrials)),
]
