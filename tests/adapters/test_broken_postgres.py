"""The suites notice a broken adapter on Postgres too: each of these statements, spoilt, fails the clause it is about.

Which row belongs to whom is not among the statements: there row level security answers where a statement does not
(test_postgres_isolation.py). It is among the adapters that take one scope for another.
"""

from pathlib import Path
from types import ModuleType
from typing import Any

import asyncpg
import pytest

from sidemirror_server.storage.postgres import (
    critiques,
    journal,
    ledger,
    memories,
    policies,
    receipts,
    requests,
    sessions,
    trials,
    turn_log,
    work,
)
from sidemirror_server.storage.postgres.critiques import PostgresCritiques
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.journal import PostgresJournal
from sidemirror_server.storage.postgres.ledger import PostgresLedger
from sidemirror_server.storage.postgres.memories import PostgresMemories
from sidemirror_server.storage.postgres.policies import PostgresPolicies
from sidemirror_server.storage.postgres.receipts import PostgresReceipts
from sidemirror_server.storage.postgres.requests import PostgresRequests
from sidemirror_server.storage.postgres.sessions import PostgresSessions
from sidemirror_server.storage.postgres.trials import PostgresTrials
from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
from sidemirror_server.storage.postgres.work import PostgresWork
from tests.adapters.broken_postgres import BROKEN_VERBS
from tests.conformance import critiques as critiques_suite
from tests.conformance import journal as journal_suite
from tests.conformance import ledger as ledger_suite
from tests.conformance import memories as memories_suite
from tests.conformance import policies as policies_suite
from tests.conformance import receipts as receipts_suite
from tests.conformance import requests as requests_suite
from tests.conformance import sessions as sessions_suite
from tests.conformance import trials as trials_suite
from tests.conformance import turn_log as turn_log_suite
from tests.conformance import work as work_suite
from tests.conformance.clauses import clauses_of
from tests.conformance.turn_log import Stores
from tests.postgres.databases import Databases

pytestmark = pytest.mark.slow("the conformance suite is held against stores that are broken, on a server")

CLAUSES = {
    clause: test
    for suite in (
        *(turn_log_suite, sessions_suite, requests_suite, work_suite, ledger_suite, critiques_suite),
        *(receipts_suite, memories_suite, trials_suite),
        *(journal_suite, policies_suite),
    )
    for clause, test in clauses_of(suite).items()
}

