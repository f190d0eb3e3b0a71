"""Receipts in SQLite."""

import sqlite3
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from sidemirror_server.storage.sql import columns_of, load_statements
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.served import fetch_served
from sidemirror_server.storage.sqlite.sources import is_any_erased, note_sources, refuse_erased
from sidemirror_server.trace.receipts import (
    FIRST_RECEIPT,
    LESSON_ERASED,
    Receipt,
    ReceiptKey,
    lessons_in,
    made_for,
    receipt_body,
    receipt_of,
)
from sidemirror_server.trace.sources import SourceKind
from sidemirror_server.trace.sources import key as source_key
from sidemirror_server.vocabulary.errors import StoreUnavailable
from sidemirror_server.vocabulary.scope import Scope, Serves

_SQL = load_statements(Path(__file__).with_name("receipts.sql"))


class SqliteReceipts:
    """The port `Receipts` on the embedded store."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def issue(self, scope: Scope, receipt: Receipt) -> Receipt:
        stored, _ = await self._database.write(lambda connection: keep_receipt(connection, scope, receipt))
        return stored

    async def get(self, scope: Scope, receipt_id: str) -> Receipt | None:
        wanted = _key(scope, receipt_id)
        row = self._database.read(lambda connection: connection.execute(_SQL["get"], wanted).fetchone())
        return None if row is None else receipt_of(*row)

    async def shown(self, scope: Scope, hashes: Collection[bytes]) -> frozenset[bytes]:
        place = columns_of(scope)

        def look_up(connection: sqlite3.Connection) -> frozenset[bytes]:
            return frozenset(
                one for one in hashes if connection.execute(_SQL["shown"], {**place, "text_hash": one}).fetchone()
            )

        return self._database.read(look_up)

    async def of_turn(self, scope: Scope, turn_id: str, limit: int) -> tuple[Receipt, ...]:
        wanted = {**columns_of(scope), "turn_id": turn_id, "limit": limit}
        rows = self._database.read(lambda connection: connection.execute(_SQL["of_turn"], wanted).fetchall())
        return tuple(receipt_of(*row) for row in rows)

    async def of_session(
        self, scope: Scope, session_id: str, from_us: int, until_us: int, limit: int
    ) -> tuple[Receipt, ...]:
        times = {"from_us": from_us, "until_us": until_us, "limit": limit}
        wanted = {**columns_of(scope), "session_id": session_id, **times}
        rows = self._database.read(lambda connection: connection.execute(_SQL["of_session"], wanted).fetchall())
        return tuple(receipt_of(*row) for row in rows)

    async def of_turns(self, scope: Scope, turn_ids: Collection[str], limit: int) -> Mapping[str, tuple[Receipt, ...]]:
        place = {**columns_of(scope), "limit": limit}

        def look_up(connection: sqlite3.Connection) -> dict[str, tuple[Receipt, ...]]:
            rows = {one: connection.execute(_SQL["of_turn"], {**place, "turn_id": one}).fetchall() for one in turn_ids}
            return {one: tuple(receipt_of(*row) for row in found) for one, found in rows.items() if found}

        return await self._database.search(look_up)

    async def find(
        self,
        scope: Scope,
        after: ReceiptKey | None,
        limit: int,
        *,
        lesson_id: str = "",
        turn_id: str = "",
        from_us: int = 0,
    ) -> tuple[Receipt, ...]:
        place = after or FIRST_RECEIPT
        wanted = {
            **_key(scope, place.receipt_id),
            "time_us": place.time_us,
            "lesson_id": lesson_id,
            "turn_id": turn_id,
            "from_us": from_us,
            "limit": limit,
        }
        name = "find_lesson" if lesson_id else "find_turn" if turn_id else "find"
        rows = await self._database.search(lambda connection: connection.execute(_SQL[name], wanted).fetchall())
        return tuple(receipt_of(*row) for row in rows)

    async def forget(self, serves: Serves, before_us: int, limit: int) -> int:
        def change(connection: sqlite3.Connection) -> int:
            oldest = fetch_served(serves, limit, _SQL["oldest"], {"before_us": before_us}, connection)
            keys = [_key(Scope(tenant_id, project_id), receipt_id) for tenant_id, project_id, receipt_id in oldest]
            connection.executemany(_SQL["forget_items"], keys)
            connection.executemany(_SQL["forget"], keys)
            return len(keys)

        return await self._database.write(change, long=True)


def keep_receipt(connection: sqlite3.Connection, scope: Scope, receipt: Receipt) -> tuple[Receipt, bool]:
    """Stores a receipt unless the id has one, in the caller's transaction. Returns the stored one, and whether it is
    new. Raises what `Receipts.issue` raises."""
    refuse_erased(connection, scope, made_for(receipt), receipt.time_us)
    if is_any_erased(connection, scope, lessons_in(receipt), receipt.time_us):
        raise StoreUnavailable(reason=LESSON_ERASED)
    key = _key(scope, receipt.receipt_id)
    values = {
        **key,
        "kind": receipt.kind.value,
        "time_us": receipt.time_us,
        "turn_id": receipt.turn_id,
        "session_id": receipt.session_id,
        "goal_id": receipt.goal_id,
        "body": receipt_body(receipt),
    }
    is_new = connection.execute(_SQL["issue"], values).rowcount > 0
    if is_new:
        connection.executemany(_SQL["show"], [{**key, "text_hash": item.text_hash} for item in receipt.items])
        own = source_key(SourceKind.SHOWN, receipt.receipt_id)
        note_sources(connection, scope, own, lessons_in(receipt))
    return receipt_of(*connection.execute(_SQL["get"], key).fetchone()), is_new


def _key(scope: Scope, receipt_id: str) -> dict[str, Any]:
    return {**columns_of(scope), "receipt_id": receipt_id}
