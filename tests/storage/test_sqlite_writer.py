"""Group commit: who shares a transaction, and who pays for whose failure."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from sidemirror_server.storage.sqlite import checkpoints, writer
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.vocabulary.errors import AlreadyExists, StoreUnavailable
from tests.storage.small_store import insert, numbers, small_store


class Spy:
    """Tells which statements the writer's own connection ran."""

    def __init__(self, database: SqliteDatabase) -> None:
        self.statements: list[str] = []
        connection = database._writer._connection
        assert connection is not None
        connection.set_trace_callback(self.statements.append)

    def count(self, statement: str) -> int:
        return self.statements.count(statement)


async def test_tasks_that_write_together_share_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_GROUP_S", 60)  # however long the machine takes for fifty
    async with small_store(tmp_path) as database:
        spy = Spy(database)
        assert await asyncio.gather(*[database.write(insert(n)) for n in range(50)]) == list(range(50))
        assert spy.count("COMMIT") == 1
        assert database.read(numbers) == list(range(50))


async def test_nothing_is_answered_before_it_is_committed(tmp_path: Path) -> None:
    async with small_store(tmp_path) as database:
        for n in range(20):
            writes = [asyncio.ensure_future(database.write(insert(n * 3 + k))) for k in range(3)]
            await asyncio.wait(writes, return_when=asyncio.FIRST_COMPLETED)
            assert n * 3 in database.read(numbers)
            await asyncio.gather(*writes)


def refuse(connection: sqlite3.Connection) -> None:
    raise AlreadyExists("note", "7")


def half_done(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO notes VALUES (1000, x'00')")
    raise AlreadyExists("note", "7")


def twice_the_same(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO notes VALUES (1001, x'00')")
    connection.execute("INSERT INTO notes VALUES (1001, x'00')")


def no_row(connection: sqlite3.Connection) -> None:
    next(connection.execute("SELECT 1 WHERE FALSE"))


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (refuse, AlreadyExists),
        (half_done, AlreadyExists),
        (twice_the_same, sqlite3.IntegrityError),
        (no_row, RuntimeError),
    ],
)
async def test_a_failing_call_undoes_itself_only(
    bad: Callable[[sqlite3.Connection], None], error: type[Exception], tmp_path: Path
) -> None:
    async with small_store(tmp_path) as database:
        for alone in (True, False):
            calls = [] if alone else [database.write(insert(n)) for n in range(20)]
            results = await asyncio.gather(*calls[:10], database.write(bad), *calls[10:], return_exceptions=True)
            assert [type(result) for result in results if not isinstance(result, int)] == [error]
        assert database.read(numbers) == list(range(20))


async def test_a_refusal_costs_no_second_run(tmp_path: Path) -> None:
    async with small_store(tmp_path) as database:
        spy = Spy(database)
        await asyncio.gather(database.write(insert(1)), database.write(refuse), return_exceptions=True)
        assert [statement for statement in spy.statements if statement == "ROLLBACK" or "SAVEPOINT" in statement] == []
        await asyncio.gather(database.write(insert(2)), database.write(half_done), return_exceptions=True)
        assert spy.count("ROLLBACK") == 1
        assert spy.count("SAVEPOINT call") == 2


class Together:
    """Inserts numbers, many with one statement, and remembers which came together."""

    def __init__(self, refused: int | None = None, *, late: bool = False) -> None:
        """Refuses one number: before it has changed anything, or `late`."""
        self.made: list[list[int]] = []
        self._refused, self._late = refused, late
        # As `make` of `write_alike`: the same object for all of them.
        self.make = self._make

    def _make(self, connection: sqlite3.Connection, items: Sequence[int]) -> list[int]:
        self.made.append(list(items))
        if self._refused in items and not self._late:
            raise AlreadyExists("note", str(self._refused))
        rows = ",".join(f"({number}, x'00')" for number in items)
        connection.execute(f"INSERT INTO notes VALUES {rows}")
        if self._refused in items:
            raise AlreadyExists("note", str(self._refused))
        return [number * 10 for number in items]


