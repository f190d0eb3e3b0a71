"""The ports `TurnLog` and `Log` on SQLite."""

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
from functools import partial
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidemirror_server.storage.sqlite.sessions import SqliteSessions
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from sidemirror_server.trace.log import TURN_TOPIC, Batch, Entry, TurnStanding
from sidemirror_server.vocabulary.errors import WrongState
from sidemirror_server.vocabulary.ids import TurnId
from sidemirror_server.vocabulary.scope import Scope
from tests.adapters.sqlite_store import sqlite_database
from tests.architecture.repository import ROOT
from tests.conformance import turn_log as suite
from tests.conformance.clauses import clauses_of
from tests.conformance.turn_log import EVERYTHING, ONE, OTHER, Stores, batch, entries, everything, head, start

CLAUSES = clauses_of(suite)


@pytest.mark.parametrize("clause", CLAUSES)
async def test_clause(clause: str, tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        await CLAUSES[clause](lambda: Stores(SqliteTurnLog(database), SqliteSessions(database)))


async def test_appends_that_share_their_statements_are_still_each_their_own(tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        log = SqliteTurnLog(database)
        await log.append(ONE, (start("t1", b"1"),))
        finished = head("t1", 4, standing=TurnStanding.FINISHED)
        results = await asyncio.gather(
            log.append(ONE, (batch(head("t1", 2), b"2"),)),
            log.append(OTHER, (start("t1", b"other"),)),
            log.append(ONE, (batch(head("t2", 2), b"hole"),)),
            log.append(ONE, (batch(head("t1", 3), b"3"),)),
            log.append(ONE, (batch(head("t1", 3), b"another"),)),
            log.append(ONE, (batch(finished, b"4"), start("t3", b"t3"))),
            return_exceptions=True,
        )
        assert [type(result) for result in results] == [
            type(None),
            type(None),
            WrongState,
            type(None),
            WrongState,
            type(None),
        ]
        assert [entry.body for entry in await everything(log)] == [b"1", b"2", b"3", b"4", b"t3"]
        assert [entry.body for entry in await everything(log, OTHER)] == [b"other"]
        assert await log.head(ONE, TurnId("t1")) == finished


async def test_a_turn_that_only_moves_on_writes_one_index(tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        log = SqliteTurnLog(database)
        statements: list[str] = []
        connection = database._writer._connection
        assert connection is not None
        connection.set_trace_callback(statements.append)
        moves = [batch(head("t1", 2), b"2"), batch(head("t1", 3, standing=TurnStanding.FINISHED), b"3")]
        for one in (start("t1", b"1"), *moves):
            await log.append(ONE, (one,))
        # A statement is traced once more for each trigger that it fires.
        heads = [statement for statement, _ in groupby(statements) if "INTO turns" in statement]
        assert ["started_us = excluded" in statement for statement in heads] == [True, False, True]
        assert await log.head(ONE, TurnId("t1")) == moves[-1].head


# Whatever a text can hold once it has been let in, and some more: emoji, right to left, quotes, backslashes, controls,
# spellings that a JSON parser would change; now and then a megabyte.
_LETTERS = "a \" \\ é e\u0301 שלום \u202e \ufffd \U0001f642 \ufeff ' $ ] } %s :body \\u0000 1e400 1.0 -0"
_pieces = st.sampled_from([*_LETTERS.split(" "), " ", "\x00", "\n", "\x7f", "\u2028"])
_bodies = st.builds(
    lambda text, times: (text * times).encode()[: 1 << 20],
    st.lists(_pieces, min_size=1, max_size=8).map("".join),
    st.sampled_from([1, 1, 1, 1, 1, 3, 100_000]),
)
_names = st.sampled_from(["t1", "t2", "Grüße \U0001f642", "' OR 1=1 --", '"]}'])
_appends = st.lists(
    st.tuples(
        st.sampled_from([ONE, OTHER]),
        st.lists(st.tuples(_names, st.lists(_bodies, min_size=1, max_size=3)), min_size=1, max_size=3),
        st.integers(1, 3),  # how many entries a follower takes after it
        st.booleans(),  # whether it is appended a second time
    ),
    max_size=6,
)


@settings(max_examples=40)
@given(_appends)
def test_what_is_appended_is_read_and_followed(
    appends: list[tuple[Scope, list[tuple[str, list[bytes]]], int, bool]],
) -> None:
    async def run(folder: Path) -> None:
        model: dict[Scope, list[tuple[str, int, bytes]]] = {ONE: [], OTHER: []}
        followed: dict[Scope, list[Entry]] = {ONE: [], OTHER: []}
        async with sqlite_database(folder) as database:
            log = SqliteTurnLog(database)
            for scope, turns, page, again in appends:
                batches = []
                for turn, texts in turns:
                    first = 1 + sum(key == turn for key, _, _ in model[scope])
                    model[scope] += [(turn, first + number, body) for number, body in enumerate(texts)]
                    batches.append(batch(head(turn, first + len(texts) - 1), *texts, session_body=b"{}"))
                for _ in range(1 + again):
                    await log.append(scope, tuple(batches))
                for seen in (ONE, OTHER):
                    after = followed[seen][-1].position if followed[seen] else 0
                    followed[seen] += await log.tail(seen, TURN_TOPIC, None, after, page, 1_000_000_000)
            for scope, expected in model.items():
                found = await everything(log, scope)
                assert [(entry.key, entry.sequence, entry.body) for entry in found] == expected
                assert tuple(followed[scope]) == found[: len(followed[scope])]
                for turn in {key for key, _, _ in expected}:
                    of_turn = [entry for entry in found if entry.key == turn]
                    assert await in_pages(log, scope, turn, len(of_turn[0].body)) == of_turn

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder)))


