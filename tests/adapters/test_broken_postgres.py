"""The suites notice a broken adapter on Postgres too: each of these statements, spoilt, fails the clause it is about.

Which row belongs to whom is not among them: there row level security answers where a statement does not
(test_postgres_isolation.py).
"""

import asyncio
from collections.abc import Collection, Mapping
from types import ModuleType
from typing import Any

import asyncpg
import pytest

from sidemirror_server.models.ledger import Amount, Cap, Level, Refusal, Reservation
from sidemirror_server.storage.postgres import critiques, ledger, receipts, requests, sessions, turn_log, work
from sidemirror_server.storage.postgres.critiques import PostgresCritiques
from sidemirror_server.storage.postgres.database import Database
from sidemirror_server.storage.postgres.ledger import PostgresLedger
from sidemirror_server.storage.postgres.receipts import PostgresReceipts
from sidemirror_server.storage.postgres.requests import PostgresRequests
from sidemirror_server.storage.postgres.sessions import PostgresSessions
from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
from sidemirror_server.storage.postgres.work import PostgresWork
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.work.queue import Job
from tests.conformance import critiques as critiques_suite
from tests.conformance import ledger as ledger_suite
from tests.conformance import receipts as receipts_suite
from tests.conformance import requests as requests_suite
from tests.conformance import sessions as sessions_suite
from tests.conformance import turn_log as turn_log_suite
from tests.conformance import work as work_suite
from tests.conformance.clauses import clauses_of
from tests.conformance.turn_log import Stores
from tests.postgres.databases import Databases

CLAUSES = {
    clause: test
    for suite in (
        *(turn_log_suite, sessions_suite, requests_suite, work_suite, ledger_suite, critiques_suite),
        receipts_suite,
    )
    for clause, test in clauses_of(suite).items()
}

