"""Memories in SQLite."""

import sqlite3
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import astuple, replace

from sidemirror_server.memory.record import (
    LAYER,
    SOURCE,
    Kept,
    Learned,
    Lesson,
    MemoryKind,
    MemoryRecord,
    MemoryState,
    Revision,
    TaskOutcome,
    is_repeated,
    known_by,
    memory_body,
    memory_in,
    revised,
    strengthened,
)
from sidemirror_server.memory.store import LESSON_KEPT_US, MemoryKey
from sidemirror_server.memory.terms import terms_of
from sidemirror_server.storage.sql import load_statements
from sidemirror_server.storage.sqlite.database import Database
from sidemirror_server.storage.sqlite.memory_graph import keep_links
from sidemirror_server.vocabulary.errors import NotFound, WrongState
from sidemirror_server.vocabulary.scope import Scope

_SQL = load_statements(Path(__file__).with_name("memories.sql"))
_FIRST_KEY = MemoryKey(2**63 - 1, "")  # before every memory there can be
_LAST_VERSION = 2**63 - 1


class SqliteMemories:
    """The port `Memories` on the embedded store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def learn(self, scope: Scope, lesson: Lesson, now_us: int) -> Learned:
        return await self._database.write(lambda connection: _learn(connection, scope, lesson, now_us))

    async def get(self, scope: Scope, memory_ids: tuple[str, ...]) -> tuple[MemoryRecord, ...]:
        def look_up(connection: sqlite3.Connection) -> tuple[MemoryRecord, ...]:
            found = (_get(connection, scope, memory_id) for memory_id in memory_ids)
            return tuple(memory for memory in found if memory is not None)

        return self._database.read(look_up)

    async def list(
        self, scope: Scope, kind: MemoryKind | None, state: MemoryState | None, after: MemoryKey | None, limit: int
    ) -> tuple[MemoryRecord, ...]:
        place = after or _FIRST_KEY
        wanted = {
            **_key(scope, place.memory_id),
            "created_us": place.created_us,
            "kind": kind,
            "state": state,
            "limit": limit,
        }
        name = "list" if state is None else "list_in_state"
        rows = await self._database.search(lambda connection: connection.execute(_SQL[name], wanted).fetchall())
        return tuple(memory_in(*row) for row in rows)

    async def revise(
        self, scope: Scope, memory_id: str, revision: Revision, now_us: int, if_version: int | None = None
    ) -> MemoryRecord:
        def change(connection: sqlite3.Connection) -> MemoryRecord:
            known = _get(connection, scope, memory_id)
            if known is None:
                raise NotFound("reflection", memory_id)
            if is_repeated(known, revision):
                return known
            if if_version not in {None, known.version}:
                raise WrongState("reflection", memory_id, f"version {known.version}")
            changed = revised(known, revision, now_us)
            _replace(connection, scope, known, changed)
            return changed

        return await self._database.write(change)

    async def versions(self, scope: Scope, memory_id: str, before: int | None, limit: int) -> tuple[MemoryRecord, ...]:
        below = _LAST_VERSION if before is None else before

        def look_up(connection: sqlite3.Connection) -> list[MemoryRecord]:
            now = _get(connection, scope, memory_id)
            if now is None:
                return []
            wanted = {**_key(scope, memory_id), "before": below, "limit": limit}
            rows = connection.execute(_SQL["versions"], wanted).fetchall()
            return [memory for memory in (now, *(memory_in(*row) for row in rows)) if memory.version < below]

        return tuple((await self._database.search(look_up))[:limit])

    async def delete(self, scope: Scope, memory_id: str) -> None:
        def change(connection: sqlite3.Connection) -> None:
            if not remove(connection, scope, memory_id):
                raise NotFound("reflection", memory_id)

        await self._database.write(change)

    async def put(self, scope: Scope, kept: Kept) -> bool:
        def change(connection: sqlite3.Connection) -> bool:
            if not _add(connection, scope, kept.memory):
                return False
            keep_links(connection, scope, kept.memory, kept.links)
            for earlier in kept.earlier:
                _keep_version(connection, scope, earlier)
            return True

        return await self._database.write(change)

    async def report(self, scope: Scope, outcome: TaskOutcome) -> None:
        values = {**_scope(scope), **msgspec.structs.asdict(outcome)}
        await self._database.write(lambda connection: connection.execute(_SQL["report"], values).rowcount)

    async def outcome(self, scope: Scope, receipt_id: str) -> TaskOutcome | None:
        wanted = {**_scope(scope), "receipt_id": receipt_id}
        row = self._database.read(lambda connection: connection.execute(_SQL["outcome"], wanted).fetchone())
        return None if row is None else TaskOutcome(*row)


def remove(connection: sqlite3.Connection, scope: Scope, memory_id: str) -> bool:
    """Removes a memory with all that belongs to it; whether there was one."""
    if connection.execute(_SQL["delete"], _key(scope, memory_id)).rowcount == 0:
        return False
    connection.execute(_SQL["delete_versions"], _key(scope, memory_id))
    connection.execute(_SQL["delete_keys"], _key(scope, memory_id))
    return True


def _learn(connection: sqlite3.Connection, scope: Scope, lesson: Lesson, now_us: int) -> Learned:
    named = {**_scope(scope), "lesson_id": lesson.lesson_id, "after_us": now_us - LESSON_KEPT_US}
    if lesson.lesson_id:
        row = connection.execute(_SQL["learned"], named).fetchone()
        if row is not None:
            return _as_learned(connection, scope, lesson, *row)
        connection.execute(_SQL["forget_lessons"], named)
    reflection = _settle(connection, scope, lesson.reflection, now_us)
    keep_links(connection, scope, replace(lesson.reflection, memory_id=reflection.memory_id), lesson.links)
    strategy = None
    if lesson.strategy is not None:
        draft = replace(lesson.strategy, strategy_of=reflection.memory_id)
        strategy = _settle(connection, scope, draft, now_us)
        keep_links(connection, scope, replace(draft, memory_id=strategy.memory_id))
    if lesson.lesson_id:
        came_to = {"reflection_id": reflection.memory_id, "strategy_id": strategy.memory_id if strategy else ""}
        connection.execute(_SQL["keep_lesson"], {**named, **came_to, "learned_us": now_us})
    return Learned(reflection, strategy)


def _as_learned(
    connection: sqlite3.Connection, scope: Scope, lesson: Lesson, reflection_id: str, strategy_id: str
) -> Learned:
    """What a lesson came to when it was learned, as that is now."""
    reflection = _get(connection, scope, reflection_id) or replace(lesson.reflection, memory_id=reflection_id)
    strategy = None
    if strategy_id and lesson.strategy is not None:
        gone = replace(lesson.strategy, memory_id=strategy_id, strategy_of=reflection_id)
        strategy = _get(connection, scope, strategy_id) or gone
    return Learned(reflection, strategy)


def _settle(connection: sqlite3.Connection, scope: Scope, draft: MemoryRecord, now_us: int) -> MemoryRecord:
    """Strengthens what the draft says already, or keeps the draft."""
    wanted = {**_scope(scope), "kind": draft.kind, "known_by": _json(known_by(draft))}
    row = connection.execute(_SQL["known"], wanted).fetchone()
    if row is None:
        if not _add(connection, scope, draft):
            raise WrongState("reflection", draft.memory_id, "the id is taken")
        return draft
    known = memory_in(*row)
    stronger = strengthened(known, draft, now_us)
    _replace(connection, scope, known, stronger)
    if new := tuple(key for key in known_by(draft) if key not in known_by(known)):
        _know(connection, {**wanted, "memory_id": known.memory_id}, new)
    return stronger


def _add(connection: sqlite3.Connection, scope: Scope, memory: MemoryRecord) -> bool:
    values = {**_values(scope, memory), "task_terms": terms_of(memory.task_text), **_texts(memory)}
    if connection.execute(_SQL["add"], values).rowcount == 0:
        return False
    _know(connection, values, known_by(memory))
    return True


def _replace(connection: sqlite3.Connection, scope: Scope, known: MemoryRecord, now: MemoryRecord) -> None:
    """A memory as it is now, in place of what it was; that is kept when it was another version."""
    values = _values(scope, now)
    connection.execute(_SQL["replace"], values)
    if now.version == known.version:
        return
    _keep_version(connection, scope, known)
    if now.content != known.content:
        connection.execute(_SQL["replace_text"], {**values, **_texts(now)})
        _know(connection, values, known_by(now))


def _know(connection: sqlite3.Connection, values: dict[str, Any], keys: tuple[str, ...]) -> None:
    """A memory is known by these from now on; `values` name its place."""
    for key in keys:
        connection.execute(_SQL["know"], {**values, "known_by": key})


def _keep_version(connection: sqlite3.Connection, scope: Scope, earlier: MemoryRecord) -> None:
    connection.execute(_SQL["keep_version"], {**_values(scope, earlier), **_texts(earlier)})


def _get(connection: sqlite3.Connection, scope: Scope, memory_id: str) -> MemoryRecord | None:
    row = connection.execute(_SQL["get"], _key(scope, memory_id)).fetchone()
    return None if row is None else memory_in(*row)


def _texts(memory: MemoryRecord) -> dict[str, str]:
    return {
        "content": memory.content,
        "task_text": memory.task_text,
        "content_terms": terms_of(memory.content),
    }


def _values(scope: Scope, memory: MemoryRecord) -> dict[str, Any]:
    return {
        **_key(scope, memory.memory_id),
        "kind": memory.kind,
        "state": memory.state,
        "source": SOURCE,
        "layer": LAYER,
        "importance": memory.importance,
        "confidence": memory.confidence,
        "origin": int(memory.origin),
        "error_category": memory.error_category,
        "tags": _json(memory.tags),
        "version": memory.version,
        "strength": memory.strength,
        "created_us": memory.created_us,
        "updated_us": memory.updated_us,
        "body": memory_body(memory),
    }


def _json(values: tuple[str, ...]) -> str:
    return msgspec.json.encode(values).decode()


def _scope(scope: Scope) -> dict[str, Any]:
    tenant_id, project_id = astuple(scope)
    return {"tenant_id": tenant_id, "project_id": project_id}


def _key(scope: Scope, memory_id: str) -> dict[str, Any]:
    return {**_scope(scope), "memory_id": memory_id}