# (clause that must notice, statement, a piece of it, what stands there instead), by adapter
BROKEN: dict[ModuleType, list[tuple[str, str, str, str]]] = {
    turn_log: [
        ("TL16", "heads_of", "turn_id = ANY ($3::text[])", "upper(turn_id) = ANY ($3::text[])"),
        ("TL9", "heads", "started_us >= $6", "$6::bigint IS NOT NULL"),
        ("TL9", "heads_standing", "started_us >= $6", "$6::bigint IS NOT NULL"),
        ("TL9", "heads_of_session", "started_us >= $6", "$6::bigint IS NOT NULL"),
        ("TL9", "heads_of_session", "outcome = ANY ($9)", "TRUE"),
        ("TL9", "heads_with_outcome", "started_us >= $6", "$6::bigint IS NOT NULL"),
        ("TL9", "heads_with_outcome", "turns.outcome = wanted.outcome", "TRUE"),
        ("TL14", "idle", "tenant_id = $3)", "TRUE)"),
        ("TL14", "idle", "project_id = $4)", "TRUE)"),
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
        ("TL9", "heads_standing", "standing = $7", "$7::text IS NOT NULL"),
        ("TL9", "heads_of_session", "($7::text IS NULL OR standing = $7)", "($7::text IS NULL OR TRUE)"),
        ("TL10", "newest", "turn_count DESC, ", ""),
        ("TL11", "idle", "ORDER BY updated_us,", "ORDER BY turn_id,"),
        ("TL11", "open_heads", "updated_us < $4", "updated_us <= $4"),
        ("TL2", "kept", "session_id, last_sequence", "session_id, last_sequence + 1"),
        ("TL12", "kept", "session_id, last_sequence", "'s2', last_sequence"),
        ("TL15", "move_turn", "SET session_id = $4", "SET session_id = coalesce(session_id, $4)"),
        ("TL15", "move_turn_entries", "SET group_id = $4", "SET group_id = coalesce(group_id, $4)"),
        ("TL15", "leave_session", "AND NOT EXISTS", "AND NOT TRUE AND NOT EXISTS"),
        ("TL15", "leave_session", "turns.session_id = $3", "FALSE"),
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
        ("RQ6", "expired", "tenant_id = $3)", "TRUE)"),
        ("RQ6", "expired", "project_id = $4)", "TRUE)"),
        ("RQ1", "recall", "expires_us > $5", "expires_us >= $5"),
        ("RQ2", "remember", "WHERE requests.expires_us <= $5", "WHERE $5::bigint IS NOT NULL"),
        ("RQ3", "remember", "requests.expires_us <= $5", "requests.expires_us < $5"),
        ("RQ4", "expired", "expires_us <= $1", "expires_us < $1"),
        ("RQ4", "expired", "LIMIT $2", "LIMIT greatest($2, 10)"),
        ("RQ5", "recall", "method = $3", "$3::text IS NOT NULL"),
    ],
    work: [
        ("WQ27", "due", "tenant_id = $4)", "TRUE)"),
        ("WQ27", "due", "project_id = $5)", "TRUE)"),
        ("WQ27", "used_up", "tenant_id = $3)", "TRUE)"),
        ("WQ27", "used_up", "project_id = $4)", "TRUE)"),
        ("WQ28", "done", "tenant_id = $4)", "TRUE)"),
        ("WQ28", "done", "project_id = $5)", "TRUE)"),
        ("WQ28", "dead", "tenant_id = $4)", "TRUE)"),
        ("WQ28", "dead", "project_id = $5)", "TRUE)"),
        ("WQ28", "scopes", "tenant_id = $2)", "TRUE)"),
        ("WQ28", "scopes", "project_id = $3)", "TRUE)"),
        ("WQ1", "put", "$7, 0, $6, $7, 0", "$8, 0, $6, $7, 0"),
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
        ("WQ25", "waiting", " AND due_us IS NOT NULL", ""),
        ("WQ26", "dead", "LIMIT $3", "LIMIT greatest($3, 10)"),
        ("WQ26", "purge_dead", "state = 'dead'", "state = 'done'"),
        ("WQ23", "scopes", "done_us IS NOT NULL AND ", ""),
        ("WQ24", "forget", "('done', 'dead')", "('done')"),
    ],
    critiques: [
        ("CR11", "old", "but.tenant = tenant_id", "FALSE"),
        ("CR11", "old", "coalesce(but.project, project_id)", "but.project"),
        ("CR11", "old", "coalesce(but.project, project_id)", "project_id"),
        ("CR11", "old", "but.tenant = tenant_id", "TRUE"),
        ("CR10", "old", "tenant_id = $3)", "TRUE)"),
        ("CR10", "old", "project_id = $4)", "TRUE)"),
        ("CR1", "keep", "DO NOTHING", "DO UPDATE SET turn_id = excluded.turn_id"),
        ("CR2", "get", "critique_id = $3", "lower(critique_id) = lower($3)"),
        ("CR3", "list", "ORDER BY created_us DESC, critique_id DESC", "ORDER BY created_us DESC, critique_id"),
        ("CR4", "list_of_turn", "($7::text IS NULL OR session_id = $7)", "($7::text IS NULL OR TRUE)"),
        ("CR4", "list_of_session", "session_id = $6", "$6::text IS NOT NULL"),
        ("CR5", "report", "ELSE $5 END", "ELSE coalesce($5, score) END"),
        ("CR5", "report", "CASE WHEN $7::text = '' THEN revised_outcome ELSE $7 END", "$7"),
        ("CR12", "reported", "reported_us DESC", "reported_us"),
        ("CR12", "reported", "AND model = $4", "AND $4::text IS NOT NULL"),
        ("CR13", "reported_models", "model <> ''", "TRUE"),
        ("CR14", "verdicts", "turn_id <> ''", "TRUE"),
        ("CR14", "verdicts", " FILTER (WHERE revise)", ""),
        ("CR6", "figures", "(50 * confident + 99)", "(50 * confident)"),
        ("CR6", "figures", "created_us < $4", "created_us <= $4"),
        ("CR9", "old", "created_us < $1", "created_us <= $1"),
        ("CR9", "old", "ORDER BY created_us", "ORDER BY created_us DESC"),
        ("CR9", "old", "LIMIT $2", "LIMIT greatest($2, 10)"),
        ("CR7", "figures", "provider = $6", "provider >= $6"),
    ],
    journal: [
        ("JO1", "add", "DO NOTHING", "DO UPDATE SET body = excluded.body"),
        ("JO3", "remove", "group_id = $4", "$4::text IS NOT NULL"),
        ("JO4", "forget", "at_us <= $4", "at_us < $4"),
        ("JO5", "remove", "topic = $3", "$3::text IS NOT NULL"),
        ("JO6", "mark", "'UTF8')::bigint >", "'UTF8')::bigint <>"),
        ("JO6", "gone_up_to", "topic = $3 || '/gone'", "$3::text IS NOT NULL"),
        ("JO7", "drop", "key = $4", "$4::text IS NOT NULL"),
    ],
    policies: [
        ("PO1", "get", "project_id = ''", "FALSE"),
        ("PO2", "put", "version = excluded.version, ", ""),
        ("PO2", "put", ", body = excluded.body", ""),
        ("PO3", "remove", "project_id = $2", "$2::text IS NOT NULL"),
        ("PO6", "others", "tenant_id = $1", "$1::text IS NOT NULL"),
        ("PO6", "others", "project_id <> ''", "TRUE"),
        ("PO7", "retained", "tenant_id = $1)", "TRUE)"),
        ("PO7", "retained", "project_id IN ('', $2)", "project_id = $2"),
        ("PO7", "retained", "project_id IN ('', $2))", "TRUE)"),
        ("PO7", "retained", "retains AND ", ""),
        ("PO8", "deciding", "tenant_id = $1)", "TRUE)"),
        ("PO8", "deciding", "project_id IN ('', $2)", "project_id = $2"),
    ],
    receipts: [
        ("RC8", "oldest", "tenant_id = $3)", "TRUE)"),
        ("RC8", "oldest", "project_id = $4)", "TRUE)"),
        ("RC8", "oldest", "sidemirror.receipt_envelopes",
         "(SELECT * FROM sidemirror.receipt_envelopes ORDER BY time_us LIMIT $2) AS first"),
        ("RC1", "issue", "DO NOTHING", "DO UPDATE SET goal_id = excluded.goal_id"),
        ("RC2", "get", "receipt_id = $3", "lower(receipt_id) = lower($3)"),
        ("RC3", "shown", "text_hash = ANY ($3::bytea[])", "$3::bytea[] IS NOT NULL"),
        ("RC4", "find", "ORDER BY time_us DESC, receipt_id DESC", "ORDER BY time_us DESC, receipt_id"),
        ("RC4", "find", "time_us >= $6", "$6::bigint IS NOT NULL"),
        ("RC9", "find_lesson", "lesson_id = $7", "lower(lesson_id) = lower($7)"),
        ("RC9", "find_lesson", "ORDER BY time_us DESC, receipt_id DESC\n      LIMIT", "ORDER BY time_us\n      LIMIT"),
        ("RC9", "find_turn", "turn_id = $7", "turn_id >= $7"),
        ("RC9", "find_turn", "time_us >= $6", "$6::bigint IS NOT NULL"),
        ("RC5", "oldest", "ORDER BY time_us", "ORDER BY time_us DESC"),
        ("RC5", "oldest", "time_us < $1", "time_us <= $1"),
        ("RC7", "of_turn", "ORDER BY time_us, receipt_id", "ORDER BY time_us, receipt_id DESC"),
        ("RC7", "of_turn", "turn_id = $3", "turn_id >= $3"),
        ("RC11", "of_session", "session_id = $3", "session_id >= $3"),
        ("RC11", "of_session", "BETWEEN $4 AND $5", ">= LEAST($4::bigint, $5::bigint)"),
        ("RC12", "of_turns", "receipts.turn_id = wanted.turn_id", "receipts.turn_id >= wanted.turn_id"),
        ("RC12", "of_turns", "DISTINCT ", ""),
        ("RC12", "of_turns", "LIMIT $4", "LIMIT $4 + 1"),
        ("RC5", "forget_items", "receipt_id = ANY ($3::text[])", "NOT receipt_id = ANY ($3::text[])"),
    ],
    memories: [
        ("MS2", "known", "ORDER BY key.known_by <> ($4::text[])[1], ", "ORDER BY "),
        ("MS2", "known", "memories.created_us, memories.memory_id", "memories.created_us DESC, memories.memory_id"),
        ("MS2", "replace", ", body = $13", ", body = CASE WHEN $13::bytea IS NULL THEN $13 ELSE body END"),
        ("MS4", "learned", "lesson_id = $3", "lesson_id <> $3"),
        ("MS7", "list", "ORDER BY created_us DESC, memory_id DESC", "ORDER BY created_us DESC, memory_id"),
        ("MS7", "list", "(created_us, memory_id) < ($3, $4)", "created_us < $3 AND $4::text IS NOT NULL"),
        ("MS7", "list_in_state", "($6::text IS NULL OR kind = $6)", "($6::text IS NULL OR TRUE)"),
        ("MS7", "replace", "SET state = $4, ", "SET state = CASE WHEN $4 = '' THEN $4 ELSE state END, "),
        ("MS8", "replace_text", "SET content = $4", "SET content = CASE WHEN $4 = '' THEN $4 ELSE content END"),
        ("MS9", "versions", "ORDER BY version DESC", "ORDER BY version"),
        ("MS10", "delete_keys", "memory_id = $3", "memory_id = $3 || 'x'"),
        ("MS11", "add", "DO NOTHING", "DO UPDATE SET content = excluded.content, body = excluded.body"),
        ("MS12", "report", "score = excluded.score", "score = coalesce(excluded.score, memory_outcomes.score)"),
        ("MS12", "outcome", "receipt_id = $3", "receipt_id >= $3"),
    ],
    trials: [
        ("LT8", "old", "tenant_id = $3)", "TRUE)"),
        ("LT8", "old", "project_id = $4)", "TRUE)"),
        ("LT1", "assign", "DO NOTHING", "DO UPDATE SET arm = excluded.arm"),
        ("LT2", "of_receipt", "ORDER BY memory_id", "ORDER BY lower(memory_id)"),
        ("LT2", "of_receipt", "receipt_id = $3", "lower(receipt_id) = lower($3)"),
        ("LT3", "settle", "returned = excluded.returned", "returned = (excluded.returned OR excluded.succeeded)"),
        ("LT3", "settle", "DO UPDATE SET ", "DO UPDATE SET arm = excluded.arm, "),
        ("LT4", "tallies", "trial.version >= asked.from_version", "trial.version > asked.from_version"),
        ("LT4", "tallies", "(WHERE NOT trial.succeeded)", "(WHERE trial.succeeded IS DISTINCT FROM true)"),
        ("LT4", "tallies", "ORDER BY trial.fraction, trial.arm", "ORDER BY trial.arm, trial.fraction"),
        ("LT5", "lessons", "LIMIT $4", "LIMIT $4 + 1"),
        ("LT5", "lessons", "memory_id < $3", "memory_id <= $3"),
        ("LT9", "results", "receipt_id = ANY ($3::text[])", "upper(receipt_id) = ANY ($3::text[])"),
        ("LT9", "results", "ORDER BY receipt_id, memory_id", "ORDER BY receipt_id, memory_id DESC"),
        ("LT6", "old", "assigned_us < $1", "assigned_us <= $1"),
        ("LT6", "old", "ORDER BY assigned_us", "ORDER BY assigned_us DESC"),
        ("LT6", "old", "LIMIT $2", "LIMIT greatest($2, 10)"),
        ("LT6", "forget", "trial.receipt_id = gone.receipt_id", "trial.receipt_id <> gone.receipt_id"),
    ],
    ledger: [
        ("LE12", "old", "but.tenant = tenant_id", "FALSE"),
        ("LE12", "old", "coalesce(but.project, project_id)", "but.project"),
        ("LE12", "old", "coalesce(but.project, project_id)", "project_id"),
        ("LE12", "old", "but.tenant = tenant_id", "TRUE"),
        ("LE11", "old", "tenant_id = $3)", "TRUE)"),
        ("LE11", "old", "project_id = $4)", "TRUE)"),
        ("LE11", "forget_sums", "AND NOT EXISTS", "AND EXISTS"),
        ("LE1", "used", "settled_tokens + reserved_tokens", "settled_tokens"),
        ("LE4", "used", "'tenant_purpose', $1, $4", "'tenant_purpose', $1, ''"),
        ("LE4", "used", "'project_purpose', settled_tokens + reserved_tokens", "'project_purpose', settled_tokens"),
        ("LE4", "used", "everybody, $4", "everybody, coalesce('none', $4)"),
        ("LE5", "replace", "reserved_nano_usd - $6", "reserved_nano_usd"),
        ("LE6", "strike", "reservation_id = $3", "reservation_id <> $3"),
        ("LE7", "spent", "open.lease_until_us <= $4", "open.lease_until_us < $4"),
        ("LE8", "replace", "WHERE day = $3", "WHERE day >= $3"),
        ("LE9", "spent", "ORDER BY day DESC, purpose", "ORDER BY day, purpose"),
        ("LE9", "spent", "day >= $3", "day > $3"),
        ("LE10", "old", "day < $1", "day <= $1"),
        ("LE10", "old", "ORDER BY day", "ORDER BY day DESC"),
        ("LE10", "old", "LIMIT $2", "LIMIT greatest($2, 10)"),
        ("LE10", "forget_sums", "day < $1", "day < $1 - 1"),
        ("LE10", "forget_reservations", "tenant_id = $1", "tenant_id <> $1"),
        ("LE14", "replace", "unanswered_calls + $9", "unanswered_calls + 1"),
        ("LE14", "replace", "$9 * $7", "$7"),
        ("LE14", "replace", "$9 * $8", "0"),
        ("LE15", "spenders", "BETWEEN $1 AND $2", "BETWEEN $1 AND $2 - 1"),
        ("LE15", "spenders", "tenant_id = $4)", "TRUE)"),
        ("LE15", "cost", "day = $5", "day = $5 AND day <= $4"),
        ("LE15", "cost", "day BETWEEN $3 AND $4", "day >= $3 AND $4 > 0"),
    ],
}  # fmt: skip


