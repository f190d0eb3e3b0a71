"""Five criteria over a trace: two computed, three asked of a model."""

import sys
from collections import defaultdict
from typing import Any

import pytest

from sidemirror_server.critique.evaluate import completeness, efficiency, evaluate
from sidemirror_server.critique.trace_facts import facts_of
from sidemirror_server.models.answers import CriterionAnswer, EvaluationAnswer
from sidemirror_server.trace.event import (
    Event,
    ModelReturned,
    ResponseDrafted,
    ToolCalled,
    ToolFailed,
    ToolReturned,
    UserMessage,
    What,
    origin_of,
)
from sidemirror_server.vocabulary.ids import EventId
from sidemirror_server.vocabulary.status import ResultStatus
from tests.critique.cast import SCOPE, Cast, gateway_of
from tests.recorded import episodes

NAMES = ["correctness", "helpfulness", "safety", "completeness", "efficiency"]


def trace(*whats: What) -> list[Event]:
    return [Event(EventId(f"e{place}"), place, what, origin_of(what)) for place, what in enumerate(whats)]


def call(arguments: str = "W17", name: str = "find", *, polling: bool = False) -> ToolCalled:
    return ToolCalled("", name, arguments, polling)


GOOD = trace(UserMessage("Where is W17?"), call(), ToolReturned("", "W17 is in Graz."), ResponseDrafted("In Graz."))


def test_a_trace_without_fault() -> None:
    assert efficiency(facts_of(GOOD).calls).score == 1.0
    assert completeness(GOOD, ()).score == 1.0


@pytest.mark.parametrize(
    ("whats", "score"),
    [
        ((), 1.0),
        ((call(), ToolReturned("", "x")), 1.0),
        ((call(), ToolFailed("", "x")), 0.0),
        ((call(), ToolReturned("", "x"), call(), ToolReturned("", "x")), 0.5),
        ((call(), ToolReturned("", "x"), call(), ToolReturned("", "y")), 1.0),
        ((call(polling=True), ToolReturned("", "x"), call(polling=True), ToolReturned("", "x")), 1.0),
        ((call(), ToolReturned("", "bad", is_error=True), call("W18"), ToolReturned("", "x")), 0.5),
    ],
)
def test_efficiency(whats: tuple[What, ...], score: float) -> None:
    assert efficiency(facts_of(trace(*whats)).calls).score == score


@pytest.mark.parametrize(
    ("whats", "score"),
    [
        ((UserMessage("Hello there"),), 0.0),
        ((UserMessage("Where is W17?"), ResponseDrafted("I do not know.")), 0.5),
        ((call(), ResponseDrafted("Soon.")), 0.5),
        ((call(), ToolFailed("", "x"), ResponseDrafted("It is in Graz.")), 2 / 3),
        ((call(), ToolFailed("", "x"), ResponseDrafted("I am sorry, that failed.")), 1.0),
        ((call(), ToolFailed("", "x"), call(), ToolReturned("", "y"), ResponseDrafted("In Graz.")), 1.0),
    ],
)
def test_completeness(whats: tuple[What, ...], score: float) -> None:
    assert completeness(trace(*whats), ()).score == pytest.approx(score)


def test_a_checklist_counts() -> None:
    found = completeness(GOOD, ["find W17", "offer a refund of 20 EUR"])
    assert found.score == pytest.approx(4 / 5)
    assert "“offer a refund of 20 EUR”" in found.reason


async def test_a_model_adds_the_other_three() -> None:
    said = tuple(
        CriterionAnswer(name=name, score=0.5, reason="so") for name in ("safety", "correctness", "helpfulness")
    )
    cast = Cast(trace_evaluation=EvaluationAnswer(criteria=said))
    found = await evaluate(gateway_of(cast), SCOPE, GOOD, (), 5.0)
    assert [one.name for one in found.criteria] == NAMES
    assert [one.score for one in found.criteria] == [0.5, 0.5, 0.5, 1.0, 1.0]
    assert [one.computed for one in found.criteria] == [False, False, False, True, True]


async def test_a_model_that_fails_takes_only_its_own_three_with_it() -> None:
    found = await evaluate(gateway_of(Cast(trace_evaluation=ResultStatus.FAILED_MODEL)), SCOPE, GOOD, (), 5.0)
    assert found.status is ResultStatus.FAILED_MODEL
    assert [one.score for one in found.criteria] == [None, None, None, 1.0, 1.0]


def events_of(episode: dict[str, Any]) -> list[Event]:
    """A recorded episode as one trace. What the simulated customer's tools did is not the agent's."""
    whats: list[What] = []
    for event in episode["events"]:
        text, call_id = event["content"], event.get("call_id") or ""
        match event["type"]:
            case "user_message":
                whats.append(UserMessage(text))
            case "llm_response":
                whats.append(ModelReturned(text))
            case "final_response":
                whats.append(ResponseDrafted(text))
            case "tool_call" if event.get("actor") != "user":
                whats.append(ToolCalled(call_id, event["name"], text))
            case "tool_result" | "tool_error" if event.get("actor") != "user":
                whats.append(ToolReturned(call_id, text, is_error=event["type"] == "tool_error"))
            case _:
                pass
    return trace(*whats)


def test_all_recorded_conversations_of_tau2_bench(capsys: pytest.CaptureFixture[str]) -> None:
    """Computed without a model for every one; how the figures relate to the recorded outcome is printed."""
    scores: defaultdict[str, list[tuple[float, bool]]] = defaultdict(list)
    recorded = episodes("tau2_bench")
    for episode in recorded.values():
        events = events_of(episode)
        for criterion in (efficiency(facts_of(events).calls), completeness(events, ())):
            assert criterion.score is not None
            assert 0 <= criterion.score <= 1
            scores[criterion.name].append((criterion.score, episode["outcome"] == "success"))
    assert len(recorded) == 386
    with capsys.disabled():
        for name, scored in scores.items():
            right = [score for score, success in scored if success]
            wrong = [score for score, success in scored if not success]
            better = (
                sum((one > other) + (one == other) / 2 for one in right for other in wrong) / len(right) / len(wrong)
            )
            sys.stdout.write(
                f"\ntau2_bench {name}: mean {sum(right) / len(right):.3f} of {len(right)} successes, "
                f"{sum(wrong) / len(wrong):.3f} of {len(wrong)} others, AUC {better:.3f}"
            )