# (clause that must notice, statement, a piece of it, what stands there instead), by adapter
BROKEN: dict[ModuleType, list[tuple[str, str, str, str]]] = {
    turn_log: [
        ("LG1", "tail", "position > $4", "position >= $4"),
        ("LG1", "tail", "topic = $3", "topic IS NOT NULL AND $3::text IS NOT NULL"),
        ("LG1", "put", "ORDER BY place", "ORDER BY place DESC"),
        ("LG2", "tail_of_group", "group_id = $7", "$7::text IS NOT NULL"),
        ("LG4", "last_position", "SELECT max(position)", "SELECT min(position)"),
        ("LG5", "tail", "bytes_before < $6", "bytes_before + octet_length(body) < $6"),
        ("TL5", "put", "ON CONFLICT (tenant_id, project_id, session_id) DO NOTHING",
         "ON CONFLICT (tenant_id, project_id, session_id) DO UPDATE SET body = excluded.body"),
        ("TL5", "put", "created_us, created_us, body", "0, 0, body"),
        ("TL6", "put", "standing = excluded.standing, ", ""),
        ("TL7", "read", "sequence > $5", "sequence >= $5"),
        ("TL7", "read", "bytes_before < $7", "bytes_before <= $7"),
        ("TL9", "heads", "ORDER BY started_us DESC, turn_id DESC", "ORDER BY started_us DESC, turn_id"),
        ("TL9", "heads", "(started_us, turn_id) < ($3, $4)", "started_us < $3 AND $4::text IS NOT NULL"),
        ("TL9", "heads_standing", "standing = $6", "$6::text IS NOT NULL"),
        ("TL9", "heads_of_session", "($6::text IS NULL OR standing = $6)", "($6::text IS NULL OR TRUE)"),
        ("TL10", "newest", "turn_count DESC, ", ""),
        ("TL11", "idle", "ORDER BY updated_us,", "ORDER BY turn_id,"),
        ("TL11", "idle", "updated_us < $1", "updated_us <= $1"),
        ("TL12", "kept", "session_id, last_sequence", "'s2', last_sequence"),
    ],
    sessions: [
        ("SE1", "create", "DO NOTHING", "DO UPDATE SET body = excluded.body"),
        ("SE3", "get", "turn_count DESC, ", ""),
        ("SE3", "list", "turns.session_id = sessions.session_id", "turns.session_id IS NOT NULL"),
        ("SE4", "update", ", updated_us = $5", ", updated_us = least(updated_us, $5)"),
        ("SE5", "list", "ORDER BY created_us DESC, session_id DESC", "ORDER BY created_us DESC, session_id"),
        ("SE5", "list", "(created_us, session_id) < ($3, $4)", "(created_us, session_id) <= ($3, $4)"),
        ("SE6", "delete_entries", "group_id = $3", "group_id <> $3"),
        ("SE6", "delete_turns", "session_id = $3", "session_id <> $3"),
        ("SE7", "any_open", "standing = 'open'", "FALSE"),
    ],
    requests: [
        ("RQ1", "recall", "expires_us > $5", "expires_us >= $5"),
        ("RQ2", "remember", "WHERE requests.expires_us <= $5", "WHERE $5::bigint IS NOT NULL"),
        ("RQ3", "remember", "requests.expires_us <= $5", "requests.expires_us < $5"),
        ("RQ4", "expired", "expires_us <= $1", "expires_us < $1"),
        ("RQ4", "expired", "LIMIT $2", "LIMIT greatest($2, 10)"),
        ("RQ5", "recall", "method = $3", "$3::text IS NOT NULL"),
    ],
    work: [
        ("WQ5", "due", "ORDER BY due_us, position", "ORDER BY position"),
        ("WQ5", "due", "kind = ANY ($2::text[])", "$2::text[] IS NOT NULL"),
        ("WQ6", "claim", "due_us = $5,", "due_us = due_us,"),
        ("WQ7", "claim", "token = token + 1", "token = greatest(token, 1)"),
        ("WQ8", "bury", "attempts >= max_attempts", "FALSE"),
        ("WQ9", "extend", "due_us = $6, ", ""),
        ("WQ10", "checkpoint", "checkpoint = $6", "checkpoint = coalesce(checkpoint, $6)"),
        ("WQ11", "finish", "result = $6", "result = CASE WHEN $6::bytea IS NULL THEN $6 END"),
        ("WQ12", "fail", "ELSE $7 END,\n    run_at_us", "ELSE $7 + 1 END,\n    run_at_us"),
        ("WQ13", "fail", "THEN 'dead'", "THEN 'retrying'"),
        ("WQ14", "release", "attempts = attempts - 1", "attempts = attempts"),
        ("WQ15", "finish", "token = $4", "token >= $4"),
        ("WQ15", "fail", "state = 'running'", "state IS NOT NULL"),
        ("WQ16", "finish", "state = 'running'", "lease_until_us > $5"),
        ("WQ18", "revive", "attempts = 0", "attempts = attempts"),
        ("WQ18", "revive", "state = 'dead'", "state IS NOT NULL"),
        ("WQ19", "list", "ORDER BY created_us DESC, job_id DESC", "ORDER BY created_us DESC, job_id"),
        ("WQ20", "count", "kind = $3", "kind <> $3"),
        ("WQ21", "done", "LIMIT $3", "LIMIT greatest($3, 10)"),
    ],
    critiques: [
        ("CR1", "keep", "DO NOTHING", "DO UPDATE SET turn_id = excluded.turn_id"),
        ("CR2", "get", "critique_id = $3", "lower(critique_id) = lower($3)"),
        ("CR3", "list", "ORDER BY created_us DESC, critique_id DESC", "ORDER BY created_us DESC, critique_id"),
        ("CR4", "list_of_turn", "($7::text IS NULL OR session_id = $7)", "($7::text IS NULL OR TRUE)"),
        ("CR4", "list_of_session", "session_id = $6", "$6::text IS NOT NULL"),
        ("CR5", "report", "score = $5, ", "score = coalesce($5, score), "),
        ("CR6", "figures", "(50 * confident + 99)", "(50 * confident)"),
        ("CR6", "figures", "created_us < $4", "created_us <= $4"),
        ("CR7", "figures", "provider = $6", "provider >= $6"),
    ],
    receipts: [
        ("RC1", "issue", "DO NOTHING", "DO UPDATE SET goal_id = excluded.goal_id"),
        ("RC2", "get", "receipt_id = $3", "lower(receipt_id) = lower($3)"),
        ("RC3", "shown", "text_hash = ANY ($3::bytea[])", "$3::bytea[] IS NOT NULL"),
        ("RC4", "list", "ORDER BY time_us DESC, receipt_id DESC", "ORDER BY time_us DESC, receipt_id"),
        ("RC4", "list_of_kind", "kind = $6", "kind >= $6"),
        ("RC5", "oldest", "ORDER BY time_us", "ORDER BY time_us DESC"),
        ("RC5", "oldest", "time_us < $1", "time_us <= $1"),
        ("RC5", "forget_items", "receipt_id = ANY ($3::text[])", "NOT receipt_id = ANY ($3::text[])"),
    ],
    ledger: [
        ("LE1", "used", "settled_tokens + reserved_tokens", "settled_tokens"),
        ("LE4", "used", "('', $4)", "('', coalesce('none', $4))"),
        ("LE5", "replace", "reserved_nano_usd - $6", "reserved_nano_usd"),
        ("LE6", "strike", "reservation_id = $3", "reservation_id <> $3"),
        ("LE7", "spent", "open.lease_until_us <= $4", "open.lease_until_us < $4"),
        ("LE8", "replace", "WHERE day = $3", "WHERE day >= $3"),
        ("LE9", "spent", "ORDER BY day DESC, purpose", "ORDER BY day, purpose"),
        ("LE9", "spent", "day >= $3", "day > $3"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("adapter", "clause", "name", "piece", "instead"),
    [(adapter, *broken) for adapter, every in BROKEN.items() for broken in every],
)
async def test_broken_statement_is_noticed(
    adapter: ModuleType,
    clause: str,
    name: str,
    piece: str,
    instead: str,
    databases: Databases,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert piece in adapter._SQL[name]
    monkeypatch.setattr(adapter, "_SQL", {**adapter._SQL, name: adapter._SQL[name].replace(piece, instead)})
    await noticed(clause, databases)


class LooksFirst(PostgresLedger):
    """Looks at the caps in one transaction and takes in another."""

    async def reserve(
        self, scope: Scope, purpose: str, most: Amount, caps: Mapping[Level, Cap], lease_s: float, now_us: int
    ) -> Reservation | Refusal:
        wanted = Reservation("", scope, purpose, now_us // ledger_suite.DAY_US, most)
        refusal = ledger._refusal(await self.used(scope, purpose, wanted.day), wanted, caps)
        return refusal or await super().reserve(scope, purpose, most, {}, lease_s, now_us)


class ClaimsWhatIsTaken(PostgresWork):
    """Reads what is due in one transaction and takes it in another."""

    async def claim(
        self, kinds: Collection[str], limit: int, lease_s: float, now_us: int, worker: str
    ) -> tuple[Job, ...]:
        jobs: list[Job] = []
        async with self._database.transaction(None) as transaction:
            found = await transaction.fetch(work._SQL["due"], now_us, list(kinds), limit)
        await asyncio.sleep(0)
        statement = work._SQL["claim"].replace("due_us <= $4", "$4::bigint IS NOT NULL")
        for tenant_id, project_id, job_id in found:
            scope = Scope(tenant_id, project_id)
            async with self._database.transaction(scope) as transaction:
                values = ([JobId(job_id)], now_us, work._after(now_us, lease_s), worker)
                jobs += work._jobs(await transaction.fetch(statement, tenant_id, project_id, *values))
        return tuple(jobs)


@pytest.mark.parametrize(
    ("clause", "broken"),
    [("LE2", LooksFirst), ("WQ6", ClaimsWhatIsTaken)],
)
async def test_broken_verb_is_noticed(clause: str, broken: type[Any], databases: Databases) -> None:
    await noticed(clause, databases, broken)


async def noticed(clause: str, databases: Databases, broken: type[Any] | None = None) -> None:
    async with databases.opened() as database:
        with pytest.raises((Exception, pytest.fail.Exception)) as caught:
            await CLAUSES[clause](lambda: adapter_for(clause, database, broken))
    assert not isinstance(caught.value, (TypeError, AttributeError, NameError, asyncpg.PostgresError)), "does not run"


def adapter_for(clause: str, database: Database, broken: type[Any] | None) -> Any:
    ports: dict[str, Any] = {
        "WQ": PostgresWork,
        "RQ": PostgresRequests,
        "LE": PostgresLedger,
        "CR": PostgresCritiques,
        "RC": PostgresReceipts,
    }
    port = broken or ports.get(clause[:2])
    return port(database) if port else Stores(PostgresTurnLog(database), PostgresSessions(database))