# The first statement of each clause; the others take `-m long`.
STATEMENTS = [
    pytest.param(
        adapter, *broken, marks=() if broken[0] not in [each[0] for each in every[:place]] else pytest.mark.long
    )
    for adapter, every in BROKEN.items()
    for place, broken in enumerate(every)
]


@pytest.mark.parametrize(("adapter", "clause", "name", "piece", "instead"), STATEMENTS)
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


@pytest.mark.parametrize(("clause", "broken"), BROKEN_VERBS)
async def test_broken_verb_is_noticed(clause: str, broken: type[Any], databases: Databases) -> None:
    await noticed(clause, databases, broken)


async def test_a_store_that_keeps_what_receipts_showed_is_noticed(databases: Databases) -> None:
    """In a database of its own, which is thrown away: its trigger is."""
    name = await databases.create()
    await databases.as_superuser("DROP TRIGGER shows ON sidemirror.receipts", name)
    database = await PostgresDatabase.open(databases.cluster.url("sidecar", name))
    try:
        with pytest.raises(AssertionError):
            await CLAUSES["RC10"](lambda: PostgresReceipts(database))
    finally:
        await database.close()
        await databases.drop(name)


def test_every_clause_is_seen_to_fail() -> None:
    by_statement = {clause for every in BROKEN.values() for clause, *_ in every}
    assert by_statement | {clause for clause, _ in BROKEN_VERBS} | {"RC10"} == set(CLAUSES)


