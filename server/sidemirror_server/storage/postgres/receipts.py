"""Receipts in Postgres."""

from collections.abc import Collection, Mapping
from pathlib import Path

from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.sources import is_any_erased, note_sources, refuse_erased
from sidemirror_server.storage.postgres.transactions import Transaction
from sidemirror_server.storage.sql import ids_of, load_statements
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


class PostgresReceipts:
    """The port `Receipts` on the shared store."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def issue(self, scope: Scope, receipt: Receipt) -> Receipt:
        async with self._database.transaction(scope, derives=True) as transaction:
            stored, _ = await keep_receipt(transaction, scope, receipt)
        return stored

    async def get(self, scope: Scope, receipt_id: str) -> Receipt | None:
        row = await self._database.first(scope, _SQL["get"], receipt_id)
        return None if row is None else receipt_of(*row)

    async def shown(self, scope: Scope, hashes: Collection[bytes]) -> frozenset[bytes]:
        rows = await self._database.fetch(scope, _SQL["shown"], list(hashes))
        return frozenset(row[0] for row in rows)

    async def of_turn(self, scope: Scope, turn_id: str, limit: int) -> tuple[Receipt, ...]:
        rows = await self._database.fetch(scope, _SQL["of_turn"], turn_id, limit)
        return tuple(receipt_of(*row) for row in rows)

    async def of_session(
        self, scope: Scope, session_id: str, from_us: int, until_us: int, limit: int
    ) -> tuple[Receipt, ...]:
        rows = await self._database.fetch(scope, _SQL["of_session"], session_id, from_us, until_us, limit)
        return tuple(receipt_of(*row) for row in rows)

    async def of_turns(self, scope: Scope, turn_ids: Collection[str], limit: int) -> Mapping[str, tuple[Receipt, ...]]:
        found: dict[str, tuple[Receipt, ...]] = {}
        if turn_ids:
            for row in await self._database.fetch(scope, _SQL["of_turns"], list(turn_ids), limit):
                one = receipt_of(*row)
                found[one.turn_id] = (*found.get(one.turn_id, ()), one)
        return found

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
        wanted = (place.time_us, place.receipt_id, limit, from_us)
        if lesson_id:
            rows = await self._database.fetch(scope, _SQL["find_lesson"], *wanted, lesson_id)
        elif turn_id:
            rows = await self._database.fetch(scope, _SQL["find_turn"], *wanted, turn_id)
        else:
            rows = await self._database.fetch(scope, _SQL["find"], *wanted)
        return tuple(receipt_of(*row) for row in rows)

    async def forget(self, serves: Serves, before_us: int, limit: int) -> int:
        forgotten = 0
        async with self._database.transaction(None) as transaction:
            rows = await transaction.fetch_served(serves, limit, _SQL["oldest"], before_us)
            async for scope, (ids,) in transaction.by_scope(rows):
                await transaction.change(_SQL["forget_items"], *ids_of(scope), ids)
                forgotten += await transaction.change(_SQL["forget"], *ids_of(scope), ids)
        return forgotten


async def keep_receipt(transaction: Transaction, scope: Scope, receipt: Receipt) -> tuple[Receipt, bool]:
    """Stores a receipt unless the id has one, in the caller's transaction, which derives. Returns the stored one, and
    whether it is new. Raises what `Receipts.issue` raises."""
    key = (*ids_of(scope), receipt.receipt_id)
    values = (
        *(receipt.kind.value, receipt.time_us, receipt.turn_id),
        *(receipt.session_id, receipt.goal_id, receipt_body(receipt)),
    )
    await refuse_erased(transaction, scope, made_for(receipt), receipt.time_us)
    if await is_any_erased(transaction, scope, lessons_in(receipt), receipt.time_us):
        raise StoreUnavailable(reason=LESSON_ERASED)
    is_new = await transaction.change(_SQL["issue"], *key, *values) > 0
    if is_new:
        await transaction.change(_SQL["show"], *key, [item.text_hash for item in receipt.items])
        own = source_key(SourceKind.SHOWN, receipt.receipt_id)
        await note_sources(transaction, scope, own, lessons_in(receipt))
    (row,) = await transaction.fetch(_SQL["get"], *key)
    return receipt_of(*row), is_new
