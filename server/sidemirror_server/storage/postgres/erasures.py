"""Erasure in Postgres. Each step is one transaction; those of a scope take turns with the appends to its log, and with
what else stores derived records."""

import json
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from sidemirror_server.goals.report import reflection_id_of, report_in
from sidemirror_server.memory.record import MemoryHistory, anew_id, memory_in, sources_of, without
from sidemirror_server.storage.erasure import (
    KNOWN_BY,
    RULES,
    begins_with_state,
    surviving,
    without_carried,
    without_lessons,
)
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.memories import put, remove
from sidemirror_server.storage.postgres.sources import bury, erased, keep_tombstones
from sidemirror_server.storage.postgres.transactions import Transaction
from sidemirror_server.storage.postgres.work import put_job
from sidemirror_server.storage.sql import ids_of, load_statements
from sidemirror_server.trace.erasure import (
    ENDED_KEPT_US,
    FORGOTTEN_AT_ONCE,
    JOB_ATTEMPTS,
    JOB_KIND,
    LIMIT,
    NAMED,
    Erasure,
    Tombstone,
    is_erased,
)
from sidemirror_server.trace.receipts import lessons_in, receipt_body, receipt_of, without_erased
from sidemirror_server.trace.sources import SourceKind, key, parsed, published_key
from sidemirror_server.vocabulary.errors import LimitReached
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.work.queue import NewJob

_SQL = load_statements(Path(__file__).with_name("erasures.sql"))
# Statements that take the record's key, not its id.
_BY_KEY = frozenset(("derived", "forget_sources"))
# Statements that take only the scope.
_OF_SCOPE = frozenset(("forget_dream_jobs",))
# The most seconds of one step. Chosen here: a turn may have 10,000 entries of some KiB.
_STEP_S = 30.0