async def test_changes_that_are_alike_are_made_together(tmp_path: Path) -> None:
    async with small_store(tmp_path) as database:
        together = Together()
        results = await asyncio.gather(*[database.write_alike(together.make, n) for n in range(150)])
        assert results == [n * 10 for n in range(150)]
        assert together.made == [list(range(150))[begin : begin + 16] for begin in range(0, 150, 16)]
        assert database.read(numbers) == list(range(150))


async def test_changes_that_are_alike_keep_their_place_among_others(tmp_path: Path) -> None:
    async with small_store(tmp_path) as database:
        first, other = Together(), Together()
        seen = await asyncio.gather(
            database.write_alike(first.make, 1),
            database.write_alike(first.make, 2),
            database.write(numbers),
            database.write_alike(first.make, 3),
            database.write_alike(other.make, 4),
        )
        assert list(seen) == [10, 20, [1, 2], 30, 40]
        assert (first.made, other.made) == ([[1, 2], [3]], [[4]])


@pytest.mark.parametrize("late", [False, True])
async def test_what_one_of_many_is_refused_for_is_its_own(tmp_path: Path, late: bool) -> None:
    async with small_store(tmp_path) as database:
        together = Together(refused=7, late=late)
        calls = [database.write_alike(together.make, n) for n in range(20)]
        results = await asyncio.gather(*calls, database.write(insert(100)), return_exceptions=True)
        assert [type(result) for result in results if not isinstance(result, int)] == [AlreadyExists]
        assert isinstance(results[7], AlreadyExists)
        assert database.read(numbers) == [*range(7), *range(8, 20), 100]


async def test_a_cancelled_one_of_many_is_left_out(tmp_path: Path) -> None:
    async with small_store(tmp_path) as database:
        together = Together()
        calls = [asyncio.create_task(database.write_alike(together.make, n)) for n in range(3)]
        await asyncio.sleep(0)  # they are queued, their group has not begun
        calls[1].cancel()
        await asyncio.wait(calls)
        assert together.made == [[0, 2]]
        assert database.read(numbers) == [0, 2]


async def test_a_cancelled_caller_harms_nobody(tmp_path: Path) -> None:
    async with small_store(tmp_path) as database:
        not_begun = asyncio.create_task(database.write(insert(1)))
        await asyncio.sleep(0)  # it is queued, its group has not begun
        not_begun.cancel()
        await asyncio.gather(*[database.write(insert(n)) for n in range(2, 6)])
        assert database.read(numbers) == [2, 3, 4, 5]

        begun = asyncio.Event()

        def seen(connection: sqlite3.Connection) -> int:
            begun.set()
            return insert(6)(connection)

        under_way = asyncio.create_task(database.write(seen))
        others = [asyncio.create_task(database.write(insert(n))) for n in range(7, 10)]
        await begun.wait()
        under_way.cancel()
        assert await asyncio.gather(*others) == [7, 8, 9]
        assert under_way.cancelled()
        assert database.read(numbers) == [2, 3, 4, 5, 6, 7, 8, 9]


async def test_statements_run_on_the_loop_and_commits_do_not(tmp_path: Path) -> None:
    async with small_store(tmp_path) as database:
        here = threading.get_ident()
        assert await database.write(lambda _: threading.get_ident()) == here
        assert await database.write(lambda _: threading.get_ident(), long=True) != here
        assert await database.search(lambda _: threading.get_ident()) != here


async def test_a_long_call_has_a_transaction_of_its_own_and_its_place_in_the_order(tmp_path: Path) -> None:
    async with small_store(tmp_path) as database:
        spy = Spy(database)
        seen = await asyncio.gather(
            database.write(insert(1)),
            database.write(numbers, long=True),
            database.write(insert(2)),
            database.write(numbers),
        )
        assert list(seen) == [1, [1], 2, [1, 2]]
        assert spy.count("COMMIT") == 3


