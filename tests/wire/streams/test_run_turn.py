"""A whole turn on one stream."""

from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.vocabulary.status import ResultStatus
from tests.wire.calls import WRONG_STATE, called, failed, finished, kinds, refusal_of, returned, said
from tests.wire.scripted import ANSWER, ScriptedModel
from tests.wire.streams.agent import Agent, Stub, recorded, sidecar

pytestmark = pytest.mark.asyncio(loop_scope="module")

TOOL_ERROR = pb.REFLECTION_REASON_TOOL_ERROR


async def test_the_plan_comes_first_and_the_summary_last(stub: Stub) -> None:
    agent = Agent(stub)
    plan = await agent.start(said("hello"), session_id="whole", base_prompt="b", task="t")
    assert agent.seen[0].HasField("turn_plan")
    assert agent.seen[0].sequence == 2
    assert plan.reflection_mode == pb.REFLECTION_MODE_AUTO
    assert plan.budget == pb.TurnBudget(max_reflections=4)
    assert (plan.session_id, plan.turn_count, plan.token_budget) == ("whole", 1, 2000)
    await agent.durable(2)
    await agent.send(called("sql", event_id="c"), failed(event_id="f"))
    await agent.until("reflection")
    await agent.send(finished(outcome=common_pb2.TASK_OUTCOME_SUCCESS, score=0.5))
    await agent.end()

    assert await agent.code() is grpc.StatusCode.OK
    assert agent.kinds == ["turn_plan", "reflection", "turn_summary"]
    assert agent.seen[-1].HasField("turn_summary")
    summary = agent.seen[-1].turn_summary
    assert (summary.outcome, summary.score, summary.event_count) == (common_pb2.TASK_OUTCOME_SUCCESS, 0.5, 5)
    assert (agent.acks[-1].received, agent.acks[-1].durable) == (5, 5)
    # The stream said what the record says.
    turn = await recorded(stub, plan.turn_id)
    told = [directive for directive in agent.seen if directive.sequence]
    kept = [entry.directive for entry in turn.entries if entry.HasField("directive")]
    assert [directive for directive in kept if not directive.HasField("silence")] == told
    assert len(kept) == len(told) + 1, "and why it said nothing of the failure"


async def test_acks_are_cumulative(stub: Stub) -> None:
    agent = Agent(stub)
    plan = await agent.start()
    for number in range(50):
        await agent.send(said("a"), said("b", event_id="the same"))
        if number % 10 == 0:
            await agent.durable(1 + 2 * (number + 1))
    await agent.half_close()
    counts = [(ack.received, ack.durable) for ack in agent.acks]
    assert counts == sorted(counts)
    assert all(durable <= received for received, durable in counts)
    assert counts[-1] == (101, 101)
    assert (await recorded(stub, plan.turn_id)).turn.event_count == 1 + 50 + 1


async def test_one_nudge_for_each_streak(stub: Stub) -> None:
    agent = Agent(stub)
    await agent.start(config=pb.ThinkingConfig(level=pb.THINK_LEVEL_OFF))
    for number in range(5):
        await agent.send(called("ls", '{"a": 1, "b": 2}', event_id=f"c{number}"), returned("a.txt"))
    await agent.send(called("cat", "x"), returned("y"))
    await agent.durable(13)
    assert len(agent.of("nudge")) == 1
    for _ in range(3):
        # The same arguments, spelled otherwise.
        await agent.send(called("ls", '{"b":2,"a":1}'), returned("z"))
    await agent.durable(19)
    nudges = agent.of("nudge")
    assert [nudge.pattern for nudge in nudges] == [pb.PATTERN_REPEATED_CALL] * 2
    assert nudges[0].message.startswith("You have called ls with the same arguments 3 times in a row, and")
    await agent.send(finished())
    await agent.end()
    assert agent.seen[-1].turn_summary.nudge_count == 2


