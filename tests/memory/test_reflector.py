"""What a reflection is asked for, said in the log, and made of whatever an episode and a model bring."""

import importlib.metadata
import logging
import time
from pathlib import Path
from typing import Any

import pytest

from sidemirror_server.assembly.memory import scorer_of
from sidemirror_server.memory.lessons.episode import (
    EpisodeStep,
    EventType,
    ReflectionContext,
    TaskError,
    evidence_of,
    failure_of,
)
from sidemirror_server.memory.lessons.keeping import Ids, Keeper, Trust
from sidemirror_server.memory.lessons.prompts import MemoryPrompts
from sidemirror_server.memory.lessons.reflector import Reflector
from sidemirror_server.memory.lessons.scoring import Scores
from sidemirror_server.models.answers import AppliesWhenAnswer, MemoryReflectionAnswer
from sidemirror_server.models.language_model import Purpose
from sidemirror_server.settings import BadSettings
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.errors import ModelUnavailable
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.status import ResultStatus
from tests.adapters.sqlite_store import sqlite_database
from tests.critique.cast import SCOPE, Cast, gateway_of

ANSWER = MemoryReflectionAnswer(reflection=" It was slow. ", strategy="Add an index.", importance=0.85, confidence=0.9)
SECRET = "what the customer said"
STEPS = (
    EpisodeStep("c1", EventType.TOOL_CALL, SECRET, Origin.AGENT, tool_name="sql", call_id="1"),
    EpisodeStep("c2", EventType.TOOL_CALL, "x", Origin.AGENT, tool_name="fetch", call_id="2"),
    EpisodeStep("r2", EventType.TOOL_RESPONSE, "fine", Origin.TOOL, call_id="2"),
    EpisodeStep("r1", EventType.ERROR_EVENT, f"timed out: {SECRET}", Origin.TOOL, call_id="1"),
)
CONTEXT = ReflectionContext(STEPS, "failure", SECRET, "goal")


def reflector(part: Any, **more: Any) -> tuple[Reflector, Cast]:
    cast = Cast(memory_reflection=part)
    return Reflector(gateway_of(cast), MemoryPrompts(), **more), cast


async def test_the_log_has_the_seeds_four_names(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    """Seed reflection-engine-v2, "Structured Logging", "Error Handling": names and fields; no text of the episode."""
    caplog.set_level(logging.ERROR, "sidemirror_server.models")  # which has a line of its own for a failed model
    caplog.set_level(logging.INFO, "sidemirror_server.memory")
    asking, _ = reflector(ANSWER)
    result = await asking.reflect(SCOPE, CONTEXT, 5.0, 7)
    async with sqlite_database(tmp_path) as database:
        keeper = Keeper(SqliteMemories(database), SystemClock(), Trust())
        await keeper.keep(SCOPE, result, Ids("r", "s"))
    failing, _ = reflector(ResultStatus.FAILED_MODEL)
    with pytest.raises(ModelUnavailable):
        await failing.reflect(SCOPE, CONTEXT, 5.0, 7)
    told = [(record.getMessage(), record) for record in caplog.records]
    assert [name for name, _ in told] == [
        "reflection_generation_started",
        "reflection_generated",
        "reflection_stored",
        "reflection_generation_started",
        "reflection_generation_failed",
    ]
    wanted: list[dict[str, Any]] = [
        {"tenant_id": "acme", "project_id": "shop", "outcome": "failure", "event_count": 4},
        {"tenant_id": "acme", "importance": 0.85, "confidence": 0.9, "has_strategy": True},
        {"tenant_id": "acme", "reflection_id": "r", "importance": 0.85},
        {},
        {"tenant_id": "acme"},
    ]
    for (_, record), fields in zip(told, wanted, strict=True):
        assert fields.items() <= vars(record).items()
        assert SECRET not in str(vars(record))
        assert "slow" not in str(vars(record))
    assert told[-1][1].levelno == logging.ERROR
    assert "failed_model" in vars(told[-1][1])["error"]


async def test_what_is_asked() -> None:
    asking, cast = reflector(ANSWER)
    await asking.reflect(SCOPE, CONTEXT, 5.0, 7)
    (ask,) = cast.asked
    assert (ask.purpose, ask.temperature, ask.answer_type) == (Purpose.MEMORY_REFLECTION, 0.1, MemoryReflectionAnswer)
    assert ask.evidence == evidence_of(CONTEXT)


async def test_answers_are_held_against_the_episode() -> None:
    applies = AppliesWhenAnswer(tools=("SQL ", "unheard of", "sql"), error_categories=("timeout",), not_when=" never\n")
    answer = MemoryReflectionAnswer(
        reflection="x", tags=(" a  b ", "", "a b"), applies_when=applies, cited_event_ids=("r1", "invented", "r1")
    )
    asking, _ = reflector(answer)
    result = await asking.reflect(SCOPE, CONTEXT, 5.0, 7)
    assert (result.importance, result.confidence, result.strategy) == (0.5, None, "")
    assert (result.tags, result.source_event_ids) == (("a b",), ("r1",))
    assert (result.applies_when.tools, result.applies_when.not_when) == (("sql",), "never")
    assert (result.error_category, result.origin, result.event_count) == ("timeout", Origin.TOOL, 4)


async def test_the_category_is_that_of_the_failure_that_the_lesson_is_about() -> None:
    """Seen to fail: a lesson about `yy`, by its signature, was filed under the kind of the last failure."""
    steps = (
        EpisodeStep("c1", EventType.TOOL_CALL, "{}", Origin.AGENT, tool_name="yy", call_id="1"),
        EpisodeStep("r1", EventType.ERROR_EVENT, "bad yy value", Origin.TOOL, tool_name="yy", call_id="1"),
        EpisodeStep("c2", EventType.TOOL_CALL, "{}", Origin.AGENT, tool_name="transfer", call_id="2"),
        EpisodeStep(
            "r2", EventType.ERROR_EVENT, "boom: quota exceeded", Origin.TOOL, tool_name="transfer", call_id="2"
        ),
    )
    about = {}
    for cited in (("c1", "r1"), ("c2", "r2"), ()):
        asking, _ = reflector(MemoryReflectionAnswer(reflection="x", cited_event_ids=cited))
        result = await asking.reflect(SCOPE, ReflectionContext(steps, "failure"), 5.0, 7)
        about[cited] = (result.error_category, result.error_signature)
    last = ("rate_limit", "transfer|rate_limit|rate_limited")
    assert about == {("c1", "r1"): ("unknown", "yy|unknown|bad valu yy"), ("c2", "r2"): last, (): last}
    asking, _ = reflector(MemoryReflectionAnswer(reflection="x", cited_event_ids=("r1",)))
    reported = ReflectionContext(steps, "failure", error=TaskError("logic"))
    assert (await asking.reflect(SCOPE, reported, 5.0, 7)).error_category == "logic"


async def test_a_scorer_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asking, _ = reflector(
        ANSWER, scorer=lambda scored: Scores(1.0 if scored.error_category == "timeout" else 0.0, 0.25)
    )
    result = await asking.reflect(SCOPE, CONTEXT, 5.0, 7)
    assert (result.importance, result.confidence) == (1.0, 0.25)
    point = importlib.metadata.EntryPoint("ours", "tests.memory.test_reflector:own_scorer", "sidemirror.scorers")
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [point])
    assert scorer_of("ours") is own_scorer
    with pytest.raises(BadSettings, match="there is no 'other'; there are ours"):
        scorer_of("other")


