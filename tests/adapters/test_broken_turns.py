"""The suites of turn logs, sessions and requests can fail: each clause is seen to catch an adapter that breaks it."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from sidemirror_server.storage.sql import columns_of
from sidemirror_server.storage.sqlite import requests, sessions, turn_log
from sidemirror_server.storage.sqlite.requests import SqliteRequests
from sidemirror_server.storage.sqlite.sessions import SqliteSessions
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from sidemirror_server.trace.acceptance import Accepted, accept
from sidemirror_server.trace.log import Batch, Entry, TurnHead
from sidemirror_server.trace.requests import Answered
from sidemirror_server.vocabulary.errors import NotFound, WrongState
from sidemirror_server.vocabulary.ids import RequestId, SessionId, TurnId
from sidemirror_server.vocabulary.scope import Scope, Serves
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import requests as requests_suite
from tests.conformance import sessions as sessions_suite
from tests.conformance import turn_log as turn_log_suite
from tests.conformance.clauses import clauses_of
from tests.conformance.turn_log import Stores

pytestmark = pytest.mark.slow("the conformance suite is held against stores that are broken")

TURN_CLAUSES = {**clauses_of(turn_log_suite), **clauses_of(sessions_suite)}
REQUEST_CLAUSES = clauses_of(requests_suite)

PROJECT, ANY_PROJECT = "project_id = :project_id", "project_id IS NOT NULL"
TENANT, ANY_TENANT = "tenant_id = :tenant_id", "tenant_id IS NOT NULL"

# (clause that must notice, statement, a piece of it, what stands there instead), by adapter
BROKEN_TURN_LOG = [
    ("TL14", "idle", "(:tenant_id IS NULL OR tenant_id = :tenant_id)", "TRUE"),
    ("TL14", "idle", "(:project_id IS NULL OR project_id = :project_id)", "TRUE"),
    ("LG1", "tail", "ORDER BY position", "ORDER BY position DESC"),
    ("LG1", "tail", "position > :after", "position >= :after"),
    ("LG1", "tail", "LIMIT :limit", ""),
    ("LG1", "tail", "topic = :topic", "topic IS NOT NULL"),
    ("LG2", "tail_of_group", "group_id = :group_id", "group_id IS NOT NULL"),
    ("LG2", "tail_of_group", "position > :after", "position >= :after"),
    ("LG4", "last_position", "SELECT max(position)", "SELECT min(position)"),
    ("LG4", "last_position", PROJECT, ANY_PROJECT),
    ("LG6", "tail", PROJECT, ANY_PROJECT),
    ("LG6", "tail_of_group", PROJECT, ANY_PROJECT),
    ("TL5", "make_sessions", "DO NOTHING", "DO UPDATE SET body = excluded.body"),
    ("TL5", "make_sessions", "json_extract(value, '$[1]'), json_extract(value, '$[1]')", "0, 0"),
    ("TL6", "put_heads", "standing = excluded.standing, ", ""),
    ("TL7", "read", "ORDER BY sequence", "ORDER BY sequence DESC"),
    ("TL7", "read", "sequence > :after", "sequence >= :after"),
    ("TL7", "read", "LIMIT :limit", ""),
    ("TL8", "head", PROJECT, ANY_PROJECT),
    ("TL9", "heads", "turn_id DESC", "turn_id"),
    ("TL9", "heads", "started_us DESC, ", ""),
    ("TL9", "heads", "< (:started_us", "<= (:started_us"),
    (
        "TL9",
        "heads",
        "(started_us, turn_id) < (:started_us, :turn_id)",
        "started_us < :started_us AND :turn_id = :turn_id",
    ),
    ("TL9", "heads_standing", "standing = :standing", "standing IS NOT NULL"),
    ("TL9", "heads_of_session", "(:standing IS NULL OR standing = :standing)", "TRUE"),
    ("TL9", "heads_of_session", "session_id = :session_id", "session_id IS NOT NULL"),
    ("TL9", "heads", "started_us >= :from_us", "TRUE"),
    ("TL9", "heads_standing", "started_us >= :from_us", "TRUE"),
    ("TL9", "heads_of_session", "started_us >= :from_us", "TRUE"),
    ("TL9", "heads_of_session", "outcome IN (SELECT value FROM json_each(:outcomes))", "TRUE"),
    ("TL9", "heads_with_outcome", "started_us >= :from_us", "TRUE"),
    ("TL9", "heads_with_outcome", "AND outcome = :outcome", "AND outcome >= :outcome"),
    ("TL9", "put_heads", ", outcome = excluded.outcome", ""),
    ("TL16", "heads_of", PROJECT, ANY_PROJECT),
    ("TL16", "heads_of", "turn_id IN", "upper(turn_id) IN"),
    ("TL10", "newest", "turn_count DESC, ", ""),
    ("TL10", "newest", "session_id = :session_id", "session_id IS NOT NULL"),
    ("TL11", "idle", "ORDER BY updated_us", "ORDER BY started_us"),
    ("TL11", "idle", "updated_us < :before_us", "updated_us <= :before_us"),
    ("TL11", "idle", "INDEXED BY turns_idle\nWHERE standing = 'open' AND", "WHERE"),
    ("TL11", "idle", "LIMIT :limit", ""),
    ("TL15", "move_turn", "session_id = :session_id\nWHERE", "session_id = session_id\nWHERE"),
    ("TL15", "move_turn_entries", "group_id = :session_id\nWHERE", "group_id = group_id\nWHERE"),
    ("TL15", "move_turn_entries", PROJECT, ANY_PROJECT),
    ("TL15", "leave_session", "AND NOT EXISTS", "AND NOT TRUE AND NOT EXISTS"),
    ("TL15", "leave_session", "turns.session_id = :session_was", "FALSE"),
    ("TL15", "leave_session", f"{PROJECT} AND session_id", f"{ANY_PROJECT} AND session_id"),
    ("TL13", "kept", "turns.project_id = :project_id", "TRUE"),
    ("TL13", "kept", "turns.tenant_id = :tenant_id", "TRUE"),
    ("TL13", "read", PROJECT, ANY_PROJECT),
    ("TL13", "heads", PROJECT, ANY_PROJECT),
    ("TL13", "heads", TENANT, ANY_TENANT),
    ("TL13", "heads_standing", PROJECT, ANY_PROJECT),
    ("TL13", "heads_of_session", PROJECT, ANY_PROJECT),
    ("TL13", "newest", PROJECT, ANY_PROJECT),
]
BROKEN_SESSIONS = [
    ("SE1", "create", "DO NOTHING", "DO UPDATE SET body = excluded.body"),
    ("SE2", "get", f"{PROJECT} AND", f"{ANY_PROJECT} AND"),
    ("SE3", "get", "turn_count DESC, ", ""),
    ("SE3", "list", "turn_count DESC, ", ""),
    ("SE3", "get", "count(*)", "max(turn_count)"),
    ("SE3", "list", "turns.session_id = sessions.session_id", "turns.session_id IS NOT NULL"),
    ("SE4", "update", "body = :body, ", ""),
    ("SE4", "update", ", updated_us = :updated_us", ""),
    ("SE4", "update", "session_id = :session_id", "session_id IS NOT NULL"),
    ("SE5", "list", "ORDER BY created_us DESC, session_id DESC", "ORDER BY created_us DESC, session_id"),
    ("SE5", "list", "ORDER BY created_us DESC, ", "ORDER BY updated_us DESC, "),
    ("SE5", "list", "< (:created_us", "<= (:created_us"),
    ("SE6", "delete_entries", "group_id = :session_id", "group_id = ''"),
    ("SE6", "delete_entries", PROJECT, ANY_PROJECT),
    ("SE6", "delete_turns", "session_id = :session_id", "session_id = ''"),
    ("SE6", "delete_turns", "session_id = :session_id", "session_id IS NOT NULL"),
    ("SE7", "any_open", "standing = 'open'", "FALSE"),
    ("SE8", "list", PROJECT, ANY_PROJECT),
    ("SE8", "list", TENANT, ANY_TENANT),
    ("SE8", "update", PROJECT, ANY_PROJECT),
    ("SE8", "delete", TENANT, ANY_TENANT),
]
BROKEN_REQUESTS = [
    ("RQ6", "forget", "(:tenant_id IS NULL OR tenant_id = :tenant_id)", "TRUE"),
    ("RQ6", "forget", "(:project_id IS NULL OR project_id = :project_id)", "TRUE"),
    ("RQ1", "recall", "expires_us > :now_us", "expires_us >= :now_us"),
    ("RQ1", "recall", "request_id = :request_id", "request_id IS NOT NULL"),
    ("RQ2", "remember", "requests.expires_us <= :now_us", "TRUE"),
    ("RQ3", "remember", "requests.expires_us <= :now_us", "requests.expires_us < :now_us"),
    ("RQ3", "remember", "expires_us = excluded.expires_us, ", ""),
    ("RQ4", "forget", "expires_us <= :now_us", "expires_us < :now_us"),
    ("RQ4", "forget", " LIMIT :limit", ""),
    ("RQ5", "recall", "method = :method", "method IS NOT NULL"),
    ("RQ5", "kept", PROJECT, ANY_PROJECT),
    ("RQ5", "kept", TENANT, ANY_TENANT),
]
BROKEN_STATEMENTS = [
    *((turn_log, *broken) for broken in BROKEN_TURN_LOG),
    *((sessions, *broken) for broken in BROKEN_SESSIONS),
    *((requests, *broken) for broken in BROKEN_REQUESTS),
]


@pytest.mark.parametrize(("adapter", "clause", "name", "piece", "instead"), BROKEN_STATEMENTS)
async def test_broken_statement_is_noticed(
    adapter: ModuleType,
    clause: str,
    name: str,
    piece: str,
    instead: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert piece in adapter._SQL[name]
    monkeypatch.setattr(adapter, "_SQL", {**adapter._SQL, name: adapter._SQL[name].replace(piece, instead)})
    await noticed(clause, tmp_path)


def statement(sql: str, values: tuple[object, ...]) -> Callable[[sqlite3.Connection], None]:
    def change(connection: sqlite3.Connection) -> None:
        connection.execute(sql, values)

    return change


class HidesTheFirstOfAPage(SqliteTurnLog):
    """Shows an entry later than one behind it, as a store with several writers would."""

    hidden = 0

    async def tail(
        self, scope: Scope, topic: str, group: str | None, after: int, limit: int, max_bytes: int
    ) -> tuple[Entry, ...]:
        found = await super().tail(scope, topic, group, after, limit, max_bytes)
        if not self.hidden and len(found) > 1:
            self.hidden = found[0].position
            return found[1:]
        return found


class PagesOfAnySize(SqliteTurnLog):
    """Reads on whatever the bodies add up to."""

    async def tail(
        self, scope: Scope, topic: str, group: str | None, after: int, limit: int, max_bytes: int
    ) -> tuple[Entry, ...]:
        return await super().tail(scope, topic, group, after, limit, 2**62)


class EachBatchByItself(SqliteTurnLog):
    async def append(self, scope: Scope, batches: tuple[Batch, ...]) -> None:
        for batch in batches:
            await super().append(scope, (batch,))


class ChecksNothing(SqliteTurnLog):
    async def append(self, scope: Scope, batches: tuple[Batch, ...]) -> None:
        def change(connection: sqlite3.Connection) -> None:
            place = columns_of(scope)
            turn_log._put_heads(connection, place, [one.head for one in batches], {})
            turn_log._put_entries(connection, place, [(one.head, draft) for one in batches for draft in one.drafts])

        await self._database.write(change)


class RefusesWhatItHas(SqliteTurnLog):
    async def append(self, scope: Scope, batches: tuple[Batch, ...]) -> None:
        for batch in batches:
            kept = await self.head(scope, batch.head.turn_id)
            if kept is not None and batch.drafts and batch.drafts[0].sequence <= kept.last_sequence:
                raise WrongState("turn", kept.turn_id, "taken")
        await super().append(scope, batches)


class PutsAgainWhatItHas(SqliteTurnLog):
    """Replaces entries, at new positions."""

    async def append(self, scope: Scope, batches: tuple[Batch, ...]) -> None:
        for batch in batches:
            for draft in batch.drafts:
                gone = (batch.head.turn_id, draft.sequence)
                await self._database.write(statement("DELETE FROM log_entries WHERE key = ? AND sequence = ?", gone))
        await self._database.write(
            lambda connection: turn_log._put_entries(
                connection, columns_of(scope), [(one.head, draft) for one in batches for draft in one.drafts]
            )
        )
        await super().append(scope, batches)


class DropsWhatItHas(SqliteTurnLog):
    """Takes every entry in a taken place for the one that is there."""

    async def append(self, scope: Scope, batches: tuple[Batch, ...]) -> None:
        kept = {one.head.turn_id: await self.head(scope, one.head.turn_id) for one in batches}
        fresh = []
        for one in batches:
            head = kept[one.head.turn_id]
            last = 0 if head is None else head.last_sequence
            drafts = tuple(draft for draft in one.drafts if draft.sequence > last)
            fresh.append(msgspec.structs.replace(one, drafts=drafts))
        await super().append(scope, tuple(fresh))


class ReadsEverything(SqliteTurnLog):
    async def read(
        self, scope: Scope, turn_id: TurnId, after_sequence: int, limit: int, max_bytes: int
    ) -> tuple[Entry, ...]:
        return await super().read(scope, turn_id, after_sequence, limit, 2**60)


class ReadsNothingThatIsTooLong(SqliteTurnLog):
    async def read(
        self, scope: Scope, turn_id: TurnId, after_sequence: int, limit: int, max_bytes: int
    ) -> tuple[Entry, ...]:
        found = await super().read(scope, turn_id, after_sequence, limit, max_bytes)
        return found if sum(len(entry.body) for entry in found) <= max_bytes else found[:-1]


class MovesTurns(SqliteTurnLog):
    """Lets a turn go over to another session."""

    async def append(self, scope: Scope, batches: tuple[Batch, ...]) -> None:
        for batch in batches:
            moved = (batch.head.session_id, scope.tenant_id, scope.project_id, batch.head.turn_id)
            await self._database.write(
                statement("UPDATE turns SET session_id = ? WHERE (tenant_id, project_id, turn_id) = (?, ?, ?)", moved)
            )
        await super().append(scope, batches)


class SeesOneScope(SqliteTurnLog):
    async def idle(self, serves: Serves, before_us: int, limit: int) -> tuple[tuple[Scope, TurnHead], ...]:
        found = await super().idle(serves, before_us, limit)
        return tuple((scope, head) for scope, head in found if scope == turn_log_suite.ONE)


@pytest.mark.parametrize(
    ("clause", "broken"),
    [
        ("LG3", HidesTheFirstOfAPage),
        ("LG5", PagesOfAnySize),
        ("TL1", EachBatchByItself),
        ("TL2", ChecksNothing),
        ("TL3", RefusesWhatItHas),
        ("TL3", PutsAgainWhatItHas),
        ("TL4", DropsWhatItHas),
        ("TL4", PutsAgainWhatItHas),
        ("TL7", ReadsEverything),
        ("TL7", ReadsNothingThatIsTooLong),
        ("TL11", SeesOneScope),
        ("TL12", MovesTurns),
    ],
)
async def test_broken_turn_log_is_noticed(clause: str, broken: type[SqliteTurnLog], tmp_path: Path) -> None:
    await noticed(clause, tmp_path, log=broken)


def every_head(batches: Iterable[Batch], kept: Mapping[TurnId, tuple[SessionId, int]]) -> Accepted:
    heads = {batch.head.turn_id: batch.head for batch in batches}
    return accept(batches, kept)._replace(heads=tuple(heads.values()))


def heads_that_are_ahead(batches: Iterable[Batch], kept: Mapping[TurnId, tuple[SessionId, int]]) -> Accepted:
    accepted = accept(batches, kept)
    last = {turn_id: last_sequence for turn_id, (_, last_sequence) in kept.items()}
    ahead = (head for head in accepted.heads if head.last_sequence > last.get(head.turn_id, -1))
    return accepted._replace(heads=tuple(ahead))


@pytest.mark.parametrize("broken", [every_head, heads_that_are_ahead])
async def test_a_broken_rule_of_heads_is_noticed(
    broken: Callable[..., Accepted], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_log, "accept", broken)
    await noticed("TL6", tmp_path)


class SilentForUnknownSessions(SqliteSessions):
    async def update(self, scope: Scope, session_id: SessionId, body: bytes, now_us: int) -> None:
        if await self.get(scope, session_id) is not None:
            await super().update(scope, session_id, body, now_us)

    async def delete(self, scope: Scope, session_id: SessionId) -> None:
        if await self.get(scope, session_id) is not None:
            await super().delete(scope, session_id)


class DeletesBeforeItLooks(SqliteSessions):
    """Refuses to delete a session with an open turn when its entries are gone already."""

    async def delete(self, scope: Scope, session_id: SessionId) -> None:
        if await self.get(scope, session_id) is None:
            raise NotFound("session", session_id)
        await self._database.write(statement("DELETE FROM log_entries WHERE group_id = ?", (session_id,)))
        await super().delete(scope, session_id)


@pytest.mark.parametrize(
    ("clause", "broken"),
    [
        ("SE4", SilentForUnknownSessions),
        ("SE6", SilentForUnknownSessions),
        ("SE7", DeletesBeforeItLooks),
        ("SE8", SilentForUnknownSessions),
    ],
)
async def test_broken_sessions_are_noticed(clause: str, broken: type[SqliteSessions], tmp_path: Path) -> None:
    await noticed(clause, tmp_path, sessions=broken)


class AnswersWithItsOwn(SqliteRequests):
    """Keeps the first answer, but tells each caller that it was theirs."""

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
        await super().remember(scope, method, request_id, answered, now_us, expires_us)
        return answered


async def test_broken_requests_are_noticed(tmp_path: Path) -> None:
    await noticed("RQ2", tmp_path, requests=AnswersWithItsOwn)


def test_every_clause_is_seen_to_fail() -> None:
    by_verb = {"LG3", "LG5", "TL1", "TL2", "TL3", "TL4", "TL12"}
    assert {clause for _, clause, *_ in BROKEN_STATEMENTS} | by_verb == TURN_CLAUSES.keys() | REQUEST_CLAUSES.keys()


async def noticed(
    clause: str,
    folder: Path,
    *,
    log: type[SqliteTurnLog] = SqliteTurnLog,
    sessions: type[SqliteSessions] = SqliteSessions,
    requests: type[SqliteRequests] = SqliteRequests,
) -> None:
    async with sqlite_database(folder) as database:
        if clause in REQUEST_CLAUSES:
            tried = REQUEST_CLAUSES[clause](lambda: requests(database))
        else:
            tried = TURN_CLAUSES[clause](lambda: Stores(log(database), sessions(database)))
        with pytest.raises((Exception, pytest.fail.Exception)) as caught:
            await tried
    mistakes = (TypeError, AttributeError, NameError, sqlite3.Error)
    # An integrity error is how a place that is taken twice shows itself.
    assert not isinstance(caught.value, mistakes) or isinstance(caught.value, sqlite3.IntegrityError), (
        "does not even run"
    )