@pytest.mark.parametrize(
    ("calls", "pattern"),
    [
        ([("a", "1", "r1"), ("b", "1", "r2"), ("a", "1", "r1"), ("b", "1", "r2")], pb.PATTERN_ALTERNATION),
        ([("a", "1", ""), ("b", "2", ""), ("c", "3", "")], pb.PATTERN_ERROR_STREAK),
        ([("a", "1", "r"), ("b", "1", "r"), ("c", "1", "r"), *[("c", "1", "r"), ("a", "1", "r"), ("b", "1", "r")] * 3],
         pb.PATTERN_NOTHING_NEW),
    ],
)  # fmt: skip
async def test_what_detectors_see(stub: Stub, calls: list[tuple[str, str, str]], pattern: Any) -> None:
    agent = Agent(stub)
    await agent.start(reflection_mode=pb.REFLECTION_MODE_ON_REQUEST)
    for name, arguments, result in calls:
        await agent.send(called(name, arguments), returned(result) if result else failed("disk full"))
    assert (await agent.until("nudge")).nudge.pattern == pattern
    await agent.half_close()
    assert agent.kinds == ["turn_plan", "nudge"]


async def test_polling_never_alarms(stub: Stub) -> None:
    agent = Agent(stub)
    await agent.start()
    for _ in range(20):
        await agent.send(called("status", "job 7", polling=True), returned("running"))
    await agent.half_close()
    assert agent.kinds == ["turn_plan"]


async def test_the_detectors_of_several_agents_do_not_mix(stub: Stub) -> None:
    agent = Agent(stub)
    await agent.start(config=pb.ThinkingConfig(level=pb.THINK_LEVEL_OFF))
    for number in range(3):
        for name in ("one", "two") if number < 2 else ("one",):
            # The same call by both: together 5 in a row, by none of them 3 before the last.
            await agent.send(called("ls", agent=name), returned("x", agent=name, event_id=f"{name} {number}"))
    nudge = await agent.until("nudge")
    assert agent.kinds == ["turn_plan", "nudge"]
    assert "one 2" in nudge.caused_by
    assert not any("two" in event_id for event_id in nudge.caused_by)
    await agent.half_close()


async def test_a_reflection_names_its_causes(stub: Stub) -> None:
    agent = Agent(stub)
    plan = await agent.start(config=pb.ThinkingConfig(level=pb.THINK_LEVEL_MEDIUM, reflect_every=1))
    # Errors in parallel: one decision, when the last call has ended.
    await agent.send(called("a", call_id="1"), called("b", call_id="2"), called("c", call_id="3"))
    await agent.send(failed("x", "1", "e1"), failed("no such table: y", "3", "e3"), returned("z", "2", "e2"))
    directive = await agent.until("reflection")
    await agent.durable(7)

    assert directive.reflection.status == common_pb2.RESULT_STATUS_OK
    assert list(directive.reasons) == [TOOL_ERROR, pb.REFLECTION_REASON_PERIODIC]
    assert list(directive.caused_by) == ["e1", "e3", "e2"]
    assert directive.turn_id == plan.turn_id
    assert agent.acks[-1].budget_left.reflections == 3
    turn = await recorded(stub, plan.turn_id)
    assert kinds(turn.entries).count("claim") == 1
    claim = next(entry.claim for entry in turn.entries if entry.HasField("claim"))
    assert (list(claim.caused_by), claim.directive_id) == (["e1", "e3", "e2"], directive.directive_id)
    # Periodic once in a turn; the errors are dealt with: nothing is due at the next step.
    await agent.send(called("a"), returned("fine"))
    await agent.half_close()
    assert agent.kinds == ["turn_plan", "reflection"]


async def test_calls_that_overlap_are_one_decision(stub: Stub) -> None:
    agent = Agent(stub)
    await agent.start()
    await agent.send(called("a", call_id="1"), failed("x", "1"))
    await agent.until("reflection")
    await agent.send(called("a", call_id="1"), called("b", call_id="2"), failed("x", "1"))
    await agent.durable(6)
    assert len(agent.of("reflection")) == 1, "a call is still open"
    await agent.send(returned("y", "2"))
    await agent.until("reflection")
    # A call that was given up holds nothing up once the model has moved on.
    await agent.send(called("lost", call_id="3"), pb.TurnEvent(model_started=pb.ModelStarted()))
    await agent.send(called("a", call_id="4"), failed("x", "4"))
    await agent.until("reflection")
    await agent.half_close()


