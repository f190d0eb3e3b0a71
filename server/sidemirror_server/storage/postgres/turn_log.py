"""The log of turns and of other numbered entries in Postgres.

Appends of a scope run side by side; two that add the same entry of a turn meet in its key. Their positions become
visible in any order. So a reader stops below the first append of its scope that still runs (clause LG3), which
migrations/*_wide_log.sql tells it, and waits a moment where there is nothing else to show. Why not by transaction ids,
and what it costs: docs/decisions/072-wide-appends.md.
"""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import asyncpg

from sidemirror_server.storage.postgres.database import TRANSACTION_S, PostgresDatabase
from sidemirror_server.storage.postgres.sources import erased, note_sources
from sidemirror_server.storage.postgres.transactions import LogUse, Transaction
from sidemirror_server.storage.postgres.work import put_sequel
from sidemirror_server.storage.sql import ids_of, load_statements
from sidemirror_server.trace.acceptance import (
    Placed,
    SessionMove,
    accept,
    check_erased,
    check_repeated,
    known_turns,
    named_by,
)
from sidemirror_server.trace.log import FIRST_HEAD, TURN_TOPIC, Batch, Entry, HeadKey, TurnHead, TurnStanding, head_of
from sidemirror_server.trace.sources import SourceKind, key, keys
from sidemirror_server.vocabulary.errors import StoreUnavailable
from sidemirror_server.vocabulary.ids import SessionId, TurnId
from sidemirror_server.vocabulary.scope import Scope, Serves

_SQL = load_statements(Path(__file__).with_name("turn_log.sql"))
# The rate that extends the time limit of a large append: that of a slow network.
_BYTES_PER_S = 4 * 1024 * 1024
# How long a reader waits for appends that run, before it looks again: 0.3 s in all. Chosen here: an append takes some
# milliseconds, and one that takes longer must not keep a connection's readers (`trace/shared_reads.py`) from others.
_PAUSES_S = (0.005, 0.01, 0.02, 0.04, 0.08, 0.16)
# How often an append meets other servers that add the same entries, before it is given up for now. Chosen here: each
# time one of them has got through.
_TRIES = 5


class PostgresTurnLog:
    """The ports `TurnLog` and `Log` on the shared store."""

    def __init__(self, database: PostgresDatabase, tell: Callable[[], None] = lambda: None) -> None:
        """`tell` is called after each commit that added entries."""
        self._database = database
        self._tell = tell

    async def append(self, scope: Scope, batches: tuple[Batch, ...]) -> None:
        if not batches:
            return
        for _ in range(_TRIES):
            # Meanwhile another append may have added the same entry: then it is there, to be compared.
            with contextlib.suppress(asyncpg.UniqueViolationError):
                await self._append(scope, batches)
                self._tell()
                return
        raise StoreUnavailable(reason="other servers write entries of the same turns")

    async def _append(self, scope: Scope, batches: tuple[Batch, ...]) -> None:
        size = sum(len(draft.body) for batch in batches for draft in batch.drafts)
        within_s = TRANSACTION_S + size / _BYTES_PER_S
        # A session that a turn leaves is removed when it is empty: meanwhile no other turn may come to it.
        log: LogUse = "changes" if any(batch.session_was for batch in batches) else "appends"
        async with self._database.transaction(scope, log=log, within_s=within_s) as transaction:
            rows = await transaction.fetch(_SQL["kept"], *ids_of(scope), known_turns(batches), often=True)
            kept = {turn_id: (session_id, last_sequence) for turn_id, session_id, last_sequence, _ in rows}
            rewritten = {turn_id: count for turn_id, *_, count in rows}
            check_erased(batches, rewritten, await erased(transaction, scope, named_by(batches, kept)))
            heads, fresh, repeated, moves = accept(batches, kept)
            check_repeated(repeated, await _kept_bodies(transaction, scope, fresh, repeated))
            missing = [batch for batch in batches if batch.session_body is not None]
            await transaction.change(
                _SQL["put"],
                *(*ids_of(scope), *_sessions(missing), *_heads(heads), TURN_TOPIC, *_entries(fresh)),
                often=True,
            )
            for batch in batches:
                subjects = keys(SourceKind.SUBJECT, batch.subject_ids)
                await note_sources(transaction, scope, key(SourceKind.TURN, batch.head.turn_id), subjects)
                if batch.sequel is not None:
                    await put_sequel(transaction, scope, batch.sequel, batch.head.updated_us)
            for move in moves:
                await _move(transaction, scope, move)

    async def read(
        self, scope: Scope, turn_id: TurnId, after_sequence: int, limit: int, max_bytes: int
    ) -> tuple[Entry, ...]:
        wanted = (TURN_TOPIC, turn_id, after_sequence, limit, max_bytes)
        return tuple(Entry(*row) for row in await self._database.fetch(scope, _SQL["read"], *wanted))

    async def tail(
        self, scope: Scope, topic: str, group: str | None, after: int, limit: int, max_bytes: int
    ) -> tuple[Entry, ...]:
        wanted = (topic, after, limit, max_bytes)
        if group is None:
            rows = await self._settled(scope, _SQL["tail"], *wanted)
        else:
            rows = await self._settled(scope, _SQL["tail_of_group"], *wanted, group)
        return tuple(Entry(*row) for row in rows)

    async def last_position(self, scope: Scope) -> int:
        rows = await self._settled(scope, _SQL["last_position"], to_the_end=True)
        return int(rows[0][0])

    async def _settled(
        self, scope: Scope, statement: str, *values: Any, to_the_end: bool = False
    ) -> list[asyncpg.Record]:
        """The rows of a statement that reads the settled part of the log. If there are none, or `to_the_end`, waits a
        moment for the appends that run when it is called: so whoever has appended reads what it appended."""
        rows: list[asyncpg.Record] = []
        wanted = None
        for pause_s in (*_PAUSES_S, None):
            async with self._database.transaction(scope, reads_only=True, log="reads") as transaction:
                rows = await transaction.fetch(statement, *ids_of(scope), *values)
                if rows and not to_the_end:
                    break
                last, up_to = await transaction.settled()
            wanted = last if wanted is None else wanted
            if up_to >= wanted or pause_s is None:
                break
            await asyncio.sleep(pause_s)
        return rows

    async def head(self, scope: Scope, turn_id: TurnId) -> TurnHead | None:
        return _only(await self._database.fetch(scope, _SQL["head"], turn_id))

    async def heads(
        self,
        scope: Scope,
        session_id: SessionId | None,
        standing: TurnStanding | None,
        after: HeadKey | None,
        limit: int,
        *,
        outcomes: Collection[str] = (),
        from_us: int = 0,
    ) -> tuple[TurnHead, ...]:
        key = after or FIRST_HEAD
        wanted = (key.started_us, key.turn_id, limit, from_us)
        if session_id is not None:
            others = (standing, session_id, list(outcomes) or None)
            rows = await self._database.fetch(scope, _SQL["heads_of_session"], *wanted, *others)
        elif outcomes:
            pairs = product(TurnStanding if standing is None else (standing,), outcomes)
            columns = (list(column) for column in zip(*pairs, strict=True))
            rows = await self._database.fetch(scope, _SQL["heads_with_outcome"], *wanted, *columns)
        elif standing is not None:
            rows = await self._database.fetch(scope, _SQL["heads_standing"], *wanted, standing)
        else:
            rows = await self._database.fetch(scope, _SQL["heads"], *wanted)
        return tuple(head_of(*row) for row in rows)

    async def heads_of(self, scope: Scope, turn_ids: Collection[TurnId]) -> tuple[TurnHead, ...]:
        rows = await self._database.fetch(scope, _SQL["heads_of"], list(turn_ids))
        return tuple(head_of(*row) for row in rows)

    async def newest(self, scope: Scope, session_id: SessionId) -> TurnHead | None:
        return _only(await self._database.fetch(scope, _SQL["newest"], session_id))

    async def idle(self, serves: Serves, before_us: int, limit: int) -> tuple[tuple[Scope, TurnHead], ...]:
        found: dict[tuple[Scope, str], TurnHead] = {}
        async with self._database.transaction(None, reads_only=True) as transaction:
            rows = await transaction.fetch_served(serves, limit, _SQL["idle"], before_us)
            async for scope, (turn_ids,) in transaction.by_scope(rows):
                for row in await transaction.fetch(_SQL["open_heads"], *ids_of(scope), turn_ids, before_us):
                    found[scope, row[0]] = head_of(*row)
        places = ((Scope(tenant_id, project_id), turn_id) for tenant_id, project_id, turn_id in rows)
        silent = [(place[0], found[place]) for place in places if place in found]
        return tuple(sorted(silent, key=lambda one: one[1].updated_us))  # envelopes are behind


