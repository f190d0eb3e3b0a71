"""How a question is looked up. The whole path, with explanations, is in tests/wire/test_memory_search.py."""

from pathlib import Path

from sidemirror_server.memory.finding.recall import Question, Recall, SearchMode
from sidemirror_server.memory.finding.search import Embedded, Filter
from sidemirror_server.memory.finding.weighing import Weight
from sidemirror_server.memory.record import MemoryHistory
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.memory_search import SqliteMemorySearch
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.scope import Scope
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance.memories import ONE, memory


class Meanings:
    """A model by which everything means the same."""

    model = "new/2"

    def weight(self, scope: Scope) -> Weight:
        return Weight(0.5)

    async def of_question(self, scope: Scope, text: str, wait_s: float | None = None) -> tuple[float, ...]:
        return (1.0, 0.0)


async def test_what_answers_too_little_is_no_hit(tmp_path: Path) -> None:
    """Seen to fail without a floor: a memory that shares one common word with a long question was a hit."""
    async with sqlite_database(tmp_path) as database:
        memories, search = SqliteMemories(database), SqliteMemorySearch(database)
        recall = Recall(memories, search, None, SystemClock())
        for number in range(30):
            text = f"the report of week{number} was late" if number else "migrate the orders table in small batches"
            await memories.put(ONE, MemoryHistory(memory(f"m{number}", text)))
        long = "how do we migrate the orders table of a billing database without locking readers for minutes"
        answer = await recall.ask(ONE, Question(long, 10, Filter(), explain_ids=("m1", "m2")))
        assert [hit.memory.memory_id for hit in answer.hits] == ["m0"]
        assert {miss.reason for miss in answer.misses} == {"it has too little of what was asked for"}
        assert len((await recall.ask(ONE, Question("the report", 10, Filter()))).hits) == 10


async def test_vectors_count_once_most_memories_have_one_of_the_present_model(tmp_path: Path) -> None:
    """What is left of another model counts for nothing, and neither do the first vectors of the new one. Seen to fail
    when those are gone by however few they are."""
    async with sqlite_database(tmp_path) as database:
        memories, search = SqliteMemories(database), SqliteMemorySearch(database)
        recall = Recall(memories, search, Meanings(), SystemClock())
        texts = {f"m{number}": f"join {number}" for number in range(10)}
        for memory_id, text in texts.items():
            await memories.put(ONE, MemoryHistory(memory(memory_id, text)))

        async def found(model: str, many: int) -> tuple[SearchMode, set[str]]:
            vectors = [Embedded(memory_id, text, (1.0, 0.0)) for memory_id, text in texts.items()][:many]
            await search.embed(ONE, model, tuple(vectors))
            answer = await recall.ask(ONE, Question("join", 10, Filter()))
            assert len(answer.hits) == 10
            return answer.mode, {part.name for hit in answer.hits for part in hit.parts} & {"full_text", "vector"}

        assert await found("old/2", 10) == (SearchMode.FULL_TEXT, {"full_text"})
        assert await found("new/2", 8) == (SearchMode.FULL_TEXT, {"full_text"})
        assert await found("new/2", 9) == (SearchMode.HYBRID, {"full_text", "vector"})