class PostgresErasures:
    """The port `Erasures` on the shared store. Removed rows stay in the files of the database until VACUUM, which is
    the owner's or autovacuum's (docs/operations.md)."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def begin(
        self, scope: Scope, erasure_id: str, names: Collection[str], now_us: int, most: int | None = None
    ) -> Erasure:
        at = (*ids_of(scope), erasure_id)
        async with self._database.transaction(scope) as transaction:
            if await transaction.change(_SQL["begin"], *at, now_us):
                old = (now_us - ENDED_KEPT_US, FORGOTTEN_AT_ONCE)
                await transaction.change(_SQL["forget_ended"], *ids_of(scope), *old)
                if most is not None:
                    await _check_room(transaction, scope, names, most)
                await transaction.change(_SQL["add"], *at, list(names))
                await bury(transaction, scope, [name for name in names if parsed(name)[0] in NAMED], now_us)
                await put_job(transaction, scope, NewJob(JobId(erasure_id), JOB_KIND, b"", JOB_ATTEMPTS), now_us)
            (row,) = await transaction.fetch(_SQL["get"], *at)
        return _erasure(row)

    async def get(self, scope: Scope, erasure_id: str) -> Erasure | None:
        async with self._database.transaction(scope, reads_only=True) as transaction:
            row = await transaction.first(_SQL["get"], *ids_of(scope), erasure_id)
        return None if row is None else _erasure(row)

    async def left(self, scope: Scope, erasure_id: str, limit: int) -> tuple[str, ...]:
        async with self._database.transaction(scope, reads_only=True) as transaction:
            rows = await transaction.fetch(_SQL["left"], *ids_of(scope), erasure_id, limit)
        return tuple(name for (name,) in rows)

    async def remove(self, scope: Scope, erasure_id: str, name: str, now_us: int) -> None:
        at = (*ids_of(scope), erasure_id)
        async with self._database.transaction(scope, within_s=_STEP_S, erases=True, log="changes") as transaction:
            step = _Step(transaction, scope, now_us)
            await step.remove(name)
            await transaction.change(_SQL["add"], *at, step.found)
            await transaction.change(_SQL["take"], *at, name)
            if step.counts:
                (row,) = await transaction.fetch(_SQL["get"], *at)
                counts = Counter(_erasure(row).counts) + step.counts
                await transaction.change(_SQL["count"], *at, json.dumps(counts, sort_keys=True))

    async def again(self, scope: Scope, erasure_id: str) -> bool:
        at = (*ids_of(scope), erasure_id)
        async with self._database.transaction(scope) as transaction:
            if await transaction.change(_SQL["mark_again"], *at) == 0:
                return False
            await transaction.change(_SQL["put_back"], *at)
        return True

    async def forget_records(self, scope: Scope, erasure_id: str) -> None:
        async with self._database.transaction(scope) as transaction:
            await transaction.change(_SQL["forget_records"], *ids_of(scope), erasure_id)

    async def finish(self, scope: Scope, erasure_id: str, now_us: int) -> None:
        async with self._database.transaction(scope) as transaction:
            await transaction.change(_SQL["finish"], *ids_of(scope), erasure_id, now_us)

    async def erased(self, scope: Scope, names: Collection[str]) -> Mapping[str, int]:
        async with self._database.transaction(scope, reads_only=True) as transaction:
            return await erased(transaction, scope, names)

    async def tombstones(self, scope: Scope, after: Tombstone | None, limit: int) -> tuple[Tombstone, ...]:
        place = ("", b"") if after is None else (after.kind.value, after.digest)
        async with self._database.transaction(scope, reads_only=True) as transaction:
            rows = await transaction.fetch(_SQL["tombstones"], *ids_of(scope), *place, limit)
        return tuple(Tombstone(SourceKind(row[0]), *row[1:]) for row in rows)

    async def put_tombstones(self, scope: Scope, tombstones: Collection[Tombstone]) -> None:
        async with self._database.transaction(scope) as transaction:
            await keep_tombstones(transaction, scope, tombstones)

    async def survivors(self, scope: Scope) -> tuple[str, ...]:
        place = ids_of(scope)
        async with self._database.transaction(scope, reads_only=True, within_s=_STEP_S) as transaction:
            stored: dict[str, int] = dict([tuple(row) for row in await transaction.fetch(_SQL["stored"], *place)])
            noted = [(source, record) for source, record in await transaction.fetch(_SQL["noted"], *place)]
            times = await erased(transaction, scope, {*stored, *(source for source, _ in noted)})
        return surviving(stored, noted, times)

    async def tidy(self) -> None:
        pass


async def _check_room(transaction: Transaction, scope: Scope, names: Collection[str], most: int) -> None:
    """Raises LimitReached if there are `most` tombstones, and nothing of these subjects, sessions and turns."""
    ((count,),) = await transaction.fetch(_SQL["count_tombstones"], *ids_of(scope), most)
    if count < most:
        return
    for name in names:
        kind, record_id = parsed(name)
        for statement in KNOWN_BY[kind]:
            asked = name if statement in _BY_KEY else record_id
            if await transaction.first(_SQL[statement], *ids_of(scope), asked):
                return
    raise LimitReached(LIMIT, most, scope.project_id)


class _Step:
    """Removes one record within a transaction. `found`: keys of records to remove next. `counts`: removed rows."""

    def __init__(self, transaction: Transaction, scope: Scope, now_us: int) -> None:
        self._transaction = transaction
        self._scope = scope
        self._place = ids_of(scope)
        self._now_us = now_us
        self.found: list[str] = []
        self.counts: Counter[str] = Counter()

    async def remove(self, name: str) -> None:
        kind, record_id = parsed(name)
        if kind is SourceKind.SHOWN:
            await self._rewrite_shown(record_id)
        elif kind is SourceKind.CARRIED:
            await self._rewrite_carried(record_id)
        else:
            if kind is SourceKind.MEMORY:
                await self._remove_memory(record_id)
            elif kind is SourceKind.GOAL_REPORT:
                await self._find_published(record_id)
            elif kind is SourceKind.PUBLISHED:
                self.found.append(key(SourceKind.GOAL_REFLECTION, record_id.partition("/")[0]))
            await self._apply(kind, name, record_id)

    async def _apply(self, kind: SourceKind, name: str, record_id: str) -> None:
        rule = RULES[kind]
        for statement in rule.follow:
            rows = await self._transaction.fetch(_SQL[statement], *self._values(statement, name, record_id))
            self.found += [found for (found,) in rows]
        for counted, statement in rule.remove:
            removed = await self._transaction.change(_SQL[statement], *self._values(statement, name, record_id))
            if counted and removed:
                self.counts[counted] += removed
        await bury(self._transaction, self._scope, (name,), self._now_us)

    def _values(self, statement: str, name: str, record_id: str) -> tuple[str, ...]:
        if statement in _OF_SCOPE:
            return self._place
        if statement in _BY_KEY:
            return (*self._place, name)
        if statement == "forget_answer":
            method, _, request_id = record_id.rpartition("/")
            return (*self._place, method, request_id)
        return (*self._place, record_id)

    async def _remove_memory(self, memory_id: str) -> None:
        """Removes a memory, and makes it anew, by another id, from what another source taught."""
        row = await self._transaction.first(_SQL["memory"], *self._place, memory_id)
        if row is None:
            return
        known = memory_in(*row)
        ((versions,),) = await self._transaction.fetch(_SQL["count_versions"], *self._place, memory_id)
        times = await erased(self._transaction, self._scope, sources_of(known))
        new_id = anew_id(self._scope, memory_id)
        made = without(known, lambda source, at_us: is_erased(times.get(source), source, at_us), new_id, self._now_us)
        await remove(self._transaction, self._scope, memory_id)
        self.counts["memory_versions"] += versions
        if made is None:
            self.counts["memories"] += 1
        else:
            await put(self._transaction, self._scope, MemoryHistory(made))
            self.counts["memories_made_anew"] += 1

    async def _find_published(self, report_id: str) -> None:
        row = await self._transaction.first(_SQL["report"], *self._place, report_id)
        if row is not None:
            reflection_id = reflection_id_of(self._scope, report_id)
            name = key(SourceKind.GOAL_REFLECTION, reflection_id)
            await bury(self._transaction, self._scope, (name,), self._now_us)
            self.found.append(published_key(reflection_id, report_in(row[0]).goal_id))

    async def _rewrite_shown(self, receipt_id: str) -> None:
        """Takes erased lessons out of a receipt, and out of the turn that it is for."""
        row = await self._transaction.first(_SQL["receipt"], *self._place, receipt_id)
        if row is None:
            return
        receipt = receipt_of(*row)
        named = lessons_in(receipt)
        gone = {named[name] for name in await erased(self._transaction, self._scope, named)}
        if gone:
            left = receipt_body(without_erased(receipt, gone))
            await self._transaction.change(_SQL["rewrite_receipt"], *self._place, receipt_id, left)
            for item in receipt.items:
                if item.id in gone:
                    values = (*self._place, receipt_id, item.text_hash)
                    await self._transaction.change(_SQL["forget_receipt_item"], *values)
            await self._rewrite_turn(receipt.turn_id, gone)

    async def _rewrite_turn(self, turn_id: str, gone: Collection[str]) -> None:
        """Takes lessons out of the blocks of a turn."""
        row = await self._transaction.first(_SQL["head"], *self._place, turn_id)
        if row is None:
            return
        changed = False
        for sequence, body in await self._transaction.fetch(_SQL["entries"], *self._place, turn_id):
            if (now := without_lessons(body, gone)) is not None:
                await self._transaction.change(_SQL["rewrite_entry"], *self._place, turn_id, sequence, now)
                changed = True
        if changed:
            await self._rewrite_head(turn_id, without_lessons(row[0], gone) or row[0])

    async def _rewrite_carried(self, turn_id: str) -> None:
        """Takes out of a turn the state that it began with, and what its reflections said of it."""
        entries = await self._transaction.fetch(_SQL["entries"], *self._place, turn_id)
        if not any(begins_with_state(body) for _, body in entries):
            return
        for sequence, body in entries:
            if (now := without_carried(body)) is not None:
                await self._transaction.change(_SQL["rewrite_entry"], *self._place, turn_id, sequence, now)
        ((head,),) = await self._transaction.fetch(_SQL["head"], *self._place, turn_id)
        await self._rewrite_head(turn_id, without_carried(head) or head)

    async def _rewrite_head(self, turn_id: str, body: bytes) -> None:
        """Replaces a head; whoever has read the turn before appends nothing to it any more."""
        await self._transaction.change(_SQL["rewrite_head"], *self._place, turn_id, body)
        self.counts["turns_rewritten"] += 1


def _erasure(row: Any) -> Erasure:
    erasure_id, began_us, ended_us, counts = row
    return Erasure(erasure_id, began_us, ended_us, json.loads(counts))
