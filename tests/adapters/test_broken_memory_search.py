"""The suite of `MemorySearch` can fail: each clause is seen to catch an adapter that breaks it."""

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from sidemirror_server.memory.finding.search import Embedded, Filter, MemoryFacts, TextHits, Unembedded, VectorHits
from sidemirror_server.storage.migration import Migration
from sidemirror_server.storage.sqlite import memory_lookup, memory_search
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.memory_search import SqliteMemorySearch
from sidemirror_server.storage.sqlite.migrate import read_migrations
from sidemirror_server.vocabulary.scope import Scope
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance import memory_search as suite
from tests.conformance.clauses import clauses_of

pytestmark = pytest.mark.slow("the conformance suite is held against stores that are broken")

CLAUSES = clauses_of(suite)
SQL = memory_lookup.SQL

# (clause that must notice, statement of memory_search.sql, a piece of it, what stands there instead)
BROKEN = [
    ("FM1", "best_by_words", "MATCH :words", "MATCH substr(:words, 1, instr(:words || ' OR ', ' OR ') - 1)"),
    ("FM3", "best_by_words", "facts.importance >= :min_importance", ":min_importance IS NOT NULL"),
    ("FM3", "facts_of", "facts.state IN (SELECT value FROM json_each(:states))", ":states IS NOT NULL"),
    ("FM3", "best_by_words", "memory_labels.label = label.value", "lower(memory_labels.label) = lower(label.value)"),
    ("FM3", "best", "facts.kind = :kind", "facts.kind <> :kind"),
    ("FM3", "labelled", "facts.importance >= :min_importance", ":min_importance IS NOT NULL"),
    ("FM4", "best", "facts.importance DESC, facts.created_us DESC", "facts.created_us DESC, facts.importance DESC"),
    ("FM5", "labelled", "facts.importance DESC, facts.created_us DESC", "facts.created_us DESC, facts.importance DESC"),
    ("FM8", "facts_of", "facts.embedded_by = :model_no", ":model_no IS NOT NULL"),
    ("FM6", "without_vector", "embedded_by < :model_no", "embedded_by = :model_no"),
    ("FM6", "without_vector", "embedded_by > :model_no", "embedded_by = :model_no"),
    ("FM7", "unembedded_before", "facts.embedded_by < :model_no", "facts.embedded_by = 0 AND :model_no > 0"),
    ("FM8", "mark_embedded", "AND content = :content", "AND :content IS NOT NULL"),
    ("FM8", "keep_vector", "INSERT OR REPLACE", "INSERT OR IGNORE"),
    ("FM8", "mark_embedded", "SET embedded_by = :model_no", "SET embedded_by = :model_no + 1"),
    ("FM9", "terms_in", "memories.memory_id = wanted.value", "memories.memory_id >= wanted.value"),
    ("FM10", "terms_in", "memories.project_id = :project_id", ":project_id IS NOT NULL"),
    ("FM10", "best", "facts.scope_no = :scope_no", ":scope_no IS NOT NULL"),
]  # fmt: skip

# (clause, a migration, a piece of it, what stands there instead): what triggers forget.
FORGETFUL = [
    ("FM2", "memory_words", "AFTER UPDATE OF content_terms", "AFTER UPDATE OF kind"),
    ("FM2", "memory_search", "SET memories = memories - 1", "SET memories = memories"),
    ("FM3", "memory_search", "AFTER UPDATE OF state, importance, confidence", "AFTER UPDATE OF kind"),
    ("FM5", "memory_search", "AFTER UPDATE OF tags, error_category, body", "AFTER UPDATE OF kind"),
    ("FM8", "memory_words", "SET embedded_by = 0,", "SET embedded_by = embedded_by,"),
]  # fmt: skip


