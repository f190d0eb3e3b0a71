"""Memories in Postgres."""

from hashlib import blake2b
from pathlib import Path

from msgspec.structs import replace

from sidemirror_server.memory.record import (
    LAYER,
    SOURCE,
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
    memory_body,
    memory_in,
    revised,
    sources_of,
    strengthened,
)
from sidemirror_server.memory.store import LESSON_KEPT_US, MemoryKey
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.memory_graph import keep_links
from sidemirror_server.storage.postgres.sources import note_sources, refuse_erased
from sidemirror_server.storage.postgres.transactions import Transaction
from sidemirror_server.storage.sql import ids_of, load_statements
from sidemirror_server.trace.sources import SourceKind, key
from sidemirror_server.vocabulary.errors import NotFound, WrongState
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.terms import terms_of

_SQL = load_statements(Path(__file__).with_name("memories.sql"))
_FIRST_KEY = MemoryKey(2**63 - 1, "")  # the cursor before the first memory
_LAST_VERSION = 2**63 - 1


class PostgresMemories:
    """The port `Memories` on the shared store."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def learn(self, scope: Scope, lesson: Lesson, now_us: int) -> Learned:
        async with self._database.transaction(scope, derives=True) as transaction:
            await transaction.fetch(_SQL["lock"], _locks(scope, lesson))
            for draft in filter(None, (lesson.reflection, lesson.strategy)):
                await refuse_erased(transaction, scope, sources_of(draft), heard_us_of(draft, now_us))
            return await _learn(transaction, scope, lesson, now_us)

    async def get(self, scope: Scope, memory_ids: tuple[str, ...]) -> tuple[MemoryRecord, ...]:
        rows = await self._database.fetch(scope, _SQL["get"], list(memory_ids))
        found = {row[0]: memory_in(*row[1:]) for row in rows}
        return tuple(found[memory_id] for memory_id in memory_ids if memory_id in found)

    async def list(
        self, scope: Scope, kind: MemoryKind | None, state: MemoryState | None, after: MemoryKey | None, limit: int
    ) -> tuple[MemoryRecord, ...]:
        place = after or _FIRST_KEY
        wanted = (place.created_us, place.memory_id, limit, kind)
        if state is None:
            rows = await self._database.fetch(scope, _SQL["list"], *wanted)
        else:
            rows = await self._database.fetch(scope, _SQL["list_in_state"], *wanted, state)
        return tuple(memory_in(*row) for row in rows)

    async def revise(
        self, scope: Scope, memory_id: str, revision: Revision, now_us: int, if_version: int | None = None
    ) -> MemoryRecord:
        async with self._database.transaction(scope, derives=True) as transaction:
            row = await transaction.first(_SQL["hold"], *ids_of(scope), memory_id)
            if row is None:
                raise NotFound("reflection", memory_id)
            known = memory_in(*row)
            if is_repeated(known, revision):
                return known
            if if_version not in {None, known.version}:
                raise WrongState("reflection", memory_id, f"version {known.version}")
            await refuse_erased(transaction, scope, revision.sources, now_us)
            changed = revised(known, revision, now_us)
            await _replace(transaction, scope, known, changed)
        return changed

    async def versions(self, scope: Scope, memory_id: str, before: int | None, limit: int) -> tuple[MemoryRecord, ...]:
        below = _LAST_VERSION if before is None else before
        async with self._database.transaction(scope, reads_only=True) as transaction:
            now = await transaction.fetch(_SQL["get"], *ids_of(scope), [memory_id])
            if not now:
                return ()
            present = memory_in(*now[0][1:])
            # A newer version may be stored between the two reads. The list below the version just read is complete.
            older = min(below, present.version)
            rows = await transaction.fetch(_SQL["versions"], *ids_of(scope), memory_id, older, limit)
        memories = (present, *(memory_in(*row) for row in rows))
        return tuple(memory for memory in memories if memory.version < below)[:limit]

    async def delete(self, scope: Scope, memory_id: str) -> None:
        async with self._database.transaction(scope) as transaction:
            if not await remove(transaction, scope, memory_id):
                raise NotFound("reflection", memory_id)

    async def put(self, scope: Scope, kept: MemoryHistory) -> bool:
        async with self._database.transaction(scope, derives=True) as transaction:
            for source, heard_us in heard_of(kept.memory):
                await refuse_erased(transaction, scope, (source,), heard_us)
            return await put(transaction, scope, kept)

    async def report(self, scope: Scope, outcome: TaskOutcome) -> None:
        values = (outcome.outcome, outcome.reported_us, outcome.score, outcome.error_category)
        await self._database.change(scope, _SQL["report"], outcome.receipt_id, *values)

    async def outcome(self, scope: Scope, receipt_id: str) -> TaskOutcome | None:
        row = await self._database.first(scope, _SQL["outcome"], receipt_id)
        return None if row is None else TaskOutcome(*row)


async def put(transaction: Transaction, scope: Scope, kept: MemoryHistory) -> bool:
    """Stores a memory as it is, with its earlier versions and its links; returns whether its id was free."""
    if not await _add(transaction, scope, kept.memory):
        return False
    await keep_links(transaction, scope, kept.memory, kept.links)
    for earlier in kept.earlier:
        await _keep_version(transaction, scope, earlier)
    return True


async def remove(transaction: Transaction, scope: Scope, memory_id: str) -> bool:
    """Removes a memory and all its rows; returns whether it existed."""
    if await transaction.change(_SQL["delete"], *ids_of(scope), memory_id) == 0:
        return False
    await transaction.change(_SQL["delete_versions"], *ids_of(scope), memory_id)
    await transaction.change(_SQL["delete_keys"], *ids_of(scope), memory_id)
    return True


async def _learn(transaction: Transaction, scope: Scope, lesson: Lesson, now_us: int) -> Learned:
    if lesson.lesson_id:
        named = (*ids_of(scope), lesson.lesson_id)
        row = await transaction.first(_SQL["learned"], *named, now_us - LESSON_KEPT_US)
        if row is not None:
            return await _as_learned(transaction, scope, lesson, *row)
        await transaction.change(_SQL["forget_lessons"], *ids_of(scope), now_us - LESSON_KEPT_US)
    reflection = await _settle(transaction, scope, lesson.reflection, now_us)
    await keep_links(transaction, scope, replace(lesson.reflection, memory_id=reflection.memory_id), lesson.links)
    strategy = None
    if lesson.strategy is not None:
        draft = replace(lesson.strategy, strategy_of=reflection.memory_id)
        strategy = await _settle(transaction, scope, draft, now_us)
        await keep_links(transaction, scope, replace(draft, memory_id=strategy.memory_id))
    if lesson.lesson_id:
        came_to = (reflection.memory_id, strategy.memory_id if strategy else "", now_us)
        await transaction.change(_SQL["keep_lesson"], *ids_of(scope), lesson.lesson_id, *came_to)
    return Learned(reflection, strategy)


async def _as_learned(
    transaction: Transaction, scope: Scope, lesson: Lesson, reflection_id: str, strategy_id: str
) -> Learned:
    """The current state of the memories that were learned from a lesson."""
    rows = await transaction.fetch(_SQL["get"], *ids_of(scope), [reflection_id, strategy_id])
    found = {row[0]: memory_in(*row[1:]) for row in rows}
    reflection = found.get(reflection_id) or replace(lesson.reflection, memory_id=reflection_id)
    strategy = None
    if strategy_id and lesson.strategy is not None:
        gone = replace(lesson.strategy, memory_id=strategy_id, strategy_of=reflection_id)
        strategy = found.get(strategy_id) or gone
    return Learned(reflection, strategy)


async def _settle(transaction: Transaction, scope: Scope, draft: MemoryRecord, now_us: int) -> MemoryRecord:
    """Strengthens an existing memory that says the same as the draft, or adds the draft."""
    keys = list(known_by(draft))
    row = await transaction.first(_SQL["known"], *ids_of(scope), draft.kind, keys)
    if row is None:
        if not await _add(transaction, scope, draft):
            raise WrongState("reflection", draft.memory_id, "the id is taken")
        return draft
    known = memory_in(*row)
    stronger = strengthened(known, draft, now_us)
    await _replace(transaction, scope, known, stronger)
    if new := [key for key in keys if key not in known_by(known)]:
        await transaction.change(_SQL["know"], *ids_of(scope), known.memory_id, draft.kind, new)
    return stronger


async def _add(transaction: Transaction, scope: Scope, memory: MemoryRecord) -> bool:
    at = (*ids_of(scope), memory.memory_id)
    values = (
        *(memory.kind, memory.state, SOURCE, LAYER, memory.importance, memory.confidence, int(memory.origin)),
        *(memory.error_category, list(memory.tags), memory.version, memory.strength, memory.created_us),
        *(memory.updated_us, memory.content, memory.task_text, terms_of(memory.content), terms_of(memory.task_text)),
        memory_body(memory),
    )
    if await transaction.change(_SQL["add"], *at, *values) == 0:
        return False
    await transaction.change(_SQL["know"], *at, memory.kind, list(known_by(memory)))
    await note_sources(transaction, scope, key(SourceKind.MEMORY, memory.memory_id), sources_of(memory))
    return True


async def _replace(transaction: Transaction, scope: Scope, known: MemoryRecord, now: MemoryRecord) -> None:
    """Replaces a memory. Keeps the earlier one if its version differs."""
    at = (*ids_of(scope), now.memory_id)
    values = (
        *(now.state, now.importance, now.confidence, int(now.origin), now.error_category, list(now.tags)),
        *(now.version, now.strength, now.updated_us, memory_body(now)),
    )
    await transaction.change(_SQL["replace"], *at, *values)
    if now.taught_by != known.taught_by:
        await note_sources(transaction, scope, key(SourceKind.MEMORY, now.memory_id), sources_of(now))
    if now.version == known.version:
        return
    await _keep_version(transaction, scope, known)
    if now.content != known.content:
        await transaction.change(_SQL["replace_text"], *at, now.content, terms_of(now.content))
        await transaction.change(_SQL["know"], *at, now.kind, list(known_by(now)))


async def _keep_version(transaction: Transaction, scope: Scope, earlier: MemoryRecord) -> None:
    values = (earlier.memory_id, earlier.version, earlier.content, earlier.task_text, memory_body(earlier))
    await transaction.change(_SQL["keep_version"], *ids_of(scope), *values)


def _locks(scope: Scope, lesson: Lesson) -> list[int]:
    """The numbers of a lesson's advisory locks: one for its id, and one for each key of its memories."""
    drafts = [lesson.reflection, *([lesson.strategy] if lesson.strategy else [])]
    names = [f"{draft.kind}\0{key}" for draft in drafts for key in known_by(draft)]
    if lesson.lesson_id:
        names.append(f"lesson\0{lesson.lesson_id}")
    return sorted({_number("\0".join(("sidemirror memory", *ids_of(scope), name))) for name in names})


def _number(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big", signed=True)