async def in_pages(log: SqliteTurnLog, scope: Scope, turn: str, max_bytes: int) -> list[Entry]:
    """A whole turn, read a page of at most two entries at a time."""
    found: list[Entry] = []
    while page := await log.read(scope, TurnId(turn), len(found), 2, max_bytes):
        assert len(page) == 1 or len(page[0].body) < max_bytes
        found += page
    return found


async def test_a_refused_call_does_not_touch_the_others_of_its_group(tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        log = SqliteTurnLog(database)
        await log.append(ONE, (start("changed"),))
        calls: list[tuple[Batch, ...]] = [(start(f"t{number}"),) for number in range(64)]
        calls[20] = (start("changed", b'{"n":"another"}'),)
        calls[40] = (start("lost"), batch(head("changed", 3), b'{"n":3}'))
        together = [log.append(ONE, call) for call in calls]
        answers = await asyncio.gather(*together, return_exceptions=True)
        assert [number for number, answer in enumerate(answers) if answer is not None] == [20, 40]
        assert isinstance(answers[20], WrongState)
        assert isinstance(answers[40], WrongState)
        kept = {entry.key for entry in await everything(log)}
        assert kept == {"changed", *(f"t{number}" for number in range(64) if number not in (20, 40))}
        assert [entry.body for entry in await entries(log, "changed")] == [b'{"n":1}']


@pytest.mark.parametrize(("size", "entries"), [(10, 1_500), (3_000_000, 4)])
async def test_a_large_append_is_one_transaction_too(size: int, entries: int, tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        log = SqliteTurnLog(database)
        large = start("t1", *[b"x" * size] * entries)
        with pytest.raises(WrongState):
            await log.append(ONE, (large, batch(head("hole", 2), b"{}")))
        assert await everything(log) == ()
        await log.append(ONE, (large,))
        assert [(entry.sequence, len(entry.body)) for entry in await everything(log)] == [
            (sequence, size) for sequence in range(1, entries + 1)
        ]


async def test_a_position_is_never_given_again(tmp_path: Path) -> None:
    async with sqlite_database(tmp_path) as database:
        log = SqliteTurnLog(database)
        await log.append(ONE, (start("t1"),))
        seen = await log.last_position(ONE)
        await database.write(lambda connection: connection.execute("DELETE FROM log_entries").rowcount)
        assert await log.last_position(ONE) == 0
        await log.append(ONE, (start("t2"),))
        assert await log.last_position(ONE) > seen


def keep(connection: sqlite3.Connection, topic: str) -> None:
    connection.execute(
        "INSERT INTO log_entries (tenant_id, project_id, topic, key, group_id, sequence, at_us, body) "
        "VALUES ('acme', 'shop', ?, 't1', 's1', 1, 0, x'7b7d')",
        (topic,),
    )


async def test_positions_span_topics(tmp_path: Path) -> None:
    """Other services keep entries here too; a scope's last position is that of all its topics."""
    async with sqlite_database(tmp_path) as database:
        log = SqliteTurnLog(database)
        await log.append(ONE, (start("t1"),))
        for topic in ("a topic", "goal", "zoo"):
            await database.write(partial(keep, topic=topic))
            (entry,) = await log.tail(ONE, topic, "s1", 0, 10, 1_000_000)
            assert await log.tail(ONE, topic, None, 0, 10, 1_000_000) == (entry,)
            assert await log.last_position(ONE) == entry.position
        assert [entry.key for entry in await everything(log)] == ["t1"]
        assert await log.last_position(OTHER) == 0


def life(folder: Path, number: int, acknowledgements: int) -> dict[str, int]:
    """Lets a program append until it has said so many times that it did, and kills it. Answers the last sequence that
    it acknowledged, by turn."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.adapters.turns_until_killed", str(folder), f"life{number}"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "server")])},
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(acknowledgements)]
    process.send_signal(signal.SIGKILL)
    lines += [line for line in process.stdout.read().splitlines(keepends=True) if line.endswith(b"\n")]
    process.stdout.close()
    process.wait()
    return {turn: int(last) for turn, last in (line.decode().split() for line in lines)}


async def test_kill_loses_no_entry_that_was_acknowledged(tmp_path: Path) -> None:
    chance = random.Random(11)
    acknowledged: dict[str, int] = {}
    for number in range(4):
        acknowledged |= life(tmp_path, number, chance.randrange(20, 600))
        async with sqlite_database(tmp_path) as database:
            log = SqliteTurnLog(database)
            for turn, last in acknowledged.items():
                found = await log.read(ONE, TurnId(turn), 0, EVERYTHING, 2**60)
                assert [entry.sequence for entry in found] == list(range(1, len(found) + 1))
                assert len(found) >= last
                assert await log.head(ONE, TurnId(turn)) == head(turn, len(found))
            positions = [entry.position for entry in await everything(log)]
            assert positions == sorted(set(positions))
    assert len(acknowledged) == 16