async def test_an_uncertain_or_stuck_agent_is_answered(stub: Stub) -> None:
    agent = Agent(stub)
    await agent.start()
    # Not while a call is open; else at once, since the agent waits for an answer.
    await agent.send(called("a", call_id="1"), pb.TurnEvent(uncertainty=pb.Uncertainty(score=0.5)))
    await agent.durable(3)
    assert agent.kinds == ["turn_plan"]
    await agent.send(returned("x", "1"))
    assert list((await agent.until("reflection")).reasons) == [pb.REFLECTION_REASON_UNCERTAINTY]
    unsure = pb.TurnEvent(event_id="u", uncertainty=pb.Uncertainty(score=1.0))
    await agent.send(pb.TurnEvent(uncertainty=pb.Uncertainty(score=0.49)), unsure)
    directive = await agent.until("reflection")
    assert (list(directive.caused_by), len(agent.of("reflection"))) == (["u"], 2)
    for number in range(3):
        await agent.send(called("ls", event_id=f"ls {number}"), returned("a.txt"))
    assert list((await agent.until("reflection")).reasons) == [pb.REFLECTION_REASON_STUCK]
    await agent.half_close()
    assert agent.kinds == ["turn_plan", "reflection", "reflection", "nudge", "reflection"]


async def test_on_request_the_sidecar_waits_to_be_asked(stub: Stub) -> None:
    agent = Agent(stub)
    plan = await agent.start(called("a"), failed("x"), reflection_mode=pb.REFLECTION_MODE_ON_REQUEST)
    await agent.durable(3)
    assert agent.kinds == ["turn_plan"]
    answer = await stub.Reflect(pb.ReflectRequest(turn_id=plan.turn_id))
    # What another call causes is told on the stream.
    directive = await agent.until("reflection")
    assert (directive.directive_id, directive.reflection) == (answer.directive_id, answer.result)
    await agent.half_close()


@pytest.mark.parametrize("over", ["time_limit", "deadline"])
async def test_after_the_deadline_reflections_are_skipped(stub: Stub, over: str) -> None:
    agent = Agent(stub)
    fields: dict[str, Any] = {"deadline": Timestamp(seconds=1)}
    if over == "time_limit":
        fields = {"budget": pb.TurnBudget(time_limit=Duration())}
    plan = await agent.start(**fields)
    assert ("deadline has passed already" in "".join(plan.warnings)) is (over == "deadline")
    assert plan.budget.time_limit == Duration()
    for _ in range(2):
        await agent.send(called("a"), failed("x"))
        await agent.send(called("b"), returned("y"))
    await agent.half_close()
    (skipped,) = agent.of("reflection")
    assert skipped.status == common_pb2.RESULT_STATUS_SKIPPED_DEADLINE
    assert skipped.reflection == "[deadline expired]"
    assert (skipped.confidence, skipped.should_continue) == (0.7, True)
    assert not skipped.HasField("suggested_action")
    assert not skipped.HasField("usage")
    assert agent.acks[-1].budget_left == pb.BudgetLeft(reflections=4, time=Duration())


async def test_the_earlier_of_deadline_and_time_limit_counts(stub: Stub) -> None:
    agent = Agent(stub)
    budget = pb.TurnBudget(time_limit=Duration(seconds=60))
    plan = await agent.start(budget=budget, deadline=Timestamp(seconds=253_402_300_799))
    assert plan.budget.time_limit == Duration(seconds=60)
    await agent.half_close()


