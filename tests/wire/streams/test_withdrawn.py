"""What is said of a failure is taken back when the same call works, before anybody was told."""

import pytest

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from tests.wire.calls import called, finished, returned
from tests.wire.streams.agent import Agent, Stub

pytestmark = pytest.mark.asyncio(loop_scope="module")

AUTO = pb.REFLECTION_MODE_AUTO
RESET = "ConnectionError: connection reset"


def attempt(outcome: str, tool: str = "fetch") -> tuple[pb.TurnEvent, pb.TurnEvent]:
    return called(tool, '{"u": 1}'), returned(outcome, is_error=outcome == RESET)


def actions(agent: Agent) -> list[str]:
    """What the reflections that stand suggest."""
    withdrawn = {one for ack in agent.acks for one in ack.withdrawn_ids}
    said = [one.reflection for one in agent.seen if one.HasField("reflection") and one.directive_id not in withdrawn]
    return [one.suggested_action for one in said if one.status == common_pb2.RESULT_STATUS_OK]


async def test_a_retry_that_worked_at_once_has_nothing_said_of_it(stub: Stub) -> None:
    """Seen to fail: told to try once more, then not to call it again, and two reflections were spent."""
    agent = Agent(stub)
    await agent.start()
    for outcome in (RESET, RESET, "ok"):
        await agent.send(*attempt(outcome))
    await agent.durable(7)
    assert actions(agent) == []
    assert agent.acks[-1].budget_left.reflections == 4
    await agent.send(finished())
    await agent.end()


async def test_what_was_sent_is_withdrawn_when_the_same_call_works(stub: Stub) -> None:
    """Seen to fail: the agent had it in its queue, and was told it after the answer had come."""
    agent = Agent(stub)
    await agent.start()
    await agent.send(*attempt(RESET))
    told = await agent.until("reflection")
    assert told.reflection.suggested_action.startswith("Try `fetch` once more")
    await agent.durable(3)
    assert agent.acks[-1].budget_left.reflections == 3
    await agent.send(*attempt("ok"))
    await agent.durable(5)
    assert told.directive_id in [one for ack in agent.acks for one in ack.withdrawn_ids]
    assert agent.acks[-1].budget_left.reflections == 4


async def test_another_call_that_works_takes_nothing_back(stub: Stub) -> None:
    agent = Agent(stub)
    await agent.start()
    await agent.send(*attempt(RESET))
    await agent.until("reflection")
    await agent.send(called("fetch", '{"u": 2}'), returned("ok"))
    await agent.durable(5)
    assert not [one for ack in agent.acks for one in ack.withdrawn_ids]


async def test_of_one_failure_there_is_one_reflection(stub: Stub) -> None:
    """The last one. Seen to fail: "try once more" and "do not call it again" side by side."""
    agent = Agent(stub)
    await agent.start()
    for number in range(3):
        await agent.send(*attempt(RESET))
        await agent.durable(3 + 2 * number)
    (action,) = actions(agent)
    assert action.startswith("Do not call `fetch` with the same arguments again: change one argument")
    assert len(agent.of("nudge")) == 1


async def test_a_turn_taken_up_again_is_told_of_all_that_was_withdrawn(stub: Stub) -> None:
    agent = Agent(stub)
    plan = await agent.start()
    await agent.send(*attempt(RESET))
    told = await agent.until("reflection")
    await agent.send(*attempt("ok"))
    await agent.durable(5)
    again = Agent(stub)
    await again.resume(plan.turn_id)
    await again.until("ack")
    assert again.acks[0].withdrawn_ids == [told.directive_id]
    assert told.directive_id not in [one.directive_id for one in again.seen]


async def test_single_calls_are_told_too(stub: Stub) -> None:
    turn_id = "told by single calls"
    medium = pb.ThinkingConfig(level=pb.THINK_LEVEL_MEDIUM)
    await stub.StartTurn(pb.StartTurnRequest(session_id="single", turn_id=turn_id, config=medium, reflection_mode=AUTO))
    request = pb.ReportEventsRequest(turn_id=turn_id, events=attempt(RESET))
    request.wait.FromSeconds(5)
    first = await stub.ReportEvents(request)
    (told,) = [one for one in first.directives if one.HasField("reflection")]
    assert told.reflection.status == common_pb2.RESULT_STATUS_OK
    second = await stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=attempt("ok")))
    assert second.ack.withdrawn_ids == [told.directive_id]