@pytest.mark.parametrize(("clause", "name", "piece", "instead"), BROKEN)
async def test_broken_statement_is_noticed(
    clause: str, name: str, piece: str, instead: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sidemirror_server.storage.sqlite import memory_vectors

    assert piece in SQL[name]
    broken = {**SQL, name: SQL[name].replace(piece, instead)}
    monkeypatch.setattr(memory_lookup, "SQL", broken)
    monkeypatch.setattr(memory_search, "SQL", broken)
    monkeypatch.setattr(memory_vectors, "_SQL", broken)
    await noticed(clause, SqliteMemorySearch, tmp_path)


@pytest.mark.parametrize(("clause", "name", "piece", "instead"), FORGETFUL)
async def test_forgetful_trigger_is_noticed(
    clause: str, name: str, piece: str, instead: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = read_migrations()
    (ours,) = (migration for migration in known if migration.name == name)
    assert piece in ours.script
    broken = msgspec.structs.replace(ours, script=ours.script.replace(piece, instead))

    def with_it() -> tuple[Migration, ...]:
        return tuple(broken if migration is ours else migration for migration in known)

    monkeypatch.setattr("sidemirror_server.storage.sqlite.database.read_migrations", with_it)
    await noticed(clause, SqliteMemorySearch, tmp_path)


class WithoutLimit(SqliteMemorySearch):
    async def by_text(
        self, scope: Scope, asked: Mapping[str, float], wanted: Filter, limit: int, *, said: Sequence[str] = ()
    ) -> TextHits:
        return await super().by_text(scope, asked, wanted, 100, said=said)


class MeasuresThoseWanted(SqliteMemorySearch):
    async def by_text(
        self, scope: Scope, asked: Mapping[str, float], wanted: Filter, limit: int, *, said: Sequence[str] = ()
    ) -> TextHits:
        """Only what will be returned is measured, so nothing further down can come up."""
        plain = await super().by_text(scope, asked, wanted, limit)
        found = await super().by_text(scope, asked, wanted, limit, said=said)
        mine = {hit.facts.memory_id for hit in plain.hits}
        return msgspec.structs.replace(found, hits=tuple(hit for hit in found.hits if hit.facts.memory_id in mine))


class ByWordsAlone(SqliteMemorySearch):
    async def by_text(
        self, scope: Scope, asked: Mapping[str, float], wanted: Filter, limit: int, *, said: Sequence[str] = ()
    ) -> TextHits:
        return await super().by_text(scope, asked, wanted, limit)


class InAnyOrder(SqliteMemorySearch):
    async def best(
        self, scope: Scope, wanted: Filter, limit: int, *, newest_first: bool = False
    ) -> tuple[MemoryFacts, ...]:
        found = await super().best(scope, wanted, limit, newest_first=newest_first)
        return tuple(sorted(found, key=lambda facts: facts.memory_id))


class NewestOfTheMostImportant(SqliteMemorySearch):
    async def best(
        self, scope: Scope, wanted: Filter, limit: int, *, newest_first: bool = False
    ) -> tuple[MemoryFacts, ...]:
        found = await super().best(scope, wanted, limit)
        return tuple(sorted(found, key=lambda facts: -facts.created_us)) if newest_first else found


class OfAnyModel(SqliteMemorySearch):
    async def by_vector(
        self, scope: Scope, model: str, vector: tuple[float, ...], wanted: Filter, limit: int
    ) -> VectorHits:
        return await super().by_vector(scope, "m", vector, wanted, limit)


class AllWait(SqliteMemorySearch):
    async def unembedded(self, scope: Scope, model: str, limit: int) -> tuple[Unembedded, ...]:
        return await super().unembedded(scope, "another", limit)


class TakenByAll(SqliteMemorySearch):
    async def take(self, scope: Scope, model: str, holder: str, now_us: int) -> bool:
        return True


class TakenForEver(SqliteMemorySearch):
    async def take(self, scope: Scope, model: str, holder: str, now_us: int) -> bool:
        return await super().take(scope, model, holder, 0)


class LeftByAll(SqliteMemorySearch):
    async def leave(self, scope: Scope, model: str, holder: str) -> None:
        self._taken.clear()


class NeverLeft(SqliteMemorySearch):
    async def leave(self, scope: Scope, model: str, holder: str) -> None:
        pass


class KeepsNone(SqliteMemorySearch):
    async def embed(self, scope: Scope, model: str, embedded: tuple[Embedded, ...]) -> None:
        await super().embed(scope, model, embedded[:1])


class ForgetsAll(SqliteMemorySearch):
    async def forget(self, scope: Scope, memory_ids: tuple[str, ...]) -> None:
        def forget(connection: sqlite3.Connection) -> int:
            return connection.execute("UPDATE memory_facts SET embedded_by = 0").rowcount

        await self._database.write(forget)


BROKEN_VERBS = [
    ("FM1", WithoutLimit), ("FM4", InAnyOrder), ("FM4", NewestOfTheMostImportant), ("FM6", OfAnyModel),
    ("FM7", AllWait), ("FM6", KeepsNone),
    ("FM11", TakenByAll), ("FM11", TakenForEver), ("FM12", LeftByAll), ("FM12", NeverLeft),
    ("FM13", ByWordsAlone), ("FM13", MeasuresThoseWanted),
    ("FM14", ForgetsAll),
]  # fmt: skip


@pytest.mark.parametrize(("clause", "broken"), BROKEN_VERBS)
async def test_broken_verb_is_noticed(clause: str, broken: type[SqliteMemorySearch], tmp_path: Path) -> None:
    await noticed(clause, broken, tmp_path)


def test_every_clause_is_seen_to_fail() -> None:
    assert {clause for clause, *_ in (*BROKEN, *FORGETFUL, *BROKEN_VERBS)} == set(CLAUSES)


async def noticed(clause: str, broken: type[SqliteMemorySearch], folder: Path) -> None:
    async with sqlite_database(folder) as database:
        with pytest.raises((Exception, pytest.fail.Exception)) as caught:
            await CLAUSES[clause](lambda: suite.Stores(SqliteMemories(database), broken(database)))
    mistakes = (TypeError, AttributeError, NameError, sqlite3.Error)
    assert not isinstance(caught.value, mistakes), "the broken adapter does not even run"
