"""The port `MemorySearch` on SQLite: its clauses, on a thread and in the process that a sidecar uses."""

import asyncio
import contextlib
import math
import signal
import sqlite3
from functools import partial
from pathlib import Path

import pytest
import uvloop

from sidemirror_server.assembly.stores import open_stores
from sidemirror_server.memory.finding.search import Embedded, Filter, VectorHits
from sidemirror_server.memory.record import AppliesWhen, Change, Lesson, MemoryHistory, Revision
from sidemirror_server.settings import load
from sidemirror_server.storage.sql import load_statements
from sidemirror_server.storage.sqlite import memory_rows
from sidemirror_server.storage.sqlite.database import FILE_NAME, SqliteDatabase
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.memory_lookup import Lookup
from sidemirror_server.storage.sqlite.memory_process import SearchProcess, SearchProcesses
from sidemirror_server.storage.sqlite.memory_rows import new_row
from sidemirror_server.storage.sqlite.memory_search import SqliteMemorySearch
from sidemirror_server.storage.sqlite.memory_vectors import Vectors
from sidemirror_server.storage.sqlite.migrate import read_migrations
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.errors import StoreUnavailable
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import memory_search as suite
from tests.conformance.clauses import clauses_of
from tests.conformance.memories import ONE, T0, memory
from tests.faults.waiting import until

CLAUSES = clauses_of(suite)


