"""Memories in SQLite."""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from sidemirror_server.memory.record import (
    Learned,
    Lesson,
    MemoryHistory,
    MemoryKind,
    MemoryRecord,
    MemoryState,
    Revision,
    TaskOutcome,
    heard_of,
    heard_us_of,
    is_repeated,
    known_by,
    memory_in,
    revised,
    sources_of,
    strengthened,
)
from sidemirror_server.memory.store import LESSON_KEPT_US, MemoryKey
from sidemirror_server.storage.sql import columns_of, json_of, load_statements
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.memory_graph import add_links, keep_links
from sidemirror_server.storage.sqlite.memory_rows import New, add_new, new_row, texts_of, values_of
from sidemirror_server.storage.sqlite.sources import note_sources, refuse_erased
from sidemirror_server.trace.sources import SourceKind, key
from sidemirror_server.vocabulary.errors import NotFound, WrongState
from sidemirror_server.vocabulary.scope import Scope

_SQL = load_statements(Path(__file__).with_name("memories.sql"))
_FIRST_KEY = MemoryKey(2**63 - 1, "")  # sorts before every memory
_LAST_VERSION = 2**63 - 1
# Each write removes this many more expired lesson ids than it adds.
_FORGOTTEN = 9


class SqliteMemories:
    """The port `Memories` on the embedded store."""

    def __init__(self, database: SqliteDatabase, kept: Callable[[], None] = lambda: None) -> None:
        """`kept`: is called after each memory that was learned."""
        self._database = database
        self._kept = kept

    async def learn(self, scope: Scope, lesson: Lesson, now_us: int) -> Learned:
        learned = await self._database.write_alike(_learn_together, _written(scope, lesson, now_us))
        self._kept()
        return learned

    def has_any(self) -> bool:
        """Whether there is a memory in any scope."""
        return self._database.read(lambda connection: connection.execute(_SQL["any"]).fetchone() is not None)

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

        def look_up(connection: sqlite3.Connection) -> list[Any]:
            return connection.execute(_SQL[name], wanted).fetchall()

        # Whether there is any is asked while an agent waits; a thread would take longer than the look-up.
        is_one = limit == 1 and kind is None
        rows = self._database.read(look_up) if is_one else await self._database.search(look_up)
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
            refuse_erased(connection, scope, revision.sources, now_us)
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

    async def put(self, scope: Scope, kept: MemoryHistory) -> bool:
        def change(connection: sqlite3.Connection) -> bool:
            for source, heard_us in heard_of(kept.memory):
                refuse_erased(connection, scope, (source,), heard_us)
            return put(connection, scope, kept)

        return await self._database.write(change)

    async def report(self, scope: Scope, outcome: TaskOutcome) -> None:
        values = {**columns_of(scope), **msgspec.structs.asdict(outcome)}
        await self._database.write(lambda connection: connection.execute(_SQL["report"], values).rowcount)

    async def outcome(self, scope: Scope, receipt_id: str) -> TaskOutcome | None:
        wanted = {**columns_of(scope), "receipt_id": receipt_id}
        row = self._database.read(lambda connection: connection.execute(_SQL["outcome"], wanted).fetchone())
        return None if row is None else TaskOutcome(*row)


def put(connection: sqlite3.Connection, scope: Scope, kept: MemoryHistory) -> bool:
    """Stores a memory as it is, with its earlier versions and its links; returns whether its id was free."""
    if not _add(connection, scope, kept.memory):
        return False
    keep_links(connection, scope, kept.memory, kept.links)
    for earlier in kept.earlier:
        _keep_version(connection, scope, earlier)
    return True


def remove(connection: sqlite3.Connection, scope: Scope, memory_id: str) -> bool:
    """Removes a memory with its versions and keys; returns whether it existed."""
    if connection.execute(_SQL["delete"], _key(scope, memory_id)).rowcount == 0:
        return False
    connection.execute(_SQL["delete_versions"], _key(scope, memory_id))
    connection.execute(_SQL["delete_keys"], _key(scope, memory_id))
    return True


