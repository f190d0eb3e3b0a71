"""Which texts say what a retired lesson says. The whole path is in tests/wire/retired_words.py."""

import asyncio
from pathlib import Path

from sidemirror_server.memory.finding.recall import Recall
from sidemirror_server.memory.lessons.keys import text_key
from sidemirror_server.memory.record import MemoryHistory, MemoryRecord, MemoryState
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.memory_search import SqliteMemorySearch
from sidemirror_server.turns.retired import RetiredWords
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.scope import Scope
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance.memories import ONE, memory

FIRST, SECOND = "List the tables first.", "Check the indexes of both tables."


class AnswersOnce(SqliteMemories):
    """Reads memories by their ids once, and then never answers."""

    has_answered = False

    async def get(self, scope: Scope, memory_ids: tuple[str, ...]) -> tuple[MemoryRecord, ...]:
        if self.has_answered:
            await asyncio.Event().wait()
        self.has_answered = True
        return await super().get(scope, memory_ids)


async def test_what_was_found_before_the_time_was_up_is_used(tmp_path: Path) -> None:
    """Seen to fail: one slow look-up let all retired words pass."""
    async with sqlite_database(tmp_path) as database:
        memories = AnswersOnce(database)
        for memory_id, text in (("first", FIRST), ("second", SECOND)):
            lesson = memory(memory_id, text, text_key=text_key(text), state=MemoryState.RETIRED)
            await memories.put(ONE, MemoryHistory(lesson))
        words = RetiredWords(Recall(memories, SqliteMemorySearch(database), None, SystemClock()))
        assert await words.saying(ONE, [FIRST, SECOND]) == {FIRST: "first"}
