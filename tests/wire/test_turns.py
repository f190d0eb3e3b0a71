"""A turn without a stream, call by call and field by field."""

from itertools import count
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.json_format import MessageToDict
from google.protobuf.timestamp_pb2 import Timestamp

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from tests.wire.calls import (
    ALREADY_EXISTS,
    MEDIUM,
    WRONG_STATE,
    called,
    entries,
    failed,
    finished,
    kinds,
    refused,
    returned,
    said,
)
from tests.wire.scripted import BARE, ScriptedModel
from tests.wire.sidecar import sidecar, thinking

SEED_MEDIUM = "## Thinking Instructions\nWrap your reasoning in <think>...</think> before your answer."


@pytest.fixture
def session_id() -> str:
    return f"session {next(_numbers)}"


_numbers = count()


def test_a_plan_has_every_default(stub: ThinkingServiceStub) -> None:
    plan = stub.StartTurn(pb.StartTurnRequest(base_prompt="You are a clerk.")).plan

    assert len(plan.turn_id) == 36
    assert len(plan.session_id) == 36
    assert plan.turn_count == 1
    assert plan.system_prompt == "You are a clerk."
    assert plan.token_budget == 0
    assert not plan.provider_parameters.fields
    assert not plan.HasField("context")
    # The agent asks by itself: there is nothing to warn of.
    assert list(plan.warnings) == []
    assert plan.config == pb.ThinkingConfig(
        level=pb.THINK_LEVEL_OFF,
        reflect_on_tool_error=True,
        reflect_on_uncertainty=True,
        periodic_scope=pb.PERIODIC_SCOPE_TURN,
    )
    assert plan.reflection_mode == pb.REFLECTION_MODE_ON_REQUEST
    assert plan.budget == pb.TurnBudget(max_reflections=4)


def test_a_plan_is_what_was_asked_for(stub: ThinkingServiceStub, session_id: str) -> None:
    budget = pb.TurnBudget(max_reflections=0, time_limit=Duration(seconds=90), max_tokens=7000, max_usd=0.5)
    request = pb.StartTurnRequest(
        session_id=session_id,
        turn_id=f"{session_id}/1",
        task="count the orders",
        base_prompt="You are a clerk.",
        user_message="How many orders are there?",
        config=pb.ThinkingConfig(level=pb.THINK_LEVEL_MEDIUM, reflect_every=2, reflect_on_tool_error=False),
        budget=budget,
        reflection_mode=pb.REFLECTION_MODE_AUTO,
    )
    plan = stub.StartTurn(request).plan

    assert (plan.turn_id, plan.session_id) == (f"{session_id}/1", session_id)
    assert plan.system_prompt == f"You are a clerk.\n\n{SEED_MEDIUM}"
    assert plan.token_budget == 2000
    assert plan.config.reflect_every == 2
    assert plan.config.reflect_on_tool_error is False
    assert plan.config.reflect_on_uncertainty is True
    assert plan.reflection_mode == pb.REFLECTION_MODE_AUTO
    assert plan.budget == budget
    # The session that begins with the turn keeps its configuration.
    config = stub.GetSession(pb.GetSessionRequest(session_id=session_id)).session.config
    assert (config.level, config.reflect_every) == (pb.THINK_LEVEL_MEDIUM, 2)

    first, second = entries(stub, plan.turn_id)
    assert (first.sequence, second.sequence) == (1, 2)
    recorded = first.event.turn_started
    assert (recorded.task, recorded.session_id) == ("count the orders", session_id)
    asked = common_pb2.Message(role=common_pb2.MESSAGE_ROLE_USER, content="How many orders are there?")
    assert list(recorded.messages) == [asked]
    assert recorded.budget == budget
    assert recorded.reflection_mode == pb.REFLECTION_MODE_AUTO
    assert second.directive.turn_plan == plan
    assert list(second.directive.caused_by) == [first.event.event_id]