class _Write(NamedTuple):
    """A lesson to learn, and the rows to insert if its memories are new."""

    scope: Scope
    lesson: Lesson
    now_us: int
    new: tuple[New, ...]

    def known_by(self) -> set[tuple[str, str]]:
        """The identifiers of the lesson and its memories: the lesson's id, and the memories' ids and keys."""
        ids = {("lesson", self.lesson.lesson_id)} if self.lesson.lesson_id else set()
        return ids.union(*({("memory", row.memory.memory_id), *_keys_of(row)} for row in self.new))


def _written(scope: Scope, lesson: Lesson, now_us: int) -> _Write:
    """Prepares the rows before the lesson's group begins, so that this work overlaps with the commit of another."""
    memories = [lesson.reflection]
    if lesson.strategy is not None:
        memories.append(replace(lesson.strategy, strategy_of=lesson.reflection.memory_id))
    return _Write(scope, lesson, now_us, tuple(new_row(scope, memory) for memory in memories))


def _keys_of(row: New) -> set[tuple[str, str]]:
    return {(row.memory.kind, key) for key in row.keys}  # MemoryKind is a string


def _learn_together(connection: sqlite3.Connection, writes: Sequence[_Write]) -> list[Learned]:
    """Learns the lessons of a batch: the new ones with shared statements, then the others one by one."""
    for write in writes:
        for row in write.new:
            refuse_erased(connection, write.scope, sources_of(row.memory), heard_us_of(row.memory, write.now_us))
    came_to: dict[int, Learned] = {}
    new: list[_Write] = []
    for place, is_new in enumerate(_which_are_new(connection, writes)):
        if is_new:
            new.append(writes[place])
            came_to[place] = Learned(*(row.memory for row in writes[place].new))
    if new:
        _add_lessons(connection, new)
    for place, (scope, lesson, now_us, _) in enumerate(writes):
        if place not in came_to:
            came_to[place] = _learn(connection, scope, lesson, now_us)
    return [came_to[place] for place in range(len(writes))]


def _which_are_new(connection: sqlite3.Connection, writes: Sequence[_Write]) -> list[bool]:
    """For each lesson, whether neither its scope nor an earlier lesson of the batch has any of its ids and keys."""
    of_scopes: dict[Scope, list[_Write]] = {}
    for write in writes:
        of_scopes.setdefault(write.scope, []).append(write)
    known = {scope: _known_of(connection, scope, of_scope) for scope, of_scope in of_scopes.items()}
    are_new = []
    for write in writes:
        its, of_scope = write.known_by(), known[write.scope]
        are_new.append(its.isdisjoint(of_scope))
        of_scope |= its
    return are_new


def _known_of(connection: sqlite3.Connection, scope: Scope, writes: Sequence[_Write]) -> set[tuple[str, str]]:
    """The lesson ids and memory keys of these lessons that the scope has already. Memory ids are not looked up."""
    keys = {key for write in writes for row in write.new for key in row.keys}
    known = set(connection.execute(_SQL["known_among"], {**columns_of(scope), "known_by": json_of(keys)}).fetchall())
    if lesson_ids := {write.lesson.lesson_id for write in writes} - {""}:
        wanted = {**columns_of(scope), "lesson_ids": json_of(lesson_ids)}
        known |= {("lesson", lesson_id) for (lesson_id,) in connection.execute(_SQL["learned_among"], wanted)}
    return known


def _add_lessons(connection: sqlite3.Connection, writes: Sequence[_Write]) -> None:
    """Stores lessons that are new. Raises WrongState for a memory id that is taken."""
    rows = [row for write in writes for row in write.new]
    if taken := add_new(connection, rows):
        raise WrongState("reflection", taken, "the id is taken")
    for write in writes:
        for row in write.new:
            more = write.lesson.links if row is write.new[0] else ()
            add_links(connection, write.scope, row.memory, (*row.links, *more))
    lessons = [_came_to(write.scope, write.lesson, Learned(*(row.memory for row in write.new)), write.now_us)
               for write in writes if write.lesson.lesson_id]  # fmt: skip
    if not lessons:
        return
    for scope in {write.scope for write in writes}:
        after_us = max(write.now_us for write in writes if write.scope == scope) - LESSON_KEPT_US
        _forget_lessons(connection, scope, after_us, len(lessons))
    connection.executemany(_SQL["keep_lesson"], lessons)


