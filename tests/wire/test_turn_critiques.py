"""The critiques of a turn are shown with it while they are kept: those that were asked for, and those of drafts."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidemirror.v1 import common_pb2, critique_pb2, critique_pb2_grpc, sidecar_pb2, sidecar_pb2_grpc
from sidemirror.v1 import thinking_pb2 as pb
from tests.faults.sidecars import Running, Stub, channel, running
from tests.wire.calls import called, finished, refusal_of, returned

ANSWER = "Order 4711 was shipped on Tuesday and costs 17.50 EUR."
RESULT = '{"order": 4711, "total": 71.50, "status": "shipped"}'
SECRET = "the password is password=hunter2hunter2"


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Running]:
    async with running(tmp_path) as one:
        yield one


def drafted(text: str, event_id: str) -> pb.TurnEvent:
    return pb.TurnEvent(event_id=event_id, response_drafted=pb.ResponseDrafted(text=text))


async def begin(stub: Stub, turn_id: str, *events: pb.TurnEvent, **more: Any) -> None:
    task = "What does order 4711 cost?"
    await stub.StartTurn(pb.StartTurnRequest(turn_id=turn_id, session_id="s", task=task, **more), timeout=60)
    calls = [called("get_order", '{"order": 4711}', "a", f"{turn_id}-a"), returned(RESULT, "a", f"{turn_id}-r")]
    await stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=[*calls, *events]), timeout=60)


async def criticise(served: Running, turn_id: str, response: str = "", **more: Any) -> common_pb2.CritiqueResult:
    async with channel(served.address) as connection:
        stub: Stub = critique_pb2_grpc.CritiqueServiceStub(connection)
        request = critique_pb2.CritiqueRequest(turn_id=turn_id, response=response, **more)
        answer: common_pb2.CritiqueResult = (await stub.Critique(request, timeout=60)).critique
    return answer


async def shown(served: Running, turn_id: str, **more: Any) -> list[pb.TurnCritique]:
    request = pb.GetTurnRequest(turn_id=turn_id, **more)
    return list((await served.stub.GetTurn(request, timeout=60)).critiques)


async def test_one_that_was_asked_for_is_shown_with_what_it_rests_on(served: Running) -> None:
    await begin(served.stub, "t", drafted(ANSWER, "t-d"))
    told = await criticise(served, "t")
    assert told.issue_details, "the rules see that the total is another one"
    (kept,) = await shown(served, "t")
    assert (kept.critique, kept.made_by, kept.response) == (told, "critique", ANSWER)
    assert kept.critique.usage.provider == "rules"
    issue = kept.critique.issue_details[0]
    assert "17.50" in issue.quote
    assert list(issue.event_ids) == ["t-d", "t-r"]
    assert kept.answer_change == pb.ANSWER_CHANGE_UNSPECIFIED
    events = [drafted(ANSWER.replace("17.50", "71.50"), "t-d2"), finished(outcome=common_pb2.TASK_OUTCOME_SUCCESS)]
    await served.stub.ReportEvents(pb.ReportEventsRequest(turn_id="t", events=events), timeout=60)
    # On the first page alone; and one of a finished turn is shown too.
    (kept,) = await shown(served, "t", page_size=1)
    assert kept.answer_change == pb.ANSWER_CHANGE_CHANGED
    assert await shown(served, "t", after_sequence=1) == []
    await criticise(served, "t", ANSWER)
    first, second = await shown(served, "t")
    assert first.time.ToMicroseconds() < second.time.ToMicroseconds()


async def test_one_of_a_draft_has_the_id_of_its_directive(served: Running) -> None:
    await begin(served.stub, "t", drafted(ANSWER, "t-d"), critique_mode=common_pb2.CRITIQUE_MODE_ALWAYS)
    await served.stub.FinishTurn(pb.FinishTurnRequest(turn_id="t", outcome=common_pb2.TASK_OUTCOME_SUCCESS), timeout=60)
    found = await served.stub.GetTurn(pb.GetTurnRequest(turn_id="t"), timeout=60)
    (directive,) = [one.directive for one in found.entries if one.directive.HasField("critique")]
    (kept,) = found.critiques
    assert kept.critique == directive.critique
    assert kept.critique.critique_id == directive.directive_id
    assert list(kept.critique.issue_details[0].event_ids) == ["t-d", "t-r"]
    # The draft is on record, and what was sent is not. Seen to fail with "not changed".
    assert kept.answer_change == pb.ANSWER_CHANGE_UNSPECIFIED


async def test_a_turn_counts_its_critiques_however_they_came(served: Running) -> None:
    """And how many call for a revision. Seen to fail when one that was asked for left its turn "told nothing"."""
    await begin(served.stub, "t", drafted(ANSWER, "t-d"))
    told = await criticise(served, "t")
    assert told.should_revise
    await begin(served.stub, "quiet")
    listed = await served.stub.ListTurns(pb.ListTurnsRequest(), timeout=60)
    counts = {one.turn_id: (one.critique_count, one.judged_count, one.revise_count) for one in listed.turns}
    assert counts == {"t": (0, 1, 1), "quiet": (0, 0, 0)}
    found = await served.stub.GetTurn(pb.GetTurnRequest(turn_id="t"), timeout=60)
    assert (found.turn.judged_count, found.turn.revise_count) == (1, 1)


async def test_it_follows_the_rules_of_recorded_texts(served: Running) -> None:
    """Redacted, of its tenant alone, gone with its turn, and gone by itself where critiques are kept for less long."""
    await begin(served.stub, "t")
    await criticise(served, "t", f"{ANSWER} {SECRET}")
    (kept,) = await shown(served, "t")
    assert "hunter2" not in str(kept)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await shown(served, "t", tenant_id="other")
    assert refusal_of(caught.value).code is grpc.StatusCode.NOT_FOUND
    await served.stub.StartTurn(pb.StartTurnRequest(tenant_id="other", turn_id="t"), timeout=60)
    assert await shown(served, "t", tenant_id="other") == []
    async with channel(served.address) as connection:
        stub: Stub = sidecar_pb2_grpc.SidecarServiceStub(connection)
        await stub.Erase(sidecar_pb2.EraseRequest(turn_id="t"), timeout=60)
        critics: Stub = critique_pb2_grpc.CritiqueServiceStub(connection)
        assert not (await critics.ListCritiques(critique_pb2.ListCritiquesRequest(), timeout=60)).critiques