async def test_a_periodic_reflection_with_nothing_to_say_is_counted_and_not_sent(stub: Stub) -> None:
    agent = Agent(stub)
    config = pb.ThinkingConfig(level=pb.THINK_LEVEL_MEDIUM, reflect_every=1)
    plan = await agent.start(config=config)
    await agent.send(called("a"), returned("fine"))
    decided = await stub.ShouldReflect(pb.ShouldReflectRequest(turn_id=plan.turn_id))
    # It ran, it took no slot, and it is not due again in this turn.
    assert (decided.should_reflect, decided.budget_left.reflections) == (False, 4)
    await agent.send(finished())
    await agent.end()
    assert agent.of("reflection") == []
    assert dict(agent.seen[-1].turn_summary.reflections) == {"RESULT_STATUS_NOTHING": 1}
    said_so = [entry.directive.reflection for entry in (await recorded(stub, plan.turn_id)).entries]
    assert [one.status for one in said_so if one.status] == [common_pb2.RESULT_STATUS_NOTHING]


async def test_a_failure_that_says_nothing_is_answered_with_its_status(stub: Stub) -> None:
    agent = Agent(stub)
    plan = await agent.start(called("a"), failed("An error occurred while running the tool."))
    told = (await agent.until("reflection")).reflection
    assert (told.status, told.reflection) == (common_pb2.RESULT_STATUS_NOTHING, "")
    decided = await stub.ShouldReflect(pb.ShouldReflectRequest(turn_id=plan.turn_id))
    assert (decided.should_reflect, decided.budget_left.reflections) == (False, 4)
    # Who asks for one has its slot.
    asked = await stub.Reflect(pb.ReflectRequest(turn_id=plan.turn_id))
    assert (asked.result.status, asked.budget_left.reflections) == (common_pb2.RESULT_STATUS_NOTHING, 3)


async def test_an_exhausted_budget_is_told_once(stub: Stub) -> None:
    agent = Agent(stub)
    plan = await agent.start(budget=pb.TurnBudget(max_reflections=2))
    for number in range(4):
        await agent.send(called("a", str(number)), failed(f"no such table: {'wxyz'[number]}"))
        if number < 3:
            await agent.until("reflection")
    await agent.half_close()
    results = agent.of("reflection")
    assert [result.status for result in results] == [
        common_pb2.RESULT_STATUS_OK,
        common_pb2.RESULT_STATUS_OK,
        common_pb2.RESULT_STATUS_SKIPPED_BUDGET,
    ]
    assert results[2].reflection == "[budget exhausted]"
    assert results[2].detail == "max_reflections: 2 of 2 reflections of this turn are used"
    assert (results[2].confidence, results[2].should_continue) == (0.7, True)
    # The errors that no reflection has seen are still there.
    decided = await stub.ShouldReflect(pb.ShouldReflectRequest(turn_id=plan.turn_id))
    assert (decided.should_reflect, decided.reason) == (True, TOOL_ERROR)
    assert decided.budget_left.reflections == 0


async def test_a_failed_reflection_clears_nothing_and_waits_for_the_next_step(tmp_path: Path) -> None:
    model = ScriptedModel(ResultStatus.FAILED_MODEL, ResultStatus.REFUSED, ANSWER)
    async with sidecar(tmp_path, model=model) as server:
        agent = Agent(server.stub)
        plan = await agent.start(called("a", event_id="c1"), failed("x", event_id="e1"))
        first = (await agent.until("reflection")).reflection
        assert first.status == common_pb2.RESULT_STATUS_FAILED_MODEL
        assert first.reflection == "[reflection failed]"
        assert (first.detail, first.confidence, first.should_continue) == ("as the script says", 0.7, True)
        # It took a slot, the error stays, and nothing but another step tries again.
        decided = await server.stub.ShouldReflect(pb.ShouldReflectRequest(turn_id=plan.turn_id))
        assert (decided.should_reflect, decided.budget_left.reflections) == (True, 3)
        await agent.send(said("still there?"), pb.TurnEvent(uncertainty=pb.Uncertainty(score=1.0)))
        await agent.durable(5)
        assert len(model.prompts) == 1

        await agent.send(called("b"), returned("fine"))
        second = (await agent.until("reflection")).reflection
        assert second.status == common_pb2.RESULT_STATUS_REFUSED
        assert second.reflection == "[reflection failed]"
        await agent.send(called("c"), returned("fine"))
        third = await agent.until("reflection")
        assert third.reflection.status == common_pb2.RESULT_STATUS_OK
        assert list(third.reasons) == [TOOL_ERROR, pb.REFLECTION_REASON_UNCERTAINTY]
        assert third.caused_by[0] == "e1"
        assert (third.reflection.reflection, third.reflection.confidence) == ("The table is missing.", 0.9)
        session = (await server.stub.GetSession(pb.GetSessionRequest(session_id=plan.session_id))).session
        assert session.last_reflection == third.reflection
        await agent.send(called("a"), returned("fine"), finished())
        await agent.end()
        assert dict(agent.seen[-1].turn_summary.reflections) == {
            "RESULT_STATUS_FAILED_MODEL": 1,
            "RESULT_STATUS_REFUSED": 1,
            "RESULT_STATUS_OK": 1,
        }
        assert len(model.prompts) == 3


