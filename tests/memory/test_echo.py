"""What we showed is recognised wherever a trace says it, and whatever else it says. The whole path, with blocks in
several forms, is in tests/wire/test_memory_trust.py."""

from pathlib import Path

import pytest

from sidemirror_server.memory.echo import SHOWN, without_echo
from sidemirror_server.memory.episode import EventType, ReflectionContext, Step, TaskError
from sidemirror_server.storage.sqlite.receipts import SqliteReceipts
from sidemirror_server.trace.receipts import Receipt, ReceiptItem, ReceiptKind
from sidemirror_server.vocabulary.block import one_line, text_hash
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import Scope
from tests.adapters.sqlite_store import sqlite_database

ONE = Scope("acme", "shop")
LESSON = "Add indexes on join columns."
BLOCK = f"[LESSONS FROM EARLIER WORK]\n• {LESSON}"
# More lines than are looked up.
LONG = "\n".join(f"line {number} of a long file" for number in range(6_000))


def trace(**said: str) -> ReflectionContext:
    """A long tool output, then a word of the agent's, with the block where it is asked for."""
    read = Step("e1", EventType.TOOL_RESPONSE, LONG, Origin.TOOL)
    thought = Step("e2", EventType.LLM_CALL, said.pop("model", "Go on."), Origin.AGENT)
    failed = Step("e3", EventType.ERROR_EVENT, "failed", Origin.TOOL, error=said.pop("step_error", ""))
    error = TaskError("tool", said.pop("message", ""), said.pop("context", ""))
    task, goal = said.pop("task_description", ""), said.pop("task_goal", "")
    return ReflectionContext((read, thought, failed), "failure", task, goal, error)


@pytest.mark.parametrize("place", ["model", "task_description", "task_goal"])
async def test_behind_a_long_tool_output(place: str, tmp_path: Path) -> None:
    """Seen to fail when the lines of a trace are looked up in its order, and when only what steps say is looked at."""
    await check(trace(**{place: BLOCK}), tmp_path)


@pytest.mark.parametrize("place", ["step_error", "message", "context"])
async def test_in_an_error(place: str, tmp_path: Path) -> None:
    """Seen to fail when only what steps say is looked at."""
    told = trace(**{place: BLOCK})
    await check(ReflectionContext(told.steps[1:], told.outcome, error=told.error), tmp_path)


async def check(context: ReflectionContext, folder: Path) -> None:
    async with sqlite_database(folder) as database:
        receipts = SqliteReceipts(database)
        item = ReceiptItem("m1", 1, "strategy", text_hash(one_line(LESSON)))
        await receipts.issue(ONE, Receipt("r", ReceiptKind.MEMORY, 1, (item,)))
        heard = await without_echo(receipts, ONE, context, ())
        assert heard.repeats(LESSON)
        told = str(heard.context)
        assert LESSON not in told
        assert SHOWN in told