async def _move(transaction: Transaction, scope: Scope, move: SessionMove) -> None:
    turn_id, session_was, session_id = move
    ends = (*ids_of(scope), session_was, session_id)
    for statement in ("move_turn", "move_turn_entries", "move_turn_receipts", "move_turn_critiques"):
        await transaction.change(_SQL[statement], *ends, turn_id)
    await transaction.change(_SQL["name_session"], *ends)
    await transaction.change(_SQL["leave_session"], *ids_of(scope), session_was)


async def _kept_bodies(
    transaction: Transaction, scope: Scope, fresh: Iterable[Placed], repeated: Sequence[Placed]
) -> dict[tuple[str, int], bytes]:
    """By (key, sequence), the bodies that these drafts repeat: stored ones, and those that this append adds."""
    if not repeated:
        return {}
    places = [[head.turn_id for head, _ in repeated], [draft.sequence for _, draft in repeated]]
    rows = await transaction.fetch(_SQL["bodies"], *ids_of(scope), TURN_TOPIC, *places)
    bodies = {(key, sequence): body for key, sequence, body in rows}
    bodies.update({(head.turn_id, draft.sequence): draft.body for head, draft in fresh})
    return bodies


def _sessions(batches: list[Batch]) -> tuple[list[Any], ...]:
    return (
        [batch.head.session_id for batch in batches],
        [batch.head.started_us for batch in batches],
        [batch.session_body for batch in batches],
    )


def _heads(heads: Sequence[TurnHead]) -> tuple[list[Any], ...]:
    return (
        [head.turn_id for head in heads],
        [head.session_id for head in heads],
        [head.turn_count for head in heads],
        [head.standing.value for head in heads],
        [head.last_sequence for head in heads],
        [head.started_us for head in heads],
        [head.updated_us for head in heads],
        [head.body for head in heads],
        [head.outcome for head in heads],
    )


def _entries(placed: Sequence[Placed]) -> tuple[list[Any], ...]:
    return (
        [head.turn_id for head, _ in placed],
        [head.session_id for head, _ in placed],
        [draft.sequence for _, draft in placed],
        [draft.at_us for _, draft in placed],
        [draft.body for _, draft in placed],
    )


def _only(rows: list[asyncpg.Record]) -> TurnHead | None:
    return head_of(*rows[0]) if rows else None