@pytest.mark.parametrize(
    ("provider", "model", "parameters", "tokens", "warned"),
    [
        (
            "anthropic",
            "claude-3-7-sonnet-latest",
            {"thinking": {"type": "enabled", "budget_tokens": 1024}},
            1024,
            "1024",
        ),
        ("openai", "gpt-5", {"reasoning_effort": "low"}, 500, ""),
        ("acme", "one", {}, 500, "provider 'acme' is not known"),
    ],
)
def test_a_plan_names_the_providers_own_parameters(
    stub: ThinkingServiceStub, provider: str, model: str, parameters: dict[str, Any], tokens: int, warned: str
) -> None:
    low = pb.ThinkingConfig(level=pb.THINK_LEVEL_LOW)
    plan = stub.StartTurn(pb.StartTurnRequest(base_prompt="b", provider=provider, model=model, config=low)).plan
    prompt = stub.GetThinkingPrompt(
        pb.GetThinkingPromptRequest(base_prompt="b", provider=provider, model=model, level=pb.THINK_LEVEL_LOW)
    )
    assert MessageToDict(plan.provider_parameters) == parameters
    assert plan.token_budget == tokens
    assert (plan.system_prompt == "b") is bool(parameters)
    assert len(plan.warnings) == bool(warned)
    assert warned in "".join(plan.warnings)
    # The stateless call says the same.
    assert prompt.provider_parameters == plan.provider_parameters
    assert (prompt.prompt, prompt.token_budget) == (plan.system_prompt, plan.token_budget)
    assert list(prompt.clamps) == list(plan.warnings)


@pytest.mark.parametrize("number", [5, 99, -1])
def test_an_unknown_level_is_off_and_reported(stub: ThinkingServiceStub, number: Any) -> None:
    config = pb.ThinkingConfig(level=number)
    plan = stub.StartTurn(pb.StartTurnRequest(base_prompt="b", config=config)).plan
    assert plan.config.level == pb.THINK_LEVEL_OFF
    assert (plan.system_prompt, plan.token_budget) == ("b", 0)
    assert list(plan.warnings) == [f"level {number} is not known: OFF applies"]
    assert stub.GetTurn(pb.GetTurnRequest(turn_id=plan.turn_id)).entries[0].event.turn_started.config.level == number

    prompt = stub.GetThinkingPrompt(pb.GetThinkingPromptRequest(base_prompt="b", level=number))
    assert (prompt.prompt, prompt.token_budget) == ("b", 0)
    assert (prompt.requested_level, prompt.applied_level) == (number, pb.THINK_LEVEL_OFF)
    assert list(prompt.clamps) == [f"level {number} is not known: OFF applies"]
    assert stub.CreateSession(pb.CreateSessionRequest(config=config)).session.config.level == pb.THINK_LEVEL_OFF


def test_warnings_of_a_turn_that_cannot_reflect(stub: ThinkingServiceStub) -> None:
    plan = stub.StartTurn(pb.StartTurnRequest(reflection_mode=pb.REFLECTION_MODE_AUTO)).plan
    assert list(plan.warnings) == ["level OFF: no reflections are scheduled; detectors and Reflect still work"]


@pytest.mark.parametrize(
    ("level", "tokens", "prompt"),
    [
        (pb.THINK_LEVEL_UNSPECIFIED, 0, "base"),
        (pb.THINK_LEVEL_OFF, 0, "base"),
        (pb.THINK_LEVEL_MEDIUM, 2000, f"base\n\n{SEED_MEDIUM}"),
    ],
)
def test_the_prompt_of_a_level(stub: ThinkingServiceStub, level: Any, tokens: int, prompt: str) -> None:
    answer = stub.GetThinkingPrompt(pb.GetThinkingPromptRequest(base_prompt="base", level=level))
    assert (answer.prompt, answer.token_budget, list(answer.clamps)) == (prompt, tokens, [])
    assert answer.requested_level == level
    assert answer.applied_level == (level or pb.THINK_LEVEL_OFF)


