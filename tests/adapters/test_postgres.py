"""The ports on Postgres: the same suites as on SQLite."""

import pytest

from sidemirror_server.storage.postgres.critiques import PostgresCritiques
from sidemirror_server.storage.postgres.dreams import PostgresDreams
from sidemirror_server.storage.postgres.erasures import PostgresErasures
from sidemirror_server.storage.postgres.goal_reflections import PostgresGoalReflections
from sidemirror_server.storage.postgres.journal import PostgresJournal
from sidemirror_server.storage.postgres.ledger import PostgresLedger
from sidemirror_server.storage.postgres.memories import PostgresMemories
from sidemirror_server.storage.postgres.memory_graph import PostgresMemoryGraph
from sidemirror_server.storage.postgres.observations import PostgresObservations
from sidemirror_server.storage.postgres.policies import PostgresPolicies
from sidemirror_server.storage.postgres.pruning import PostgresPruning
from sidemirror_server.storage.postgres.receipts import PostgresReceipts
from sidemirror_server.storage.postgres.requests import PostgresRequests
from sidemirror_server.storage.postgres.sessions import PostgresSessions
from sidemirror_server.storage.postgres.trials import PostgresTrials
from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
from sidemirror_server.storage.postgres.work import PostgresWork
from tests.conformance import (
    critiques,
    dreams,
    goal_reflections,
    journal,
    ledger,
    memories,
    memory_graph,
    observations,
    policies,
    pruning,
    receipts,
    requests,
    sessions,
    trials,
    turn_log,
    work,
)
from tests.conformance.clauses import clauses_of
from tests.conformance.turn_log import Stores
from tests.postgres.databases import Databases

TURNS = {**clauses_of(turn_log), **clauses_of(sessions)}
REQUESTS = clauses_of(requests)
CRITIQUES = clauses_of(critiques)
JOURNAL = clauses_of(journal)
RECEIPTS = clauses_of(receipts)
GOAL_REFLECTIONS = clauses_of(goal_reflections)
MEMORIES = clauses_of(memories)
DREAMS = clauses_of(dreams)
PRUNING = clauses_of(pruning)
TRIALS = clauses_of(trials)
MEMORY_GRAPH = clauses_of(memory_graph)
LEDGER = clauses_of(ledger)
POLICIES = clauses_of(policies)
OBSERVATIONS = clauses_of(observations)
WORK = clauses_of(work)


@pytest.mark.parametrize("clause", TURNS)
async def test_turn_log_and_sessions(clause: str, databases: Databases) -> None:
    async with databases.opened() as database:
        await TURNS[clause](lambda: Stores(PostgresTurnLog(database), PostgresSessions(database)))


@pytest.mark.parametrize("clause", REQUESTS)
async def test_requests(clause: str, databases: Databases) -> None:
    async with databases.opened() as database:
        await REQUESTS[clause](lambda: PostgresRequests(database))


@pytest.mark.parametrize("clause", MEMORY_GRAPH)
async def test_memory_graph(clause: str, databases: Databases) -> None:
    async with databases.opened() as database:
        stores = memory_graph.Stores(PostgresMemoryGraph(database), PostgresMemories(database))
        await MEMORY_GRAPH[clause](lambda: stores)


@pytest.mark.parametrize("clause", WORK)
async def test_work(clause: str, databases: Databases) -> None:
    async with databases.opened() as database:
        await WORK[clause](lambda: PostgresWork(database))


@pytest.mark.parametrize("clause", LEDGER)
async def test_ledger(clause: str, databases: Databases) -> None:
    async with databases.opened() as database:
        await LEDGER[clause](lambda: PostgresLedger(database))


@pytest.mark.parametrize("clause", CRITIQUES)
async def test_critiques(clause: str, databases: Databases) -> None:
    async with databases.opened() as database:
        await CRITIQUES[clause](lambda: PostgresCritiques(database))


@pytest.mark.parametrize("clause", MEMORIES)
async def test_memories(clause: str, databases: Databases) -> None:
    async with databases.opened() as database:
        await MEMORIES[clause](lambda: PostgresMemories(database))


@pytest.mark.parametrize("clause", TRIALS)
async def test_trials(clause: str, databases: Databases) -> None:
    async with databases.opened() as database:
        await TRIALS[clause](lambda: PostgresTrials(database))


@pytest.mark.parametrize("clause", RECEIPTS)
async def test_receipts(clause: str, databases: Databases) -> None:
    async with databases.opened() as database:
        await RECEIPTS[clause](lambda: PostgresReceipts(database))


@pytest.mark.parametrize("clause", POLICIES)
async def test_policies(clause: str, databases: Databases) -> None:
    async with databases.opened() as database:
        await POLICIES[clause](lambda: PostgresPolicies(database))


@pytest.mark.parametrize("clause", OBSERVATIONS)
async def test_observations(clause: str, databases: Databases) -> None:
    async with databases.opened() as database:
        await OBSERVATIONS[clause](
            lambda: observations.Stores(
                *(PostgresObservations(database), PostgresTurnLog(database), PostgresPruning(database)),
                PostgresErasures(database),
            )
        )


@pytest.mark.parametrize("clause", GOAL_REFLECTIONS)
async def test_goal_reflections(clause: str, databases: Databases) -> None:
    async with databases.opened() as database:
        await GOAL_REFLECTIONS[clause](lambda: PostgresGoalReflections(database))


async def test_deletions_that_are_thirty_days_old_go_with_later_ones(databases: Databases) -> None:
    one, day_us = goal_reflections.ONE, goal_reflections.DAY
    async with databases.opened() as database:
        reflections = PostgresGoalReflections(database)
        for number in range(10):
            await reflections.delete(one, f"g{number}", goal_reflections.T0 + number)
        for number in range(3):
            await reflections.delete(one, f"new{number}", goal_reflections.T0 + 30 * day_us + 9)
        async with database.transaction(one) as transaction:
            rows = await transaction.fetch("SELECT goal_id FROM sidemirror.goal_deletions ORDER BY goal_id")
        assert [row[0] for row in rows] == ["g9", "new0", "new1", "new2"]


async def test_words_of_a_trimmed_reflection_go_when_it_is_erased(databases: Databases) -> None:
    one, start_us = goal_reflections.ONE, goal_reflections.T0
    async with databases.opened() as database:
        reflections = PostgresGoalReflections(database)
        for number, text in enumerate(("plums", "pears", "pears", "pears")):
            told = goal_reflections.reflection(f"r{number}", "g", start_us + number, objective=text)
            await reflections.put(one, told, start_us)
        assert not await reflections.remove(one, "g", "r0", start_us)
        async with database.transaction(one) as transaction:
            rows = await transaction.fetch("SELECT word FROM sidemirror.goal_words")
        assert [row[0] for row in rows] == ["pear"]


@pytest.mark.parametrize("clause", JOURNAL)
async def test_journal(clause: str, databases: Databases) -> None:
    async with databases.opened() as database:
        await JOURNAL[clause](lambda: PostgresJournal(database))


@pytest.mark.parametrize("clause", DREAMS)
async def test_dreams(clause: str, databases: Databases) -> None:
    async with databases.opened() as database:
        await DREAMS[clause](lambda: dreams.Stores(PostgresMemories(database), PostgresDreams(database)))


@pytest.mark.parametrize("clause", PRUNING)
async def test_pruning(clause: str, databases: Databases) -> None:
    async with databases.opened() as database:
        await PRUNING[clause](
            lambda: pruning.Stores(
                PostgresMemories(database),
                PostgresTurnLog(database),
                PostgresSessions(database),
                PostgresPruning(database),
                PostgresTrials(database),
            )
        )
