"""The block for a goal, for a task, or of what is recent; and its receipt."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

from sidemirror_server.goals.context import HEADING, MAX_ITEMS, GoalContexts
from sidemirror_server.goals.record import GoalReflection, GoalState
from sidemirror_server.storage.sqlite.goal_reflections import SqliteGoalReflections
from sidemirror_server.storage.sqlite.receipts import SqliteReceipts
from sidemirror_server.trace.receipts import ReceiptKind
from sidemirror_server.turns.retired import RetiredWords
from sidemirror_server.vocabulary.block import ContextBlock, text_hash
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import Scope
from tests.adapters.sqlite_store import sqlite_database
from tests.policy.made import policies_on

SCOPE = Scope("acme", "shop")
T0 = 1_773_238_980_000_000
DAY = 86_400_000_000


class House(NamedTuple):
    contexts: GoalContexts
    reflections: SqliteGoalReflections
    receipts: SqliteReceipts

    async def put(self, reflection_id: str, goal_id: str, objective: str, importance: float, at_us: int = T0) -> None:
        one = GoalReflection(
            *(reflection_id, goal_id, objective, f"lesson {reflection_id}", importance),
            *(GoalState.FAILED, at_us, Origin.TOOL),
        )
        assert await self.reflections.put(SCOPE, one, T0)

    async def build(
        self, goal_id: str = "", task: str = "", max_items: int = 0, now_us: int = T0 + DAY
    ) -> ContextBlock:
        return await self.contexts.build(SCOPE, goal_id, task, max_items, "receipt", now_us)


@contextlib.asynccontextmanager
async def house(folder: Path) -> AsyncIterator[House]:
    async with sqlite_database(folder) as database:
        reflections, receipts = SqliteGoalReflections(database), SqliteReceipts(database)
        parts = (reflections, receipts, policies_on(database, SystemClock()), RetiredWords(None).saying)
        yield House(GoalContexts(*parts), reflections, receipts)


def ids(block: ContextBlock) -> list[str]:
    return [item.id for item in block.items]


def test_the_seeds_numbers() -> None:
    assert HEADING == "PAST REFLECTIONS"
    assert MAX_ITEMS == 2


async def test_the_most_important_first_then_the_newest(tmp_path: Path) -> None:
    async with house(tmp_path) as made:
        for number, importance in enumerate((0.5, 1.0, 0.5)):
            await made.put(f"r{number}", "g", "Bake bread", importance, T0 + number)
        assert ids(await made.build("g")) == ["r1", "r2"]
        assert ids(await made.build("g", max_items=10)) == ["r1", "r2", "r0"]
        assert ids(await made.build("g", max_items=1)) == ["r1"]
        assert (await made.build("g")).text.split("\n")[1] == "• [Goal: Bake bread] lesson r1"
        assert ids(await made.build("g", now_us=T0 + 7 * DAY + 1)) == ["r2"]


async def test_similar_goals(tmp_path: Path) -> None:
    async with house(tmp_path) as made:
        await made.put("price", "a", "Research competitor pricing", 0.5, T0)
        await made.put("prices", "b", "Compare the pricing of a competitor", 0.8, T0)
        await made.put("mail", "c", "Send weekly report to the competitor", 1.0, T0)
        await made.put("bread", "d", "Bread", 0.5, T0)
        block = await made.build(task="What is the competitor pricing?")
        # One word in common is too little; of those with more, the more important one is first.
        assert ids(block) == ["prices", "price"]
        assert all(0 < item.score < 1 for item in block.items)
        # Unless it is all that the goal says.
        assert ids(await made.build(task="Bake some bread for the weekend")) == ["bread"]
        assert await made.build(task="Nothing of the kind") == ContextBlock()


async def test_two_common_words_do_not_make_a_goal_similar(tmp_path: Path) -> None:
    """Where others are much closer. Seen to fail when two shared words are enough: the important one came first."""
    async with house(tmp_path) as made:
        await made.put("close", "a", "Migrate the orders table of the billing database", 0.5, T0)
        await made.put("near", "b", "Migrate the invoices table of the billing database", 0.4, T0)
        await made.put("far", "c", "Write a weekly report on the table of contents of the users database", 1.0, T0)
        block = await made.build(task="Migrate the orders table of the billing database in one go", max_items=5)
        assert ids(block) == ["close", "near"]
        # Accents make no difference, as before.
        await made.put("accents", "d", "Überprüfe die Preise", 0.5, T0)
        assert ids(await made.build(task="uberprufe preise")) == ["accents"]


async def test_a_goal_first_and_then_similar_ones(tmp_path: Path) -> None:
    async with house(tmp_path) as made:
        await made.put("own", "a", "Research competitor pricing", 0.5)
        await made.put("other", "b", "Research pricing of competitors", 1.0)
        block = await made.build("a", "research competitor pricing")
        assert ids(block) == ["own", "other"]
        assert block.items[0].score == 1.0
        # A goal that nothing is known of has what similar ones taught.
        assert ids(await made.build("new", "research competitor pricing")) == ["other", "own"]
        assert await made.build("new") == ContextBlock()


async def test_recent_ones_when_nothing_is_asked_for(tmp_path: Path) -> None:
    async with house(tmp_path) as made:
        assert await made.build() == ContextBlock()
        for number in range(12):
            await made.put(f"r{number:02}", f"g{number}", f"goal {number}", 0.8 if number % 5 else 0.5, T0 + number)
        assert ids(await made.build()) == ["r11", "r09"]
        assert ids(await made.build(max_items=10))[-2:] == ["r10", "r05"]


async def test_a_receipt_for_what_is_shown(tmp_path: Path) -> None:
    async with house(tmp_path) as made:
        await made.build("g")
        assert await made.receipts.get(SCOPE, "receipt") is None, "there was nothing to show"
        await made.put("r", "g", "Bake bread", 0.5)
        block = await made.build("g")
        receipt = await made.receipts.get(SCOPE, "receipt")
        assert receipt is not None
        assert (receipt.kind, receipt.goal_id, receipt.time_us) == (ReceiptKind.GOAL, "g", T0 + DAY)
        (item,) = receipt.items
        assert (item.id, item.version, item.kind) == ("r", 1, "goal_reflection")
        assert await made.receipts.shown(SCOPE, [text_hash("Lesson  R"), text_hash("x")]) == {text_hash("lesson r")}
        assert block.receipt_id == "receipt"
