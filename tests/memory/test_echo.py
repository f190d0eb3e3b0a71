"""What we showed is recognised wherever a trace says it, and whatever else it says. The whole path, with blocks in
several forms, is in tests/wire/test_memory_trust.py."""

import html
import json
from pathlib import Path

import pytest

from sidemirror_server.memory.lessons.echo import SHOWN, _candidates, without_echo
from sidemirror_server.memory.lessons.episode import EpisodeStep, EventType, ReflectionContext, TaskError
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
    read = EpisodeStep("e1", EventType.TOOL_RESPONSE, LONG, Origin.TOOL)
    thought = EpisodeStep("e2", EventType.LLM_CALL, said.pop("model", "Go on."), Origin.AGENT)
    failed = EpisodeStep("e3", EventType.ERROR_EVENT, "failed", Origin.TOOL, error=said.pop("step_error", ""))
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


# Each ends, or is written, in a way that is easily lost.
AWKWARD = (
    'Use "quoted" names when the café\'s API answers 404: 😀 is no name.',
    "Always add the tenant id to {order} lookups [check] with `explain`",
    'The table is "orders"',
)
AWKWARD_BLOCK = "[LESSONS FROM EARLIER WORK]\n" + "\n".join(f"• [Strategy] {lesson}" for lesson in AWKWARD)
MESSAGES = [{"role": "system", "content": AWKWARD_BLOCK}, {"role": "user", "content": "and go on with the order"}]


@pytest.mark.parametrize(
    "told",
    [
        AWKWARD_BLOCK,
        json.dumps(MESSAGES),
        json.dumps(MESSAGES[::-1], ensure_ascii=False),
        json.dumps({"messages": json.dumps(MESSAGES)}),
        repr(MESSAGES),
        json.dumps({"notes": AWKWARD}),
        html.escape(AWKWARD_BLOCK),
        "".join(f"<li>{lesson}</li>" for lesson in AWKWARD),
        "\n".join(f"> {place}) {line}" for place, line in enumerate(AWKWARD_BLOCK.splitlines())),
        "\n".join(f"- **{lesson}**" for lesson in AWKWARD),
        "\n".join(f"I go by this lesson: {lesson}" for lesson in AWKWARD),
    ],
    ids=["block", "JSON", "JSON, last", "JSON in JSON", "repr", "list", "HTML", "tags", "quoted", "bold", "told"],
)
async def test_however_a_trace_writes_it(told: str, tmp_path: Path) -> None:
    """Seen to fail when only whole lines are compared, when a text is compared without the marks at its end only, and
    when no escapes are taken off."""
    async with sqlite_database(tmp_path) as database:
        receipts = SqliteReceipts(database)
        items = tuple(ReceiptItem(f"m{place}", 1, "s", text_hash(one_line(text))) for place, text in enumerate(AWKWARD))
        await receipts.issue(ONE, Receipt("r", ReceiptKind.MEMORY, 1, items))
        step = EpisodeStep("e1", EventType.LLM_CALL, told, Origin.AGENT)
        heard = await without_echo(receipts, ONE, ReflectionContext((step,), "failure"), ())
        assert all(map(heard.repeats, AWKWARD))
        (left,) = heard.context.steps
        assert left.content.count(SHOWN) == len(AWKWARD)
        for words in ("quoted", "tenant id", "table is"):
            assert words not in left.content
        assert ("and go on with the order" in told) == ("and go on with the order" in left.content)


@pytest.mark.parametrize("mark", ["}", "]", '"', "\\", " ", "*"])
def test_what_ends_in_many_marks_is_compared_a_few_times(mark: str) -> None:
    """Seen to fail when all of them are taken off one after the other: 4 MiB of such lines then took a minute."""
    assert 0 < len(list(_candidates("The order was not found" + 7_000 * mark + "."))) < 100
    assert len(list(_candidates("The order was not found" + 7_000 * mark))) < 700


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
