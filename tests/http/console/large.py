"""A store as large as one after years: turns that a sidecar recorded, copied by the store's own adapters, and memories.

A sidecar would record 100,000 turns in an hour. The adapters write the same rows in large appends: what is asked of the
store afterwards meets the same tables, indexes and bodies.
"""

import asyncio
from pathlib import Path

from msgspec.structs import replace

from bench.corpus import Corpus, record
from sidemirror_server.memory.record import Lesson
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.observations import SqliteObservations
from sidemirror_server.storage.sqlite.sessions import SqliteSessions
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from sidemirror_server.trace.log import Batch, Draft, Entry, TurnHead, TurnStanding
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.ids import SessionId, TurnId
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE

SESSIONS = 500
# Of a memory's text. Chosen here: a headline's length, which keeps the fill short.
_WORDS = 8
# Turns and memories of one group of writes.
_TURNS_AT_ONCE, _MEMORIES_AT_ONCE = 500, 5_000
# Between the starts of two turns, and two memories: all are younger than what retention removes.
_TURNS_APART_US, _MEMORIES_APART_US = 10_000_000, 1_000_000
_ALL_BYTES = 1 << 30


async def copy_turns(database: SqliteDatabase, count: int) -> None:
    """Copies the finished turns that the store has until there are so many more, all of them before the first ones and
    in sessions of their own. Nothing is left to learn from the copies."""
    log, observations = SqliteTurnLog(database), SqliteObservations(database)
    found = await log.heads(DEFAULT_SCOPE, None, TurnStanding.FINISHED, None, 1_000)
    turns = [(head, await log.read(DEFAULT_SCOPE, head.turn_id, 0, 1_000, _ALL_BYTES)) for head in found]
    session = await SqliteSessions(database).get(DEFAULT_SCOPE, found[0].session_id)
    assert session is not None
    for first in range(0, count, _TURNS_AT_ONCE):
        batches = tuple(
            _copy(number, count, *turns[number % len(turns)], session.body)
            for number in range(first, min(first + _TURNS_AT_ONCE, count))
        )
        await log.append(DEFAULT_SCOPE, batches)
        async with asyncio.TaskGroup() as group:
            for batch in batches:
                group.create_task(observations.keep(DEFAULT_SCOPE, batch.head.turn_id, ()))


def _copy(number: int, count: int, head: TurnHead, entries: tuple[Entry, ...], session_body: bytes) -> Batch:
    earlier_us = (count - number) * _TURNS_APART_US
    copied = replace(
        head,
        turn_id=TurnId(f"copy-{number}"),
        session_id=SessionId(f"session-{number % SESSIONS}"),
        turn_count=number // SESSIONS + 1,
        started_us=head.started_us - earlier_us,
        updated_us=head.updated_us - earlier_us,
    )
    drafts = tuple(Draft(entry.sequence, entry.at_us - earlier_us, entry.body) for entry in entries)
    return Batch(copied, drafts, session_body)


async def add_memories(database: SqliteDatabase, count: int) -> None:
    """Learns so many lessons, each with a text of its own."""
    memories, corpus = SqliteMemories(database), Corpus(count)
    now_us = SystemClock().now_us()
    for first in range(0, count, _MEMORIES_AT_ONCE):
        texts = corpus.texts(min(_MEMORIES_AT_ONCE, count - first), _WORDS)
        async with asyncio.TaskGroup() as group:
            for number, text in enumerate(texts, first):
                at_us = now_us - (count - number) * _MEMORIES_APART_US
                memory = replace(record(number, text), created_us=at_us, updated_us=at_us)
                group.create_task(memories.learn(DEFAULT_SCOPE, Lesson(memory), at_us))


async def enlarge(folder: Path, turns: int, memories: int) -> None:
    """Makes the store of a sidecar that has ended so much larger. `folder`: its data folder."""
    database = await SqliteDatabase.open(folder, now_us=SystemClock().now_us())
    try:
        await copy_turns(database, turns)
        await add_memories(database, memories)
    finally:
        await database.close()