def _learn(connection: sqlite3.Connection, scope: Scope, lesson: Lesson, now_us: int) -> Learned:
    """Learns a lesson, unless the scope already has it; memories that the scope already has are strengthened."""
    after_us = now_us - LESSON_KEPT_US
    if lesson.lesson_id:
        named = {**columns_of(scope), "lesson_id": lesson.lesson_id, "after_us": after_us}
        row = connection.execute(_SQL["learned"], named).fetchone()
        if row is not None:
            return _as_learned(connection, scope, lesson, *row)
        _forget_lessons(connection, scope, after_us, 1)
    reflection = _settle(connection, scope, lesson.reflection, now_us)
    keep_links(connection, scope, replace(lesson.reflection, memory_id=reflection.memory_id), lesson.links)
    strategy = None
    if lesson.strategy is not None:
        draft = replace(lesson.strategy, strategy_of=reflection.memory_id)
        strategy = _settle(connection, scope, draft, now_us)
        keep_links(connection, scope, replace(draft, memory_id=strategy.memory_id))
    learned = Learned(reflection, strategy)
    if lesson.lesson_id:
        connection.execute(_SQL["keep_lesson"], _came_to(scope, lesson, learned, now_us))
    return learned


def _came_to(scope: Scope, lesson: Lesson, learned: Learned, now_us: int) -> dict[str, Any]:
    return {
        **columns_of(scope),
        "lesson_id": lesson.lesson_id,
        "reflection_id": learned.reflection.memory_id,
        "strategy_id": learned.strategy.memory_id if learned.strategy else "",
        "learned_us": now_us,
    }


def _forget_lessons(connection: sqlite3.Connection, scope: Scope, after_us: int, written: int) -> None:
    """Removes expired lesson ids: at most the number `written` and _FORGOTTEN more."""
    of = {**columns_of(scope), "after_us": after_us, "most": written + _FORGOTTEN}
    connection.execute(_SQL["forget_lessons"], of)


def _as_learned(
    connection: sqlite3.Connection, scope: Scope, lesson: Lesson, reflection_id: str, strategy_id: str
) -> Learned:
    """The memories that an earlier call learned from this lesson, in their current state."""
    reflection = _get(connection, scope, reflection_id) or replace(lesson.reflection, memory_id=reflection_id)
    strategy = None
    if strategy_id and lesson.strategy is not None:
        gone = replace(lesson.strategy, memory_id=strategy_id, strategy_of=reflection_id)
        strategy = _get(connection, scope, strategy_id) or gone
    return Learned(reflection, strategy)


def _settle(connection: sqlite3.Connection, scope: Scope, draft: MemoryRecord, now_us: int) -> MemoryRecord:
    """Strengthens the memory that says the same as the draft, or stores the draft if there is none."""
    wanted = {**columns_of(scope), "kind": draft.kind, "known_by": json_of(known_by(draft))}
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
    return not add_new(connection, [new_row(scope, memory)])


def _replace(connection: sqlite3.Connection, scope: Scope, known: MemoryRecord, now: MemoryRecord) -> None:
    """Replaces a memory. The earlier state is kept if its version number differs."""
    values = values_of(scope, now)
    connection.execute(_SQL["replace"], values)
    if now.taught_by != known.taught_by:
        note_sources(connection, scope, key(SourceKind.MEMORY, now.memory_id), sources_of(now))
    if now.version == known.version:
        return
    _keep_version(connection, scope, known)
    if now.content != known.content:
        connection.execute(_SQL["replace_text"], {**values, **texts_of(now)})
        _know(connection, values, known_by(now))


def _know(connection: sqlite3.Connection, values: dict[str, Any], keys: tuple[str, ...]) -> None:
    """Adds keys to a memory; `values` name its scope and id."""
    connection.executemany(_SQL["know"], [{**values, "known_by": key} for key in keys])


def _keep_version(connection: sqlite3.Connection, scope: Scope, earlier: MemoryRecord) -> None:
    connection.execute(_SQL["keep_version"], {**values_of(scope, earlier), **texts_of(earlier)})


def _get(connection: sqlite3.Connection, scope: Scope, memory_id: str) -> MemoryRecord | None:
    row = connection.execute(_SQL["get"], _key(scope, memory_id)).fetchone()
    return None if row is None else memory_in(*row)


def _key(scope: Scope, memory_id: str) -> dict[str, Any]:
    return {**columns_of(scope), "memory_id": memory_id}