def test_every_kind_of_event_is_shown_as_it_was_reported(stub: ThinkingServiceStub, session_id: str) -> None:
    turn_id = stub.StartTurn(pb.StartTurnRequest(session_id=session_id)).plan.turn_id
    time = Timestamp(seconds=1_700_000_000, nanos=123_456_000)
    reported = [
        pb.TurnEvent(event_id="1", agent="a", time=time, user_message=pb.UserMessage(text="hi")),
        pb.TurnEvent(event_id="2", model_started=pb.ModelStarted(provider="anthropic", model="m")),
        pb.TurnEvent(
            event_id="3", model_returned=pb.ModelReturned(text="t", input_tokens=1_000_000_000, output_tokens=2)
        ),
        called("look", '{"a": 1}', call_id="c", event_id="4", polling=True),
        returned("here", call_id="c", event_id="5", is_error=True),
        called("look", event_id="6"),
        failed("gone", event_id="7"),
        pb.TurnEvent(event_id="8", uncertainty=pb.Uncertainty(score=0.25, detail="hm")),
        pb.TurnEvent(
            event_id="9",
            reflection_recorded=pb.ReflectionRecorded(reflection="r", suggested_action="", confidence=0.0),
        ),
        pb.TurnEvent(event_id="10", reflection_recorded=pb.ReflectionRecorded(reflection="r")),
        pb.TurnEvent(event_id="11", response_drafted=pb.ResponseDrafted(text="draft")),
        pb.TurnEvent(event_id="12", turn_finished=pb.TurnFinished(outcome=common_pb2.TASK_OUTCOME_PARTIAL, score=0.0)),
    ]
    answer = stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=reported))
    assert (answer.ack.received, answer.ack.durable) == (12, 12)
    assert list(answer.ack.pending_ids) == []
    assert answer.ack.budget_left == pb.BudgetLeft(reflections=4)

    found = [entry.event for entry in entries(stub, turn_id) if entry.HasField("event")][1:]
    for event, told in zip(found, reported, strict=True):
        if not told.HasField("time"):
            assert event.time.seconds > 1_700_000_000
            told.time.CopyFrom(event.time)
        assert event.turn_id == turn_id
        told.turn_id = turn_id
        assert event == told


@pytest.fixture(scope="module")
def reflected(stub: ThinkingServiceStub) -> pb.ReflectResponse:
    """Of the open turn `whole`: a failed call, a call that worked, and a reflection."""
    budget = pb.TurnBudget(time_limit=Duration(seconds=3600), max_tokens=100, max_usd=1.0)
    stub.StartTurn(pb.StartTurnRequest(turn_id="whole", task="t" * 1001, config=MEDIUM, budget=budget))
    opened = stub.GetTurn(pb.GetTurnRequest(turn_id="whole")).turn
    assert opened.state == pb.TURN_STATE_OPEN
    assert 990 < len(opened.task) <= 1000
    assert not opened.HasField("score")
    assert (opened.last_sequence, opened.event_count, opened.turn_count) == (2, 1, 1)
    assert 3590 < opened.budget_left.time.seconds <= 3600

    events = [called("sql", "select", "c1", "e1"), failed("no such table: x", "c1", "e2"), called("ls"), returned()]
    stub.ReportEvents(pb.ReportEventsRequest(turn_id="whole", events=events))
    decided = stub.ShouldReflect(pb.ShouldReflectRequest(turn_id="whole"))
    assert decided.should_reflect
    assert decided.reason == pb.REFLECTION_REASON_TOOL_ERROR
    assert list(decided.matches) == [pb.REFLECTION_REASON_TOOL_ERROR]
    answer = stub.Reflect(pb.ReflectRequest(turn_id="whole"))
    assert not stub.ShouldReflect(pb.ShouldReflectRequest(turn_id="whole")).should_reflect
    return answer


