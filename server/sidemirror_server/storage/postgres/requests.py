"""Answers by request_id in Postgres."""

from pathlib import Path

from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.sources import is_any_erased, note_sources
from sidemirror_server.storage.sql import ids_of, load_statements
from sidemirror_server.trace.requests import Answered
from sidemirror_server.trace.sources import request_key
from sidemirror_server.vocabulary.ids import RequestId
from sidemirror_server.vocabulary.scope import Scope, Serves

_SQL = load_statements(Path(__file__).with_name("requests.sql"))


class PostgresRequests:
    """The port `Requests` on the shared store."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def recall(self, scope: Scope, method: str, request_id: RequestId, now_us: int) -> Answered | None:
        row = await self._database.first(scope, _SQL["recall"], method, request_id, now_us)
        return None if row is None else Answered(*row)

    async def remember(
        self,
        scope: Scope,
        method: str,
        request_id: RequestId,
        answered: Answered,
        now_us: int,
        expires_us: int,
        sources: tuple[str, ...] = (),
    ) -> Answered:
        key = (*ids_of(scope), method, request_id)
        async with self._database.transaction(scope, derives=True) as transaction:
            if await is_any_erased(transaction, scope, sources, now_us):
                return answered
            values = (now_us, expires_us, answered.digest, answered.answer)
            if await transaction.change(_SQL["remember"], *key, *values) == 1:
                await note_sources(transaction, scope, request_key(method, request_id), sources)
                return answered
            # The first writer has committed, because the insert waited for it.
            row = await transaction.first(_SQL["kept"], *key)
        return answered if row is None else Answered(*row)

    async def forget(self, serves: Serves, now_us: int, limit: int) -> int:
        forgotten = 0
        async with self._database.transaction(None) as transaction:
            rows = await transaction.fetch_served(serves, limit, _SQL["expired"], now_us)
            async for scope, (methods, request_ids) in transaction.by_scope(rows):
                forgotten += await transaction.change(_SQL["forget"], *ids_of(scope), now_us, methods, request_ids)
        return forgotten