def test_every_suite_of_a_port_on_postgres_is_among_them() -> None:
    """A port that Postgres has is a module of its folder beside a suite of the same name."""
    adapters = {path.stem for path in Path(work.__file__).parent.glob("*.py")}
    # The broken variants of these are in test_postgres_memory_search.py, test_broken_postgres_memory_graph.py,
    # test_broken_postgres_dreams.py, test_broken_postgres_observations.py, test_postgres_erasures.py and
    # test_broken_goal_reflections.py.
    suites = {path.stem for path in Path(work_suite.__file__).parent.glob("*.py")} - {
        "clauses",
        "dreams",
        "erasures",
        "goal_reflections",
        "memory_graph",
        "memory_search",
        "observations",
        "pruning",
    }
    assert {adapter.__name__.rpartition(".")[2] for adapter in BROKEN} == adapters & suites


async def noticed(clause: str, databases: Databases, broken: type[Any] | None = None) -> None:
    async with databases.opened() as database:
        with pytest.raises((Exception, pytest.fail.Exception)) as caught:
            await CLAUSES[clause](lambda: adapter_for(clause, database, broken))
    assert not isinstance(caught.value, (TypeError, AttributeError, NameError, asyncpg.PostgresError)), "does not run"


def adapter_for(clause: str, database: PostgresDatabase, broken: type[Any] | None) -> Any:
    ports: dict[str, Any] = {
        "WQ": PostgresWork,
        "RQ": PostgresRequests,
        "LE": PostgresLedger,
        "CR": PostgresCritiques,
        "PO": PostgresPolicies,
        "RC": PostgresReceipts,
        "MS": PostgresMemories,
        "LT": PostgresTrials,
        "JO": PostgresJournal,
    }
    if clause[:2] in ports:
        return (broken or ports[clause[:2]])(database)
    log: type[Any] = broken if broken is not None and issubclass(broken, PostgresTurnLog) else PostgresTurnLog
    sessions: type[Any] = broken if broken is not None and issubclass(broken, PostgresSessions) else PostgresSessions
    return Stores(log(database), sessions(database))