def test_a_reflection_and_its_record(stub: ThinkingServiceStub, reflected: pb.ReflectResponse) -> None:
    result = reflected.result
    assert result.status == common_pb2.RESULT_STATUS_OK
    assert result.should_continue
    assert result.HasField("suggested_action")
    assert 0.0 < result.confidence <= 0.9
    assert (result.usage.provider, result.usage.model) == ("rules", "rules-8")
    assert result.usage.cost_usd == 0.0
    assert "e2" in result.cited_event_ids
    assert result.origin == common_pb2.ORIGIN_TOOL
    assert reflected.budget_left.reflections == 3

    silence, claim, directive = entries(stub, "whole")[6:9]
    assert silence.directive.silence.reason == pb.SILENCE_REASON_NOTHING_KNOWN
    assert claim.claim.directive_id == directive.directive.directive_id == reflected.directive_id
    assert list(claim.claim.reasons) == list(directive.directive.reasons) == [pb.REFLECTION_REASON_TOOL_ERROR]
    assert list(claim.claim.caused_by) == list(directive.directive.caused_by) == ["e2"]
    assert directive.directive.reflection == result
    assert (directive.directive.turn_id, directive.directive.sequence) == ("whole", directive.sequence)


def test_a_turn_and_its_summary(stub: ThinkingServiceStub, reflected: pb.ReflectResponse) -> None:
    end = pb.FinishTurnRequest(turn_id="whole", outcome=common_pb2.TASK_OUTCOME_SUCCESS, score=1.0)
    summary = stub.FinishTurn(end).summary
    assert (summary.outcome, summary.score) == (common_pb2.TASK_OUTCOME_SUCCESS, 1.0)
    assert (summary.event_count, summary.tool_call_count, summary.tool_error_count) == (6, 2, 1)
    assert summary.nudge_count == 0
    assert dict(summary.reflections) == {"RESULT_STATUS_OK": 1}
    assert summary.duration.ToMicroseconds() > 0
    assert (summary.budget_left.reflections, summary.budget_left.tokens, summary.budget_left.usd) == (3, 100, 1.0)

    found = stub.GetTurn(pb.GetTurnRequest(turn_id="whole"))
    assert found.turn.state == pb.TURN_STATE_FINISHED
    assert (found.turn.outcome, found.turn.score) == (summary.outcome, 1.0)
    assert found.turn.event_count == 6
    assert found.turn.last_sequence == len(found.entries) == 11
    assert [entry.sequence for entry in found.entries] == list(range(1, 12))
    assert kinds(list(found.entries)) == [
        *("turn_started", "turn_plan", "tool_called", "tool_failed", "tool_called", "tool_returned"),
        *("silence", "claim", "reflection", "turn_finished", "turn_summary"),
    ]
    assert found.entries[-1].directive.turn_summary == summary
    assert found.turn.start_time.ToMicroseconds() < found.turn.update_time.ToMicroseconds()


def test_reporting_again_after_the_end(stub: ThinkingServiceStub) -> None:
    turn_id = stub.StartTurn(pb.StartTurnRequest()).plan.turn_id
    stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=[said("x", "e1"), finished()]))
    before = entries(stub, turn_id)
    late = pb.ReportEventsRequest(turn_id=turn_id, events=[said("x", "e1"), said("late")])
    assert refused(stub.ReportEvents, late) == WRONG_STATE
    # What the turn has is acknowledged as ever.
    known = stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=[said("x", "e1")]))
    assert known.ack.durable == 1
    assert entries(stub, turn_id) == before


def test_turns_are_listed_newest_first(stub: ThinkingServiceStub) -> None:
    scope: dict[str, Any] = {"tenant_id": "listing"}
    for number in range(5):
        start = pb.StartTurnRequest(**scope, session_id=f"s{number % 2}", turn_id=f"t{number}")
        stub.StartTurn(start)
        if number in {1, 2}:
            stub.FinishTurn(pb.FinishTurnRequest(**scope, turn_id=f"t{number}"))

    def listed(**more: Any) -> list[str]:
        found: list[str] = []
        token = ""
        while True:
            page = stub.ListTurns(pb.ListTurnsRequest(**scope, page_token=token, **more))
            found += [turn.turn_id for turn in page.turns]
            token = page.next_page_token
            if not token:
                return found

    assert listed() == listed(page_size=2) == ["t4", "t3", "t2", "t1", "t0"]
    assert listed(session_id="s0") == listed(session_id="s0", page_size=1) == ["t4", "t2", "t0"]
    assert listed(state=pb.TURN_STATE_FINISHED) == ["t2", "t1"]
    assert listed(state=pb.TURN_STATE_OPEN, session_id="s1", page_size=1) == ["t3"]
    assert listed(state=pb.TURN_STATE_ABANDONED) == []
    assert listed(session_id="never") == []