def own_scorer(scored: Any) -> Scores:
    return Scores(0.75)


def test_evidence_joins_answers_with_calls_that_interleave() -> None:
    """Seen to fail when `_OpenCalls.answered` took every answer for the last open call's."""
    steps = evidence_of(CONTEXT).steps
    assert [(step.kind, step.name, step.answers) for step in steps] == [
        ("tool_call", "sql", None),
        ("tool_call", "fetch", None),
        ("tool_result", "fetch", "c2"),
        ("tool_failure", "sql", "c1"),
    ]
    assert steps[-1].category == "timeout"
    # The first call may be answered first, by its id or by its tool alone.
    for answers in ({"call_id": "1"}, {"tool_name": "sql"}):
        early = EpisodeStep("r1", EventType.TOOL_RESPONSE, "fine", Origin.TOOL, **answers)
        assert evidence_of(ReflectionContext((*STEPS[:2], early), "success")).steps[-1].answers == "c1"
    assert evidence_of(CONTEXT).outcome == "failure"


def test_calls_that_nobody_answers_cost_no_more_than_others() -> None:
    """Of 10,000 steps. Seen to fail when each answer looked through all open calls: it took 140 times as long, on the
    loop."""

    def took_s(answering: str) -> float:
        calls = [EpisodeStep(f"c{number}", EventType.TOOL_CALL, "x", Origin.TOOL, "t") for number in range(5_000)]
        answers = [
            EpisodeStep(f"r{number}", EventType.TOOL_RESPONSE, "x", Origin.TOOL, answering) for number in range(5_000)
        ]
        context = ReflectionContext((*calls, *answers), "failure")
        begun_s = time.thread_time()
        evidence_of(context)
        return time.thread_time() - begun_s

    assert min(took_s("other") for _ in range(3)) < 20 * min(took_s("t") for _ in range(3))


def test_why_a_task_failed() -> None:
    assert failure_of(CONTEXT) == TaskError("timeout", f"timed out: {SECRET}")
    told = ReflectionContext(STEPS, "failure", error=TaskError("logic", "said otherwise", "{}"))
    assert failure_of(told) == TaskError("logic", "said otherwise", "{}")
    assert failure_of(ReflectionContext((), "timeout")) == TaskError("timeout")
    assert failure_of(ReflectionContext((), "failure")) is None
    assert failure_of(ReflectionContext(STEPS, "success")) is None


def test_origins() -> None:
    said = EpisodeStep("u", EventType.USER_MESSAGE, "x", Origin.USER)
    assert ReflectionContext((said,), "success").origin == Origin.AGENT
    assert ReflectionContext((), "success").origin == Origin.AGENT
    assert ReflectionContext((said,), "failure", error=TaskError(message="x")).origin == Origin.TOOL
    assert ReflectionContext(STEPS, "success").origin == Origin.TOOL
    context = ReflectionContext((*STEPS, said), "failure", "task", "goal", TaskError("", "error", "context"))
    assert set(context.texts(trusted=True)) == {"task", "goal", "x", SECRET}
    assert set(context.texts(trusted=False)) == {"fine", f"timed out: {SECRET}", "error", "context"}