async def test_an_agents_own_reflection_clears_its_errors(stub: Stub) -> None:
    agent = Agent(stub)
    plan = await agent.start(reflection_mode=pb.REFLECTION_MODE_ON_REQUEST)
    asked = pb.ShouldReflectRequest(turn_id=plan.turn_id)
    await agent.send(called("a"), failed("x"), pb.TurnEvent(uncertainty=pb.Uncertainty(score=0.9)))
    await agent.durable(4)
    assert list((await stub.ShouldReflect(asked)).matches) == [TOOL_ERROR, pb.REFLECTION_REASON_UNCERTAINTY]
    own = pb.ReflectionRecorded(reflection="I see.", suggested_action="Go on.", confidence=0.4)
    await agent.send(pb.TurnEvent(reflection_recorded=own))
    await agent.durable(5)
    decided = await stub.ShouldReflect(asked)
    assert (decided.should_reflect, decided.budget_left.reflections) == (False, 4)
    session = (await stub.GetSession(pb.GetSessionRequest(session_id=plan.session_id))).session
    assert session.last_reflection.reflection == "I see."
    assert (session.last_reflection.suggested_action, session.last_reflection.confidence) == ("Go on.", 0.4)
    assert session.last_reflection.origin == common_pb2.ORIGIN_AGENT
    await agent.half_close()


async def test_half_closing_leaves_a_turn_open_and_it_is_taken_up_again(stub: Stub) -> None:
    first = Agent(stub)
    plan = await first.start(called("a"), failed("x"))
    reflection = await first.until("reflection")
    await first.half_close()
    assert await first.code() is grpc.StatusCode.OK
    assert "turn_summary" not in first.kinds
    assert (await recorded(stub, plan.turn_id)).turn.state == pb.TURN_STATE_OPEN

    # Meanwhile, without a stream.
    await stub.ReportEvents(pb.ReportEventsRequest(turn_id=plan.turn_id, events=[called("b"), failed("y")]))
    await stub.ReportEvents(pb.ReportEventsRequest(turn_id=plan.turn_id, wait=Duration(seconds=10)))
    second = Agent(stub)
    await second.resume(plan.turn_id, reflection.sequence, said("go on"))
    missed = await second.until("reflection")
    assert missed.sequence > reflection.sequence
    ack = await second.durable(1)
    assert (ack.received, ack.durable) == (1, 1), "counted from the stream's own start"
    await second.send(finished())
    await second.end()
    assert second.kinds == ["reflection", "turn_summary"]
    assert second.seen[-1].turn_summary.event_count == 7

    # From the very start: all that was ever said, in its order.
    third = Agent(stub)
    await third.resume(plan.turn_id)
    await third.end()
    assert third.kinds == ["turn_plan", "reflection", "reflection", "turn_summary"]
    assert third.seen[-1].HasField("turn_summary")