async def test_the_loop_is_kept_a_few_milliseconds_at_most(tmp_path: Path) -> None:
    async with small_store(tmp_path) as database:
        spy = Spy(database)

        def slow(connection: sqlite3.Connection) -> None:
            connection.execute(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT max(i) FROM n"
            ).fetchone()  # about 3 ms

        await asyncio.gather(*[database.write(slow) for _ in range(20)])
        assert spy.count("COMMIT") >= 5


async def test_another_processs_lock_holds_up_writes_but_not_the_loop(tmp_path: Path) -> None:
    async with small_store(tmp_path) as database:
        foreign = sqlite3.connect(tmp_path / "sidemirror.db", isolation_level=None, check_same_thread=False)
        foreign.execute("BEGIN IMMEDIATE")
        write = asyncio.create_task(database.write(insert(1)))
        loop = asyncio.get_running_loop()
        longest_s, before_s, until_s = 0.0, loop.time(), loop.time() + 0.3
        while loop.time() < until_s:
            await asyncio.sleep(0.001)
            longest_s, before_s = max(longest_s, loop.time() - before_s), loop.time()
        assert longest_s < 2, "as long as the lock is waited for, if the loop were kept"
        assert not write.done()
        foreign.execute("COMMIT")
        assert await write == 1
        foreign.close()


async def test_closing_finishes_what_waits_and_refuses_the_rest(tmp_path: Path) -> None:
    async with small_store(tmp_path) as database:
        writes = [asyncio.create_task(database.write(insert(n))) for n in range(10)]
        await asyncio.sleep(0)
        await database.close()
        assert await asyncio.gather(*writes) == list(range(10))
        with pytest.raises(StoreUnavailable):
            await database.write(insert(10))
        with pytest.raises(StoreUnavailable):
            database.read(numbers)
    assert not (tmp_path / "sidemirror.db-wal").exists()
    async with small_store(tmp_path) as database:
        assert database.read(numbers) == list(range(10))


async def test_readers_see_one_snapshot_and_cannot_write(tmp_path: Path) -> None:
    async with small_store(tmp_path) as database:
        with pytest.raises(StoreUnavailable, match="readonly"):
            database.read(insert(1))
        with pytest.raises(StoreUnavailable, match="readonly"):
            await database.search(insert(1))
        assert database.read(numbers) == []


async def test_a_failure_of_the_disk_in_a_statement_fails_the_whole_group(tmp_path: Path) -> None:
    def fails(connection: sqlite3.Connection) -> None:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR_READ
        raise error

    async with small_store(tmp_path) as database:
        calls = [database.write(insert(1)), database.write(fails), database.write(insert(2))]
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(result) for result in results[:2]] == [StoreUnavailable] * 2
        assert results[2] == 2, "the group ended with the failure; who came later was in the next"
        assert database.read(numbers) == [2]


async def test_a_loop_that_is_never_idle_does_not_starve_the_commits(tmp_path: Path) -> None:
    async with small_store(tmp_path) as database:
        writes = asyncio.create_task(_one_after_another(database, 300))
        async with asyncio.timeout(60):  # about 0.6 s; without the loop's pauses, often minutes
            while not writes.done():
                until = time.perf_counter() + 0.0001
                while time.perf_counter() < until:
                    pass
                await asyncio.sleep(0)


async def _one_after_another(database: SqliteDatabase, count: int) -> None:
    for number in range(count):
        await database.write(insert(number))


async def test_a_commit_while_it_closes_starts_no_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The write that waits is kept. Seen to fail when `Checkpoints.committed` sets its timer although it is closed: the
    timer then fired into a thread that had ended."""
    monkeypatch.setattr(checkpoints, "_LATEST_S", 0.01)
    went_wrong: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: went_wrong.append(context["exception"]))
    async with small_store(tmp_path) as database:
        writing = asyncio.create_task(database.write(insert(1)))
        await asyncio.sleep(0)
    assert await writing == 1
    await asyncio.sleep(0.05)
    assert went_wrong == []