@pytest.mark.parametrize("clause", CLAUSES)
async def test_clause(clause: str, tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        await CLAUSES[clause](lambda: suite.Stores(SqliteMemories(database), SqliteMemorySearch(database)))


@pytest.mark.parametrize("clause", CLAUSES)
async def test_clause_in_processes(clause: str, tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        both = SearchProcesses(tmp_path / FILE_NAME)
        try:
            await CLAUSES[clause](lambda: suite.Stores(SqliteMemories(database), SqliteMemorySearch(database, both)))
        finally:
            await both.close()


async def test_the_first_question_finds_a_process(tmp_path: Path) -> None:
    """What is learned starts the process for words, and so does a store that is opened with a memory: nobody waits for
    it after a failed call. Seen to fail when either starts none."""
    for _ in range(2):
        async with contextlib.AsyncExitStack() as stack:
            stores = await open_stores(load({"data_dir": str(tmp_path)}, {}), SystemClock(), stack)
            search = stores.memory_search
            assert isinstance(search, SqliteMemorySearch)
            assert isinstance(search._process, SearchProcesses)
            words = search._process.words
            if not (tmp_path / "known").exists():
                assert words._begun is None
                await stores.memories.learn(ONE, Lesson(memory("a", "join")), T0)
                (tmp_path / "known").touch()
            assert words._begun is not None
            process = (await words._begun).process
            assert len(await search.best(ONE, Filter(), 10)) == 1
            assert (await words._begun).process is process
            assert search._process.vectors._begun is None


async def test_words_are_looked_up_while_vectors_are_compared(tmp_path: Path) -> None:
    """Seen to fail when one process answers all questions."""
    async with sqlite_database(tmp_path) as database:
        both = SearchProcesses(tmp_path / FILE_NAME)
        search = SqliteMemorySearch(database, both)
        await SqliteMemories(database).put(ONE, MemoryHistory(memory("a", "join")))
        await search.embed(ONE, "m", (Embedded("a", "join", (1.0, 0.0)),))
        try:
            assert (await search.by_vector(ONE, "m", (1.0, 0.0), Filter(), 1)).hits
            assert both.vectors._begun is not None
            comparing = (await both.vectors._begun).process
            comparing.send_signal(signal.SIGSTOP)
            try:
                by_vector = asyncio.create_task(search.by_vector(ONE, "m", (1.0, 0.0), Filter(), 1))
                async with asyncio.timeout(30):
                    assert (await search.by_text(ONE, {"join": 1.0}, Filter(), 1)).hits
                assert not by_vector.done()
            finally:
                comparing.send_signal(signal.SIGCONT)
            assert (await by_vector).hits
        finally:
            await both.close()


async def test_a_search_that_is_killed_is_refused_and_the_next_one_answered(tmp_path: Path) -> None:
    """Seen to fail when the reader of answers leaves those that wait alone: then the first one waits for ever."""
    async with sqlite_database(tmp_path) as database:
        await SqliteMemories(database).put(ONE, MemoryHistory(memory("a", "join")))
        process = SearchProcess(tmp_path / FILE_NAME)
        search = SqliteMemorySearch(database, process)
        assert len(await search.best(ONE, Filter(), 10)) == 1
        assert process._begun is not None
        child = (await process._begun).process
        asked = [asyncio.create_task(search.best(ONE, Filter(), 10)) for _ in range(50)]
        child.kill()
        async with asyncio.timeout(60):
            came_of_it = await asyncio.gather(*asked, return_exceptions=True)
            assert all(isinstance(one, StoreUnavailable | tuple) for one in came_of_it)
            assert len(await search.best(ONE, Filter(), 10)) == 1
        await process.close()
        with pytest.raises(StoreUnavailable):
            await search.best(ONE, Filter(), 10)


async def test_a_caller_that_leaves_takes_nobody_elses_answer(tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        for number in range(3):
            await SqliteMemories(database).put(ONE, MemoryHistory(memory(f"m{number}", f"text {number}")))
        process = SearchProcess(tmp_path / FILE_NAME)
        search = SqliteMemorySearch(database, process)
        asked = [asyncio.create_task(search.best(ONE, Filter(), 1 + number % 3)) for number in range(30)]
        await asyncio.sleep(0)
        for task in asked[::2]:
            task.cancel()
        found = await asyncio.gather(*asked[1::2])
        assert [len(one) for one in found] == [1 + number % 3 for number in range(1, 30, 2)]
        await process.close()


def test_a_search_that_is_killed_again_and_again(tmp_path: Path) -> None:
    """Every question is answered or refused, whenever the process goes away under it, on the loop that serves."""
    uvloop.run(_killed_again_and_again(tmp_path))


async def _killed_again_and_again(tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        await SqliteMemories(database).put(ONE, MemoryHistory(memory("a", "join")))
        process = SearchProcess(tmp_path / FILE_NAME)
        search = SqliteMemorySearch(database, process)
        answers = 0

        async def ask() -> None:
            nonlocal answers
            refused = 0
            while refused < 5_000 and answers < 400:
                try:
                    assert len(await search.best(ONE, Filter(), 10)) == 1
                    answers += 1
                except StoreUnavailable:
                    refused += 1
                await asyncio.sleep(0)

        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            for _ in range(8):
                group.create_task(ask())
            for kills in range(1, 7):
                enough = 50 * kills
                await until(lambda: answers >= enough)  # noqa: B023 - it is over before `enough` changes
                if process._begun is not None:
                    (await process._begun).process.kill()
        assert answers >= 400
        await process.close()


def of_signs() -> Lookup:
    """Vectors as they are searched in large scopes."""
    lookup = Lookup()
    lookup._vectors = Vectors(exact_rows=0)
    return lookup


async def test_a_question_by_meaning_costs_no_more_steps_in_a_larger_scope(tmp_path: Path) -> None:
    """Seen to fail when those that have a vector are counted."""

    def steps_of_a_question(connection: sqlite3.Connection) -> int:
        lookup, steps = of_signs(), 0

        def step() -> None:
            nonlocal steps
            steps += 1

        asked = (ONE, "m", (1.0, 0.0), Filter(), 10)
        lookup.by_vector(connection, *asked)  # reads the vectors
        connection.set_progress_handler(step, 1)
        try:
            assert len(lookup.by_vector(connection, *asked).hits) == 10
        finally:
            connection.set_progress_handler(None, 1)
        return steps

    async with sqlite_database(tmp_path) as database:
        memories, search = SqliteMemories(database), SqliteMemorySearch(database)
        steps = []
        for first, many in ((0, 410), (410, 1000)):  # 400 are scored anew
            made = [memory(f"m{number:04}", f"text {number}") for number in range(first, first + many)]
            await asyncio.gather(*[memories.put(ONE, MemoryHistory(one)) for one in made])
            turns = [int(one.memory_id[1:]) / 2000 for one in made]
            vectors = [(math.cos(turn), math.sin(turn)) for turn in turns]
            embedded = [Embedded(one.memory_id, one.content, at) for one, at in zip(made, vectors, strict=True)]
            await search.embed(ONE, "m", tuple(embedded))
            steps.append(await database.search(steps_of_a_question))
    assert steps[1] <= steps[0] * 1.1


def nearest_three(lookup: Lookup, connection: sqlite3.Connection) -> VectorHits:
    return lookup.by_vector(connection, ONE, "m", (1.0, 0.0), Filter(), 3)


async def test_memories_equally_near_come_with_the_newest_first_however_many_there_are(tmp_path: Path) -> None:
    """Seen to fail when a portion ends among those that are equally near, and when of the floats held the first few
    were read alone."""
    async with sqlite_database(tmp_path) as database:
        memories, search = SqliteMemories(database), SqliteMemorySearch(database)
        made = [memory(f"m{number:02}", f"text {number}", at_us=T0 + number) for number in range(40)]
        await asyncio.gather(*[memories.put(ONE, MemoryHistory(one)) for one in made])
        await search.embed(ONE, "m", tuple(Embedded(one.memory_id, one.content, (1.0, 0.0)) for one in made))
        for lookup in (of_signs(), Lookup()):
            found = await database.search(partial(nearest_three, lookup))
            assert [hit.facts.memory_id for hit in found.hits] == ["m39", "m38", "m37"]


def began(process: SearchProcess) -> bool:
    return process._begun is not None


async def test_few_memories_with_a_label_are_read_at_once(tmp_path: Path) -> None:
    """And many by the process, which finds the same. Seen to fail when all are asked of the process."""
    async with sqlite_database(tmp_path) as database:
        memories, process = SqliteMemories(database), SearchProcess(tmp_path / FILE_NAME)
        search = SqliteMemorySearch(database, process)
        of_query = AppliesWhen(tools=("query",))
        made = [memory(f"m{number:03}", f"text {number}", T0 + number, applies_when=of_query) for number in range(101)]
        await asyncio.gather(*[memories.put(ONE, MemoryHistory(one)) for one in made[:100]])
        few = await search.labelled(ONE, ("query",), ("timeout",), Filter(), 3)
        assert not began(process)
        assert [facts.memory_id for facts in few] == ["m099", "m098", "m097"]
        await memories.put(ONE, MemoryHistory(made[100]))
        many = await search.labelled(ONE, ("query",), ("timeout",), Filter(), 3)
        assert began(process)
        assert [facts.memory_id for facts in many] == ["m100", "m099", "m098"]
        await process.close()


async def test_what_was_kept_before_lengths_stood_with_facts_is_found_as_before(tmp_path: Path) -> None:
    """A store of the version before `memory_words`, when triggers kept what a new memory is found by."""
    known = read_migrations()
    before = known[: next(place for place, one in enumerate(known) if one.name == "memory_words")]
    made = [memory(f"m{at}", f"join {'slow ' * at}", task_text="index" * (at % 2), tags=("t",)) for at in range(9)]
    rows = [new_row(ONE, one) for one in made]
    earlier = await SqliteDatabase.open(tmp_path / "earlier", now_us=0, migrations=before)
    add = load_statements(Path(memory_rows.__file__).with_name("memories.sql"))["add"]
    values = [{**row.values, "row_id": row_id} for row_id, row in enumerate(rows, 1)]
    await earlier.write(lambda connection: connection.executemany(add, values).rowcount)
    await earlier.close()
    found = []
    for folder in (tmp_path / "earlier", tmp_path / "now"):
        async with sqlite_database(folder) as database:
            if folder.name == "now":
                for one in made:
                    await SqliteMemories(database).put(ONE, MemoryHistory(one))
            await SqliteMemories(database).revise(
                ONE, "m8", Revision(Change.UPDATED, content="join it", text_key="k"), T0
            )
            search = SqliteMemorySearch(database)
            by_text = await search.by_text(ONE, {"join": 1.0, "index": 1.0, "slow": 1.0}, Filter(), 9)
            labelled = await search.best(ONE, Filter(tags=("t",)), 9)
            facts = database.read(
                lambda connection: connection.execute("SELECT memory_id, terms FROM memory_facts").fetchall()
            )
            found.append((by_text, labelled, sorted(facts)))
    assert len(found[0][0].hits) == 9
    assert found[0] == found[1]


async def test_a_comparison_is_not_shared_out_among_threads(tmp_path: Path) -> None:
    """Seen to fail when numpy's library is left to choose: it starts a thread for each further core."""
    async with sqlite_database(tmp_path) as database:
        process = SearchProcess(tmp_path / FILE_NAME)
        search = SqliteMemorySearch(database, process)
        await SqliteMemories(database).put(ONE, MemoryHistory(memory("a", "join")))
        await search.embed(ONE, "m", (Embedded("a", "join", (1.0, 0.0)),))
        try:
            assert len((await search.by_vector(ONE, "m", (1.0, 0.0), Filter(), 1)).hits) == 1
            assert process._begun is not None
            pid = process._begun.result().process.pid
            threads = await asyncio.to_thread(lambda: list(Path(f"/proc/{pid}/task").iterdir()))
        finally:
            await process.close()
    assert len(threads) == 1