async def test_a_cancelled_stream_leaves_a_turn_open(stub: Stub) -> None:
    agent = Agent(stub)
    plan = await agent.start(said("x"))
    await agent.durable(2)
    agent.cancel()
    assert await agent.code() is grpc.StatusCode.CANCELLED
    assert (await recorded(stub, plan.turn_id)).turn.state == pb.TURN_STATE_OPEN
    again = Agent(stub)
    await again.resume(plan.turn_id, 2, finished())
    await again.end()
    assert again.kinds == ["turn_summary"]


async def test_what_comes_after_the_summary_is_refused(stub: Stub) -> None:
    agent = Agent(stub)
    plan = await agent.start(finished())
    await agent.end()
    before = await recorded(stub, plan.turn_id)
    late = Agent(stub)
    await late.resume(plan.turn_id, 0, said("late"))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await late.end()
    assert refusal_of(caught.value) == WRONG_STATE
    assert await recorded(stub, plan.turn_id) == before


async def test_two_streams_on_one_turn_are_told_the_same(stub: Stub) -> None:
    first, second = Agent(stub), Agent(stub)
    plan = await first.start()
    await second.resume(plan.turn_id)
    await second.until("turn_plan")
    await first.send(called("a"), failed("x"))
    told = await first.until("reflection")
    assert await second.until("reflection") == told
    await second.send(finished())
    await second.end()
    await first.end()
    assert first.kinds == second.kinds == ["turn_plan", "reflection", "turn_summary"]
    assert [ack.received for ack in second.acks][-1] == 1


async def test_a_reflection_that_the_end_overtakes_is_given_up(tmp_path: Path) -> None:
    model = ScriptedModel(held=True)
    async with sidecar(tmp_path, model=model) as server:
        agent = Agent(server.stub)
        plan = await agent.start(called("a"), failed("x"))
        # It is announced while it is being made; so is the look-up of advice, which has an end.
        while not (agent.acks and agent.acks[-1].durable == 3 and len(agent.acks[-1].pending_ids) == 1):
            await agent.until("ack")
        (pending,) = agent.acks[-1].pending_ids
        assert list((await recorded(server.stub, plan.turn_id)).turn.pending_ids) == [pending]
        await agent.send(finished())
        await agent.end()
        assert agent.kinds == ["turn_plan", "reflection", "turn_summary"]
        assert [directive.directive_id for directive in agent.seen if directive.HasField("reflection")] == [pending]
        assert list(agent.acks[-1].pending_ids) == []
        (result,) = agent.of("reflection")
        assert result.status == common_pb2.RESULT_STATUS_FAILED_MODEL
        assert result.detail == "given up: the turn ended first"
        assert (await recorded(server.stub, plan.turn_id)).turn.pending_ids == []


async def test_what_fails_while_the_model_thinks_is_reflected_on_after_it(tmp_path: Path) -> None:
    model = ScriptedModel(held=True)
    async with sidecar(tmp_path, model=model) as server:
        agent = Agent(server.stub)
        await agent.start(called("a"), failed("first", event_id="e1"))
        await agent.send(called("b"), failed("second", event_id="e2"))
        while not (agent.acks and agent.acks[-1].durable == 5):
            await agent.until("ack")
        assert len(model.prompts) == 1
        model.let_go()
        # The agent waits, and sends nothing more.
        while len(agent.of("reflection")) < 2 or agent.acks[-1].pending_ids:
            await agent.until("ack")
        assert [list(said.caused_by) for said in agent.seen if said.HasField("reflection")] == [["e1"], ["e2"]]
        await agent.send(finished())
        await agent.end()
        assert len(model.prompts) == 2


async def test_a_turn_that_ends_while_its_reflection_comes_in_has_a_summary(stub: Stub) -> None:
    """Its end and the reflection's meet in every way there is. Seen to fail when `_finish_later` waits for tasks that
    are all gone: asyncio refuses, and the stream never ended."""
    for number in range(40):
        agent = Agent(stub)
        await agent.start()
        await agent.send(*(said(f"{step}") for step in range(number)), called("sql"), failed())
        await agent.send(finished())
        await agent.end()
        assert await agent.code() is grpc.StatusCode.OK
        assert agent.kinds[-1] == "turn_summary"
