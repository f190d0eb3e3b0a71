"""What a store of before has is found by outcome and by lesson once the migration `person_view` has run, and what an
earlier server writes beside it too."""

import sqlite3

from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.migrate import migrate as migrate_postgres
from sidemirror_server.storage.postgres.migrate import read_migrations as read_postgres
from sidemirror_server.storage.postgres.receipts import PostgresReceipts
from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
from sidemirror_server.storage.sqlite.migrate import migrate, read_migrations
from tests.conformance.turn_log import ONE
from tests.postgres.databases import Databases

NUMBER = 202611230458
TURN = '{"task":"say \\"outcome\\":\\"success\\"","outcome":"failure","event_count":2}'
RECEIPT = '{"items":[{"id":"shown","version":1,"kind":"strategy","text_hash":""}],"held_back":["held","shown"]}'
TURNS = (("ended", "finished", TURN), ("left", "abandoned", '{"task":"t"}'), ("open", "open", '{"task":"t"}'))


def test_rows_of_before_in_sqlite() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    every = read_migrations()
    migrate(connection, [one for one in every if one.number < NUMBER], 0)
    for turn_id, standing, body in TURNS:
        connection.execute(
            "INSERT INTO turns VALUES ('acme', 'shop', ?, 's', 1, ?, 1, 1, 1, ?, 0)", (turn_id, standing, body.encode())
        )
    receipt = ("INSERT INTO receipts VALUES ('acme', 'shop', 'r', 'turn', 7, 'ended', 's', '', ?)", (RECEIPT.encode(),))
    connection.execute(*receipt)
    migrate(connection, every, 0)
    assert connection.execute("SELECT turn_id, outcome FROM turns ORDER BY turn_id").fetchall() == [
        ("ended", "failure"),
        ("left", ""),
        ("open", ""),
    ]
    shown = "SELECT lesson_id, time_us, receipt_id FROM shown_lessons"
    assert connection.execute(shown).fetchall() == [("held", 7, "r"), ("shown", 7, "r")]
    connection.execute("UPDATE receipts SET body = ?", (b'{"held_back":["held"]}',))
    assert connection.execute(shown).fetchall() == [("held", 7, "r")]
    connection.execute("DELETE FROM receipts")
    assert connection.execute(shown).fetchall() == []
    connection.close()


async def test_rows_of_before_in_postgres(databases: Databases) -> None:
    """The rows come in as an earlier server writes them, before the migration and after it."""
    every = read_postgres()
    async with databases.fresh(migrated=False) as name:
        url = databases.cluster.url("owner", name)
        await migrate_postgres(url, ["sidecar"], 0, [one for one in every if one.number < NUMBER])
        await _written(databases, name, "")
        await migrate_postgres(url, ["sidecar"], 0, every)
        await _written(databases, name, "later-")
        database = await PostgresDatabase.open(databases.cluster.url("sidecar", name))
        try:
            log, receipts = PostgresTurnLog(database), PostgresReceipts(database)
            failed = await log.heads(ONE, None, None, None, 9, outcomes=["failure"])
            assert sorted(head.turn_id for head in failed) == ["ended", "later-ended"]
            others = await log.heads(ONE, None, None, None, 9, outcomes=[""])
            assert len(others) == 4
            for lesson_id in ("shown", "held"):
                found = await receipts.find(ONE, None, 9, lesson_id=lesson_id)
                assert [one.receipt_id for one in found] == ["r", "later-r"]
        finally:
            await database.close()


async def _written(databases: Databases, name: str, prefix: str) -> None:
    columns = "tenant_id, project_id, turn_id, session_id, turn_count, standing, last_sequence, started_us, updated_us"
    for turn_id, standing, body in TURNS:
        values = f"'acme', 'shop', '{prefix}{turn_id}', 's', 1, '{standing}', 1, 1, 1, convert_to('{body}', 'UTF8')"
        await databases.as_superuser(f"INSERT INTO sidemirror.turns ({columns}, body) VALUES ({values})", name)
    values = f"'acme', 'shop', '{prefix}r', 'turn', 7, 'ended', 's', '', convert_to('{RECEIPT}', 'UTF8')"
    await databases.as_superuser(f"INSERT INTO sidemirror.receipts VALUES ({values})", name)