def test_a_watch_shows_what_is_recorded_once_and_in_order(stub: ThinkingServiceStub) -> None:
    scope: dict[str, Any] = {"tenant_id": "watching"}
    for session_id in ("a", "b"):
        turn_id = stub.StartTurn(pb.StartTurnRequest(**scope, session_id=session_id)).plan.turn_id
        events = [said(session_id), finished()]
        stub.ReportEvents(pb.ReportEventsRequest(**scope, turn_id=turn_id, events=events))

    def watched(**more: Any) -> list[pb.TurnEntry]:
        request = pb.WatchTurnsRequest(**scope, follow=False, **more)
        return [response.entry for response in stub.WatchTurns(request, timeout=60)]

    everything = watched()
    assert kinds(everything) == ["turn_started", "turn_plan", "user_message", "turn_finished", "turn_summary"] * 2
    assert watched(session_id="b") == everything[5:]
    assert watched(cursor=everything[3].cursor) == everything[4:]
    assert watched(cursor=everything[3].cursor, session_id="a") == everything[4:5]
    (present,) = watched(new_only=True)
    assert present.directive.HasField("heartbeat"), "it says where the present is, as the watch of goals does"
    assert watched(cursor=present.cursor) == []
    # GetTurn names the same places.
    got = stub.GetTurn(pb.GetTurnRequest(**scope, turn_id=everything[0].turn_id)).entries
    assert list(got) == everything[:5]

    following = stub.WatchTurns(pb.WatchTurnsRequest(**scope, cursor=everything[-1].cursor), timeout=60)
    turn_id = stub.StartTurn(pb.StartTurnRequest(**scope, session_id="a")).plan.turn_id
    seen = [next(following).entry, next(following).entry]
    assert kinds(seen) == ["turn_started", "turn_plan"]
    assert {entry.turn_id for entry in seen} == {turn_id}
    following.cancel()


def test_reflections_take_slots_and_then_are_skipped(stub: ThinkingServiceStub) -> None:
    turn_id = stub.StartTurn(pb.StartTurnRequest(config=MEDIUM)).plan.turn_id
    for left in (3, 2, 1, 0):
        assert stub.Reflect(pb.ReflectRequest(turn_id=turn_id)).budget_left.reflections == left
    before = entries(stub, turn_id)
    skipped = stub.Reflect(pb.ReflectRequest(turn_id=turn_id))
    assert skipped == pb.ReflectResponse(
        result=common_and(pb.MidTurnReflection(), "[budget exhausted]", common_pb2.RESULT_STATUS_SKIPPED_BUDGET),
        budget_left=pb.BudgetLeft(reflections=0),
    )
    assert entries(stub, turn_id) == before


def common_and(result: pb.MidTurnReflection, text: str, status: Any) -> pb.MidTurnReflection:
    """What every skipped reflection says, with its text and status."""
    result.status, result.reflection, result.should_continue, result.confidence = status, text, True, 0.7
    result.origin = common_pb2.ORIGIN_TOOL
    if status == common_pb2.RESULT_STATUS_SKIPPED_BUDGET:
        result.detail = "max_reflections: 4 of 4 reflections of this turn are used"
    return result


def test_an_expired_deadline_takes_no_slot(stub: ThinkingServiceStub) -> None:
    over = pb.TurnBudget(time_limit=Duration())
    turn_id = stub.StartTurn(pb.StartTurnRequest(config=MEDIUM, budget=over)).plan.turn_id
    skipped = stub.Reflect(pb.ReflectRequest(turn_id=turn_id))
    assert skipped.result.status == common_pb2.RESULT_STATUS_SKIPPED_DEADLINE
    assert skipped.result.reflection == "[deadline expired]"
    assert (skipped.result.confidence, skipped.result.should_continue) == (0.7, True)
    assert skipped.directive_id == ""
    assert skipped.budget_left == pb.BudgetLeft(reflections=4, time=Duration())


