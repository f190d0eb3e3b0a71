"""The log of turns and of other topics with numbered entries, in SQLite.

The single writer assigns positions inside its transaction, which is durable before the next one begins. So entries
become visible in the order of their positions, and no gap is filled later (clause LG3).
"""

import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from sidemirror_server.storage.sql import columns_of, load_statements
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.served import fetch_served
from sidemirror_server.storage.sqlite.sources import erased_of, note_sources
from sidemirror_server.storage.sqlite.work import put_sequel
from sidemirror_server.trace.acceptance import (
    Accepted,
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
from sidemirror_server.vocabulary.ids import SessionId, TurnId
from sidemirror_server.vocabulary.scope import Scope, Serves

_SQL = load_statements(Path(__file__).with_name("turn_log.sql"))
# A larger append runs on the writer's thread. Chosen here: an append of this size occupies the loop for 2 to 5 ms.
_LONG_ENTRIES = 1000
_LONG_BYTES = 512 * 1024
# An append up to this size shares its statements with others. Chosen here: those of one
# batch (`writer.py`) stay below the limits above.
_SMALL_ENTRIES = 15
_SMALL_BYTES = 8 * 1024

_encode = msgspec.json.Encoder().encode


class SqliteTurnLog:
    """The ports `TurnLog` and `Log` on the embedded store."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def append(self, scope: Scope, batches: tuple[Batch, ...]) -> None:
        entries, size_bytes = _size(batches)
        if entries <= _SMALL_ENTRIES and size_bytes <= _SMALL_BYTES:
            await self._database.write_alike(_append_many, (scope, batches))
        else:
            is_long = entries > _LONG_ENTRIES or size_bytes > _LONG_BYTES
            await self._database.write(partial(_append, scope=scope, batches=batches), long=is_long)

    async def read(
        self, scope: Scope, turn_id: TurnId, after_sequence: int, limit: int, max_bytes: int
    ) -> tuple[Entry, ...]:
        wanted = {**columns_of(scope), "topic": TURN_TOPIC, "key": turn_id, "after": after_sequence, "limit": limit}
        return self._database.read(lambda connection: _up_to(max_bytes, connection.execute(_SQL["read"], wanted)))

    async def tail(
        self, scope: Scope, topic: str, group: str | None, after: int, limit: int, max_bytes: int
    ) -> tuple[Entry, ...]:
        statement = _SQL["tail" if group is None else "tail_of_group"]
        wanted = {**columns_of(scope), "topic": topic, "group_id": group, "after": after, "limit": limit}
        return self._database.read(lambda connection: _up_to(max_bytes, connection.execute(statement, wanted)))

    async def last_position(self, scope: Scope) -> int:
        return self._number("last_position", columns_of(scope))

    async def head(self, scope: Scope, turn_id: TurnId) -> TurnHead | None:
        return self._one_head("head", {**columns_of(scope), "turn_id": turn_id})

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
        wanted = {
            **columns_of(scope),
            "session_id": session_id,
            "standing": standing,
            "outcomes": _encode(list(outcomes)).decode() if outcomes else None,
            "started_us": key.started_us,
            "turn_id": key.turn_id,
            "from_us": from_us,
            "limit": limit,
        }
        if outcomes and session_id is None:
            standings = tuple(TurnStanding) if standing is None else (standing,)
            each = [{**wanted, "standing": one, "outcome": outcome} for one in standings for outcome in outcomes]
            return await self._database.search(partial(_newest_of, limit=limit, each=each))
        if session_id is not None:
            statement = _SQL["heads_of_session"]
        else:
            statement = _SQL["heads" if standing is None else "heads_standing"]

        def found(connection: sqlite3.Connection) -> tuple[TurnHead, ...]:
            return tuple(head_of(*row) for row in connection.execute(statement, wanted).fetchall())

        # Not on the loop: all turns of a session may have another outcome.
        return await self._database.search(found) if outcomes else self._database.read(found)

    async def heads_of(self, scope: Scope, turn_ids: Collection[TurnId]) -> tuple[TurnHead, ...]:
        wanted = {**columns_of(scope), "turn_ids": _encode(list(turn_ids)).decode()}
        rows = await self._database.search(lambda connection: connection.execute(_SQL["heads_of"], wanted).fetchall())
        return tuple(head_of(*row) for row in rows)

    async def newest(self, scope: Scope, session_id: SessionId) -> TurnHead | None:
        return self._one_head("newest", {**columns_of(scope), "session_id": session_id})

    async def idle(self, serves: Serves, before_us: int, limit: int) -> tuple[tuple[Scope, TurnHead], ...]:
        rows = self._database.read(partial(fetch_served, serves, limit, _SQL["idle"], {"before_us": before_us}))
        return tuple((Scope(tenant_id, project_id), head_of(*head)) for tenant_id, project_id, *head in rows)

    def _number(self, statement: str, wanted: Mapping[str, Any]) -> int:
        number: int = self._database.read(lambda connection: connection.execute(_SQL[statement], wanted).fetchone())[0]
        return number

    def _one_head(self, statement: str, wanted: Mapping[str, Any]) -> TurnHead | None:
        row = self._database.read(lambda connection: connection.execute(_SQL[statement], wanted).fetchone())
        return None if row is None else head_of(*row)


def _newest_of(connection: sqlite3.Connection, limit: int, each: Iterable[Mapping[str, Any]]) -> tuple[TurnHead, ...]:
    """The first `limit` heads, in the order of `heads`, of those with each of these standings and outcomes."""
    rows = (row for wanted in each for row in connection.execute(_SQL["heads_with_outcome"], wanted).fetchall())
    found = sorted((head_of(*row) for row in rows), key=lambda head: (head.started_us, head.turn_id), reverse=True)
    return tuple(found[:limit])


class _Bodies:
    """Concatenates the bodies of many rows into one parameter."""

    def __init__(self) -> None:
        # Never empty: SQLite treats a slice of an empty BLOB as NULL, but a body may be empty.
        self._parts: list[bytes] = [b"\0"]
        self._end = 2  # SQLite counts bytes from 1

    def add(self, body: bytes) -> tuple[int, int]:
        """Appends a body; returns its offset and length."""
        begin, length = self._end, len(body)
        self._parts.append(body)
        self._end = begin + length
        return begin, length

    def joined(self) -> bytes:
        return b"".join(self._parts)


def _append_many(connection: sqlite3.Connection, appends: Sequence[tuple[Scope, tuple[Batch, ...]]]) -> list[None]:
    """Makes the appends of a batch; those of one scope become one append. All are checked before the first is written,
    so that one that is refused leaves nothing to undo."""
    by_scope: dict[Scope, list[Batch]] = {}
    for scope, batches in appends:
        by_scope.setdefault(scope, []).extend(batches)
    for checked in [_checked(connection, *one) for one in by_scope.items()]:
        _write(connection, checked)
    return [None] * len(appends)


def _append(connection: sqlite3.Connection, scope: Scope, batches: Sequence[Batch]) -> None:
    _write(connection, _checked(connection, scope, batches))


class _Checked(NamedTuple):
    """An append of one scope, with what the store has of its turns."""

    scope: Scope
    batches: Sequence[Batch]
    kept: "Mapping[TurnId, _Kept]"
    accepted: Accepted


def _checked(connection: sqlite3.Connection, scope: Scope, batches: Sequence[Batch]) -> _Checked:
    place = columns_of(scope)
    kept = _kept(connection, place, batches)
    ends = {turn_id: (known.session_id, known.last_sequence) for turn_id, known in kept.items()}
    rewritten = {turn_id: known.rewritten for turn_id, known in kept.items()}
    check_erased(batches, rewritten, erased_of(connection, scope, named_by(batches, kept)))
    return _Checked(scope, batches, kept, accept(batches, ends))


def _write(connection: sqlite3.Connection, checked: _Checked) -> None:
    scope, batches, kept, (heads, fresh, repeated, moves) = checked
    place = columns_of(scope)
    _make_sessions(connection, place, [batch for batch in batches if batch.session_body is not None])
    _put_heads(connection, place, heads, kept)
    _put_entries(connection, place, fresh)
    for batch in batches:
        note_sources(
            connection, scope, key(SourceKind.TURN, batch.head.turn_id), keys(SourceKind.SUBJECT, batch.subject_ids)
        )
    for move in moves:
        _move(connection, place, move)
    check_repeated(repeated, _kept_bodies(connection, place, repeated))
    for batch in batches:
        if batch.sequel is not None:
            put_sequel(connection, scope, batch.sequel, batch.head.updated_us)


def _move(connection: sqlite3.Connection, place: Mapping[str, Any], move: SessionMove) -> None:
    values = {**place, **move._asdict()}
    for statement in ("move_turn", "move_turn_entries", "move_turn_receipts", "move_turn_critiques"):
        connection.execute(_SQL[statement], values)
    for statement in ("name_session", "leave_session"):
        connection.execute(_SQL[statement], values)


def _kept_bodies(
    connection: sqlite3.Connection, place: Mapping[str, Any], repeated: Iterable[Placed]
) -> dict[tuple[str, int], bytes]:
    """The stored bodies of the entries that these drafts repeat, by turn and sequence. An entry may be from this
    append."""
    bodies: dict[tuple[str, int], bytes] = {}
    for head, draft in repeated:
        wanted = {**place, "topic": TURN_TOPIC, "key": head.turn_id, "sequence": draft.sequence}
        (bodies[head.turn_id, draft.sequence],) = connection.execute(_SQL["body"], wanted).fetchone()
    return bodies


class _Kept(NamedTuple):
    """The columns of a turn's head before an append."""

    session_id: SessionId
    last_sequence: int
    turn_count: int
    standing: str
    started_us: int
    rewritten: int
    outcome: str

    def moves_on(self, head: TurnHead) -> bool:
        """Whether `head` has the same values in the columns that lists are sorted by."""
        kept = (self.started_us, self.turn_count, self.standing, self.outcome)
        return kept == (head.started_us, head.turn_count, head.standing, head.outcome)


def _kept(connection: sqlite3.Connection, place: Mapping[str, Any], batches: Sequence[Batch]) -> Mapping[TurnId, _Kept]:
    turn_ids = _encode(known_turns(batches)).decode()
    rows = connection.execute(_SQL["kept"], {**place, "turn_ids": turn_ids}).fetchall()
    return {TurnId(turn_id): _Kept(*known) for turn_id, *known in rows}


def _make_sessions(connection: sqlite3.Connection, place: Mapping[str, Any], batches: Iterable[Batch]) -> None:
    bodies = _Bodies()
    rows = [(batch.head.session_id, batch.head.started_us, *bodies.add(batch.session_body or b"")) for batch in batches]
    _put(connection, "make_sessions", place, rows, bodies)


def _put_heads(
    connection: sqlite3.Connection, place: Mapping[str, Any], heads: Iterable[TurnHead], kept: Mapping[TurnId, _Kept]
) -> None:
    moved: list[TurnHead] = []
    others: list[TurnHead] = []
    for head in heads:
        known = kept.get(head.turn_id)
        (moved if known is not None and known.moves_on(head) else others).append(head)
    for statement, alike in (("move_heads", moved), ("put_heads", others)):
        bodies = _Bodies()
        rows = [
            (
                *(head.turn_id, head.session_id, head.turn_count, head.standing, head.last_sequence),
                *(head.started_us, head.updated_us, *bodies.add(head.body), head.outcome),
            )
            for head in alike
        ]
        _put(connection, statement, place, rows, bodies)


def _put_entries(connection: sqlite3.Connection, place: Mapping[str, Any], placed: Iterable[Placed]) -> None:
    bodies = _Bodies()
    rows = [
        (head.turn_id, head.session_id, draft.sequence, draft.at_us, *bodies.add(draft.body)) for head, draft in placed
    ]
    _put(connection, "put_entries", {**place, "topic": TURN_TOPIC}, rows, bodies)


def _put(
    connection: sqlite3.Connection, statement: str, place: Mapping[str, Any], rows: list[Any], bodies: _Bodies
) -> None:
    if rows:
        connection.execute(_SQL[statement], {**place, "rows": _encode(rows).decode(), "bodies": bodies.joined()})


def _size(batches: tuple[Batch, ...]) -> tuple[int, int]:
    """The number of entries of an append, and the bytes of their bodies."""
    entries = size_bytes = 0
    for batch in batches:
        entries += len(batch.drafts)
        for draft in batch.drafts:
            size_bytes += len(draft.body)
    return entries, size_bytes


def _up_to(max_bytes: int, rows: sqlite3.Cursor) -> tuple[Entry, ...]:
    """Reads entries until their bodies reach `max_bytes`; the last one may exceed it."""
    entries = []
    total = 0
    for row in rows:
        entry = Entry(*row)
        entries.append(entry)
        total += len(entry.body)
        if total >= max_bytes:
            break
    rows.close()
    return tuple(entries)
