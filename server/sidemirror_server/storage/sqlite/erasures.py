"""Erasure in SQLite. Each step is one transaction on the writer's thread."""

import json
import sqlite3
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from sidemirror_server.goals.report import reflection_id_of, report_in
from sidemirror_server.memory.record import MemoryHistory, anew_id, memory_in, without
from sidemirror_server.storage.erasure import (
    KNOWN_BY,
    RULES,
    begins_with_state,
    surviving,
    without_carried,
    without_lessons,
)
from sidemirror_server.storage.sql import columns_of, load_statements
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.memories import put, remove
from sidemirror_server.storage.sqlite.sources import bury, bury_digest, erased_of, erased_us
from sidemirror_server.storage.sqlite.work import put_job
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


class SqliteErasures:
    """The port `Erasures` on the embedded store."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def begin(
        self, scope: Scope, erasure_id: str, names: Collection[str], now_us: int, most: int | None = None
    ) -> Erasure:
        values = {**columns_of(scope), "erasure_id": erasure_id, "now_us": now_us}
        old = {**columns_of(scope), "before_us": now_us - ENDED_KEPT_US, "limit": FORGOTTEN_AT_ONCE}

        def change(connection: sqlite3.Connection) -> Erasure:
            if connection.execute(_SQL["begin"], values).rowcount:
                connection.execute(_SQL["forget_ended"], old)
                if most is not None and _is_full(connection, scope, most) and not _is_known(connection, scope, names):
                    raise LimitReached(LIMIT, most, scope.project_id)
                for name in names:
                    connection.execute(_SQL["add"], {**values, "key": name})
                    if parsed(name)[0] in NAMED:
                        bury(connection, scope, name, now_us)
                put_job(connection, scope, NewJob(JobId(erasure_id), JOB_KIND, b"", JOB_ATTEMPTS), now_us)
            return _erasure(connection.execute(_SQL["get"], values).fetchone())

        return await self._database.write(change)

    async def get(self, scope: Scope, erasure_id: str) -> Erasure | None:
        wanted = {**columns_of(scope), "erasure_id": erasure_id}
        row = self._database.read(lambda connection: connection.execute(_SQL["get"], wanted).fetchone())
        return None if row is None else _erasure(row)

    async def left(self, scope: Scope, erasure_id: str, limit: int) -> tuple[str, ...]:
        wanted = {**columns_of(scope), "erasure_id": erasure_id, "limit": limit}
        rows = self._database.read(lambda connection: connection.execute(_SQL["left"], wanted).fetchall())
        return tuple(name for (name,) in rows)

    async def remove(self, scope: Scope, erasure_id: str, name: str, now_us: int) -> None:
        values = {**columns_of(scope), "erasure_id": erasure_id}

        def change(connection: sqlite3.Connection) -> None:
            step = _Step(connection, scope, now_us)
            step.remove(name)
            connection.executemany(_SQL["add"], [{**values, "key": one} for one in step.found])
            connection.execute(_SQL["take"], {**values, "key": name})
            if step.counts:
                known = _erasure(connection.execute(_SQL["get"], values).fetchone())
                counts = Counter(known.counts) + step.counts
                connection.execute(_SQL["count"], {**values, "counts": json.dumps(counts, sort_keys=True)})

        await self._database.write(change, long=True)

    async def again(self, scope: Scope, erasure_id: str) -> bool:
        values = {**columns_of(scope), "erasure_id": erasure_id}

        def change(connection: sqlite3.Connection) -> bool:
            if connection.execute(_SQL["mark_again"], values).rowcount == 0:
                return False
            connection.execute(_SQL["put_back"], values)
            return True

        return await self._database.write(change)

    async def forget_records(self, scope: Scope, erasure_id: str) -> None:
        values = {**columns_of(scope), "erasure_id": erasure_id}
        await self._database.write(lambda connection: connection.execute(_SQL["forget_records"], values))

    async def finish(self, scope: Scope, erasure_id: str, now_us: int) -> None:
        values = {**columns_of(scope), "erasure_id": erasure_id, "now_us": now_us}
        await self._database.write(lambda connection: connection.execute(_SQL["finish"], values))

    async def erased(self, scope: Scope, names: Collection[str]) -> Mapping[str, int]:
        return self._database.read(lambda connection: erased_of(connection, scope, names))

    async def tombstones(self, scope: Scope, after: Tombstone | None, limit: int) -> tuple[Tombstone, ...]:
        kind, digest = ("", b"") if after is None else (after.kind.value, after.digest)
        wanted = {**columns_of(scope), "kind": kind, "digest": digest, "limit": limit}
        rows = await self._database.search(lambda connection: connection.execute(_SQL["tombstones"], wanted).fetchall())
        return tuple(Tombstone(SourceKind(row[0]), *row[1:]) for row in rows)

    async def put_tombstones(self, scope: Scope, tombstones: Collection[Tombstone]) -> None:
        def change(connection: sqlite3.Connection) -> None:
            for one in tombstones:
                bury_digest(connection, scope, one)

        await self._database.write(change, long=True)

    async def survivors(self, scope: Scope) -> tuple[str, ...]:
        place = columns_of(scope)

        def look_up(connection: sqlite3.Connection) -> tuple[str, ...]:
            stored = dict(connection.execute(_SQL["stored"], place).fetchall())
            noted = connection.execute(_SQL["noted"], place).fetchall()
            erased = erased_of(connection, scope, {*stored, *(source for source, _ in noted)})
            return surviving(stored, noted, erased)

        return await self._database.search(look_up)

    async def tidy(self) -> None:
        await self._database.write(lambda connection: connection.execute(_SQL["optimize_words"]).rowcount, long=True)
        await self._database.scrub()


def read_tombstones(file: Path) -> tuple[tuple[Scope, Tombstone], ...]:
    """The tombstones of all scopes in a store's file, which is not opened as a store; none if it has no such table.
    Raises sqlite3.Error."""
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        if connection.execute(_SQL["has_tombstones"]).fetchone() is None:
            return ()
        rows = connection.execute(_SQL["all_tombstones"]).fetchall()
    return tuple((Scope(*row[:2]), Tombstone(SourceKind(row[2]), *row[3:])) for row in rows)


class _Step:
    """Removes one record within a transaction. `found`: keys of records to remove next. `counts`: removed rows."""

    def __init__(self, connection: sqlite3.Connection, scope: Scope, now_us: int) -> None:
        self._connection = connection
        self._scope = scope
        self._now_us = now_us
        self.found: list[str] = []
        self.counts: Counter[str] = Counter()

    def remove(self, name: str) -> None:
        kind, record_id = parsed(name)
        if kind is SourceKind.SHOWN:
            self._rewrite_shown(record_id)
        elif kind is SourceKind.CARRIED:
            self._rewrite_carried(record_id)
        else:
            if kind is SourceKind.MEMORY:
                self._remove_memory(record_id)
            elif kind is SourceKind.GOAL_REPORT:
                self._find_published(record_id)
            elif kind is SourceKind.PUBLISHED:
                self.found.append(key(SourceKind.GOAL_REFLECTION, record_id.partition("/")[0]))
            self._apply(kind, name, record_id)

    def _apply(self, kind: SourceKind, name: str, record_id: str) -> None:
        method, _, request_id = record_id.rpartition("/") if kind is SourceKind.REQUEST else ("", "", "")
        values = self._values(id=record_id, key=name, method=method, request_id=request_id)
        rule = RULES[kind]
        for statement in rule.follow:
            self.found += [found for (found,) in self._connection.execute(_SQL[statement], values).fetchall()]
        for counted, statement in rule.remove:
            removed = self._connection.execute(_SQL[statement], values).rowcount
            if counted and removed:
                self.counts[counted] += removed
        bury(self._connection, self._scope, name, self._now_us)

    def _remove_memory(self, memory_id: str) -> None:
        """Removes a memory, and makes it anew, by another id, from what another source taught."""
        row = self._connection.execute(_SQL["memory"], self._values(id=memory_id)).fetchone()
        if row is None:
            return
        known = memory_in(*row)
        (versions,) = self._connection.execute(_SQL["count_versions"], self._values(id=memory_id)).fetchone()
        new_id = anew_id(self._scope, memory_id)
        made = without(known, self._is_erased, new_id, self._now_us)
        remove(self._connection, self._scope, memory_id)
        self.counts["memory_versions"] += versions
        if made is None:
            self.counts["memories"] += 1
        else:
            put(self._connection, self._scope, MemoryHistory(made))
            self.counts["memories_made_anew"] += 1

    def _is_erased(self, source: str, taught_us: int) -> bool:
        return is_erased(erased_us(self._connection, self._scope, source), source, taught_us)

    def _find_published(self, report_id: str) -> None:
        row = self._connection.execute(_SQL["report"], self._values(id=report_id)).fetchone()
        if row is not None:
            reflection_id = reflection_id_of(self._scope, report_id)
            bury(self._connection, self._scope, key(SourceKind.GOAL_REFLECTION, reflection_id), self._now_us)
            self.found.append(published_key(reflection_id, report_in(row[0]).goal_id))

    def _rewrite_shown(self, receipt_id: str) -> None:
        """Takes erased lessons out of a receipt, and out of the turn that it is for."""
        row = self._connection.execute(_SQL["receipt"], self._values(id=receipt_id)).fetchone()
        if row is None:
            return
        receipt = receipt_of(*row)
        named = lessons_in(receipt)
        gone = {named[name] for name in erased_of(self._connection, self._scope, named)}
        if gone:
            left = receipt_body(without_erased(receipt, gone))
            self._connection.execute(_SQL["rewrite_receipt"], self._values(id=receipt_id, body=left))
            for item in receipt.items:
                if item.id in gone:
                    values = self._values(id=receipt_id, text_hash=item.text_hash)
                    self._connection.execute(_SQL["forget_receipt_item"], values)
            self._rewrite_turn(receipt.turn_id, gone)

    def _rewrite_turn(self, turn_id: str, gone: Collection[str]) -> None:
        """Takes lessons out of the blocks of a turn."""
        values = self._values(turn_id=turn_id)
        row = self._connection.execute(_SQL["head"], values).fetchone()
        if row is None:
            return
        changed = False
        for sequence, body in self._connection.execute(_SQL["entries"], values).fetchall():
            if (now := without_lessons(body, gone)) is not None:
                self._connection.execute(_SQL["rewrite_entry"], {**values, "sequence": sequence, "body": now})
                changed = True
        if changed:
            self._rewrite_head(turn_id, without_lessons(row[0], gone) or row[0])

    def _rewrite_carried(self, turn_id: str) -> None:
        """Takes out of a turn the state that it began with, and what its reflections said of it."""
        values = self._values(turn_id=turn_id)
        entries = self._connection.execute(_SQL["entries"], values).fetchall()
        if not any(begins_with_state(body) for _, body in entries):
            return
        for sequence, body in entries:
            if (now := without_carried(body)) is not None:
                self._connection.execute(_SQL["rewrite_entry"], {**values, "sequence": sequence, "body": now})
        (head,) = self._connection.execute(_SQL["head"], values).fetchone()
        self._rewrite_head(turn_id, without_carried(head) or head)

    def _rewrite_head(self, turn_id: str, body: bytes) -> None:
        """Replaces a head; whoever has read the turn before appends nothing to it any more."""
        self._connection.execute(_SQL["rewrite_head"], self._values(turn_id=turn_id, body=body))
        self.counts["turns_rewritten"] += 1

    def _values(self, **more: Any) -> dict[str, Any]:
        return {**columns_of(self._scope), **more}


def _is_full(connection: sqlite3.Connection, scope: Scope, most: int) -> bool:
    (count,) = connection.execute(_SQL["count_tombstones"], {**columns_of(scope), "most": most}).fetchone()
    return int(count) >= most


def _is_known(connection: sqlite3.Connection, scope: Scope, names: Collection[str]) -> bool:
    """Whether something is stored of one of these subjects, sessions and turns."""
    for name in names:
        kind, record_id = parsed(name)
        values = {**columns_of(scope), "id": record_id, "turn_id": record_id, "key": name}
        if any(connection.execute(_SQL[statement], values).fetchone() for statement in KNOWN_BY[kind]):
            return True
    return False


def _erasure(row: tuple[Any, ...]) -> Erasure:
    erasure_id, began_us, ended_us, counts = row
    return Erasure(erasure_id, began_us, ended_us, json.loads(counts))