def test_an_explicit_reflection_and_detectors_work_at_level_off(stub: ThinkingServiceStub) -> None:
    turn_id = stub.StartTurn(pb.StartTurnRequest()).plan.turn_id
    said_so: list[pb.TurnDirective] = []
    for number in range(3):
        events = [called("ls", "/tmp", event_id=f"c{number}"), returned("a.txt", event_id=f"r{number}")]
        said_so += stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=events)).directives
    (nudge,) = said_so
    assert nudge.nudge.pattern == pb.PATTERN_REPEATED_CALL
    assert "ls" in nudge.nudge.message
    assert list(nudge.caused_by) == ["c0", "r0", "c1", "r1", "c2", "r2"]
    decided = stub.ShouldReflect(pb.ShouldReflectRequest(turn_id=turn_id))
    assert not decided.should_reflect
    assert decided.reason == pb.REFLECTION_REASON_LEVEL_OFF
    assert list(decided.matches) == [pb.REFLECTION_REASON_LEVEL_OFF, pb.REFLECTION_REASON_STUCK]
    reflected = stub.Reflect(pb.ReflectRequest(turn_id=turn_id))
    assert reflected.result.status == common_pb2.RESULT_STATUS_OK
    assert list(entries(stub, turn_id)[-1].directive.reasons) == [pb.REFLECTION_REASON_REQUESTED]


@pytest.mark.parametrize(("score", "due"), [(0.5, True), (0.49, False)])
def test_uncertainty_asks_for_a_reflection(stub: ThinkingServiceStub, score: float, due: bool) -> None:
    turn_id = stub.StartTurn(pb.StartTurnRequest(config=MEDIUM)).plan.turn_id
    unsure = pb.TurnEvent(uncertainty=pb.Uncertainty(score=score))
    stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=[unsure]))
    decided = stub.ShouldReflect(pb.ShouldReflectRequest(turn_id=turn_id))
    assert decided.should_reflect is due
    assert decided.reason == (pb.REFLECTION_REASON_UNCERTAINTY if due else pb.REFLECTION_REASON_NONE)


def test_the_texts_of_a_reflection(stub: ThinkingServiceStub) -> None:
    turn_id = stub.StartTurn(pb.StartTurnRequest(user_message="How many orders?")).plan.turn_id
    events = [called("sql", event_id="e"), failed("no such table: orders")]
    stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=events))
    before = entries(stub, turn_id)
    texts = stub.GetReflectionPrompt(pb.GetReflectionPromptRequest(turn_id=turn_id))
    assert texts.system == (
        "You are a reflective assistant evaluating your own progress. "
        "Be concise and honest about what is working and what needs improvement."
    )
    for part in ("accomplished", "on track", "missing", "adjust the approach", "How many orders?", "status: error"):
        assert part in texts.prompt
    more = pb.GetReflectionPromptRequest(
        turn_id=turn_id,
        messages=[common_pb2.Message(content="And how many customers?")],
        tool_results=[common_pb2.ToolResult(name="count", content="42")],
    )
    prompt = stub.GetReflectionPrompt(more).prompt
    for part in ("And how many customers?", "count", "42", "status: ok", "no such table: orders"):
        assert part in prompt
    assert entries(stub, turn_id) == before


def test_confidence_is_0_7_and_nothing_is_suggested_when_the_model_gives_none(tmp_path: Path) -> None:
    model = ScriptedModel(BARE)
    with sidecar(tmp_path, model=model) as server, thinking(server) as stub:
        budget = pb.TurnBudget(max_tokens=130, max_usd=0.4)
        turn_id = stub.StartTurn(pb.StartTurnRequest(budget=budget)).plan.turn_id
        messages = [common_pb2.Message(content="What about now?")]
        answer = stub.Reflect(pb.ReflectRequest(turn_id=turn_id, messages=messages))
        assert answer.result.reflection == "Fine so far."
        assert answer.result.confidence == 0.7
        assert not answer.result.HasField("suggested_action")
        usage = answer.result.usage
        assert (usage.provider, usage.model, dict(usage.parameters)) == ("scripted", "scripted-1", {"effort": "low"})
        assert (usage.input_tokens, usage.output_tokens, usage.cost_usd) == (100, 20, 0.25)
        assert usage.latency == Duration(seconds=1, nanos=500_000_000)
        assert "What about now?" in model.prompts[0]
        # 120 tokens and 0.25 USD of the turn's caps are used; the next one uses them up.
        assert answer.budget_left.tokens == 10
        assert answer.budget_left.usd == pytest.approx(0.15)
        again = stub.Reflect(pb.ReflectRequest(turn_id=turn_id))
        assert (again.budget_left.tokens, again.budget_left.usd) == (0, 0.0)
        skipped = stub.Reflect(pb.ReflectRequest(turn_id=turn_id)).result
        assert (skipped.status, skipped.reflection) == (common_pb2.RESULT_STATUS_SKIPPED_BUDGET, "[budget exhausted]")
        assert skipped.detail.startswith("max_tokens")


def test_a_start_that_is_sent_again_finds_its_turn_also_in_a_session_of_its_own(stub: ThinkingServiceStub) -> None:
    start = pb.TurnEvent(turn_id="own", event_id="start", turn_started=pb.TurnStarted(task="x"))
    plans = [
        next(directive.turn_plan for response in answers for directive in response.directives)
        for answers in (stub.RunTurn(iter([pb.RunTurnRequest(events=[start])]), timeout=60) for _ in range(2))
    ]
    assert plans[0] == plans[1]
    # Another start under that id is another turn's, whatever its session would have been.
    assert refused(lambda: stub.StartTurn(pb.StartTurnRequest(turn_id="own"))) == ALREADY_EXISTS


def test_a_stream_whose_side_is_closed_ends_with_the_summary_also_after_a_slow_reflection(tmp_path: Path) -> None:
    """The turn waits 0.25 s for the reflection. Fails where the stream ends once all its events are durable."""
    with sidecar(tmp_path, model=ScriptedModel(held=True)) as server, thinking(server) as stub:
        begin = pb.TurnEvent(turn_id="t", turn_started=pb.TurnStarted(task="x", config=MEDIUM))
        events = [begin, called("sql"), failed(), finished()]
        said_back = list(stub.RunTurn(iter([pb.RunTurnRequest(events=events)]), timeout=60))
        assert said_back[-1].directives[-1].turn_summary.event_count == 4


def test_a_turn_that_is_over_is_not_asked_about(stub: ThinkingServiceStub) -> None:
    turn_id = stub.StartTurn(pb.StartTurnRequest()).plan.turn_id
    stub.FinishTurn(pb.FinishTurnRequest(turn_id=turn_id))
    assert refused(lambda: stub.ShouldReflect(pb.ShouldReflectRequest(turn_id=turn_id))) == WRONG_STATE


def test_who_reports_by_calls_is_sent_what_a_stream_is_sent(stub: ThinkingServiceStub, session_id: str) -> None:
    """A periodic reflection with nothing to say is on record, and not sent. Seen to fail: it was sent."""
    turn_id = f"{session_id}/1"
    config = pb.ThinkingConfig(level=pb.THINK_LEVEL_MEDIUM, reflect_every=1)
    auto = pb.REFLECTION_MODE_AUTO
    stub.StartTurn(pb.StartTurnRequest(session_id=session_id, turn_id=turn_id, config=config, reflection_mode=auto))
    events = [called("list_tables"), returned("orders")]
    sent = stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=events, wait=Duration(seconds=20)))
    made = [one.directive for one in entries(stub, turn_id) if one.directive.HasField("reflection")]
    assert [(one.reflection.status, list(one.reasons)) for one in made] == [
        (common_pb2.RESULT_STATUS_NOTHING, [pb.REFLECTION_REASON_PERIODIC])
    ]
    assert not [one for one in sent.directives if one.HasField("reflection")]
