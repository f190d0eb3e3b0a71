"""A turn that was started without a session gets one later: all that is kept of it follows."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import common_pb2, critique_pb2, reflective_memory_pb2, sidecar_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.critique_pb2_grpc import CritiqueServiceStub
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from tests.postgres.databases import Databases
from tests.wire.calls import MEDIUM, Refusal, called, entries, failed, finished, refused, said, started
from tests.wire.sidecar import PATIENCE_S, sidecar, thinking

INVALID_NAME = Refusal(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", ("events[0].session_named.session_id",))


def named(session_id: str, event_id: str = "") -> pb.TurnEvent:
    return pb.TurnEvent(event_id=event_id, session_named=pb.SessionNamed(session_id=session_id))


def report(stub: ThinkingServiceStub, turn_id: str, *events: pb.TurnEvent) -> pb.ReportEventsResponse:
    return stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=events), timeout=PATIENCE_S)


def turn(stub: ThinkingServiceStub, turn_id: str) -> pb.Turn:
    return stub.GetTurn(pb.GetTurnRequest(turn_id=turn_id), timeout=PATIENCE_S).turn


@pytest.fixture(params=["sqlite", "postgres"])
def settings(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """A store of either kind."""
    if request.param == "sqlite":
        yield {}
        return
    databases: Databases = request.getfixturevalue("databases")
    name = asyncio.run(databases.create())
    yield {"database_url": databases.cluster.url("sidecar", name)}
    asyncio.run(databases.drop(name))


def test_everything_of_the_turn_follows(settings: dict[str, str], tmp_path: Path) -> None:
    with sidecar(tmp_path, settings=settings) as server, grpc.insecure_channel(server.address) as channel:
        stub, critiques = ThinkingServiceStub(channel), CritiqueServiceStub(channel)
        stub.StartTurn(pb.StartTurnRequest(session_id="s", turn_id="first", config=MEDIUM))
        report(stub, "first", called("sql"), failed("no such table: orders", event_id="left"), finished())
        own = stub.StartTurn(pb.StartTurnRequest(turn_id="t", config=MEDIUM)).plan
        assert (own.turn_count, own.session_id) != (2, "s")
        report(stub, "t", said("hello"))
        about = critique_pb2.CritiqueRequest(
            turn_id="t", session_id=own.session_id, response="It is 7.", request_id="c", user_message="How many?"
        )
        critiques.Critique(about, timeout=PATIENCE_S)

        report(stub, "t", named("s", "name"))
        moved = turn(stub, "t")
        assert (moved.session_id, moved.turn_count, moved.state) == ("s", 2, pb.TURN_STATE_OPEN)
        assert entries(stub, "t")[-1].event.session_named.session_id == "s"
        # Again it changes nothing, and with another id neither.
        report(stub, "t", named("s", "name"), named("s"))
        assert turn(stub, "t").turn_count == 2
        # What the session's last turn left is due here.
        due = stub.ShouldReflect(pb.ShouldReflectRequest(session_id="s"))
        assert pb.REFLECTION_REASON_TOOL_ERROR in due.matches
        # The session that was made for the turn is gone.
        assert [session.session_id for session in stub.ListSessions(pb.ListSessionsRequest()).sessions] == ["s"]
        assert stub.GetSession(pb.GetSessionRequest(session_id="s")).session.turn_count == 2
        listed = stub.ListTurns(pb.ListTurnsRequest(session_id="s")).turns
        assert {one.turn_id for one in listed} == {"first", "t"}
        watched = stub.WatchTurns(pb.WatchTurnsRequest(session_id="s", follow=False), timeout=PATIENCE_S)
        seen = [one.entry.sequence for one in watched if one.entry.turn_id == "t"]
        assert seen == list(range(1, moved.last_sequence + 2))
        kept = critiques.ListCritiques(critique_pb2.ListCritiquesRequest(session_id="s"), timeout=PATIENCE_S)
        assert [one.turn_id for one in kept.critiques] == ["t"]

        # The next turn of the session comes after it, and begins with what it left.
        report(stub, "t", called("sql"), failed("no such table: customers", event_id="mine"), finished())
        later = stub.StartTurn(pb.StartTurnRequest(session_id="s", turn_id="later", config=MEDIUM)).plan
        assert later.turn_count == 3
    with sidecar(tmp_path, settings=settings) as server, grpc.insecure_channel(server.address) as channel:
        # A restart folds the record to the same.
        stub = ThinkingServiceStub(channel)
        assert (turn(stub, "t").session_id, turn(stub, "t").turn_count) == ("s", 2)
        finish = stub.FinishTurn(pb.FinishTurnRequest(turn_id="later"), timeout=PATIENCE_S)
        assert finish.turn_id == "later"
        erased = SidecarServiceStub(channel).Erase(
            sidecar_pb2.EraseRequest(session_id="s", request_id="e"), timeout=PATIENCE_S
        )
        assert erased.counts["turns"] == 3
        assert erased.counts["critiques"] == 1
        assert not stub.ListTurns(pb.ListTurnsRequest()).turns
        assert not CritiqueServiceStub(channel).ListCritiques(critique_pb2.ListCritiquesRequest()).critiques


def test_what_was_learned_in_the_session_of_its_own_follows(settings: dict[str, str], tmp_path: Path) -> None:
    with sidecar(tmp_path, settings=settings) as server, grpc.insecure_channel(server.address) as channel:
        stub, memory = ThinkingServiceStub(channel), ReflectiveMemoryServiceStub(channel)
        own = stub.StartTurn(pb.StartTurnRequest(turn_id="t", config=MEDIUM)).plan.session_id
        result = reflective_memory_pb2.ReflectionResult(reflection_text="The table is called orders.")
        memory.StoreReflection(
            reflective_memory_pb2.StoreReflectionRequest(result=result, session_id=own), timeout=PATIENCE_S
        )
        report(stub, "t", named("s"))
        erased = SidecarServiceStub(channel).Erase(
            sidecar_pb2.EraseRequest(session_id="s", request_id="e"), timeout=PATIENCE_S
        )
        assert erased.counts["memories"] == 1


def test_a_session_has_one_name(tmp_path: Path) -> None:
    with sidecar(tmp_path) as server, thinking(server) as stub:
        stub.StartTurn(pb.StartTurnRequest(turn_id="t"))
        report(stub, "t", named("s"))
        assert refused(report, stub, "t", named("other")) == INVALID_NAME
        stub.StartTurn(pb.StartTurnRequest(turn_id="u", session_id="mine"))
        assert refused(report, stub, "u", named("s")) == INVALID_NAME
        report(stub, "u", named("mine"))
        stub.StartTurn(pb.StartTurnRequest(turn_id="v"))
        two = Refusal(INVALID_NAME.code, INVALID_NAME.reason, ("events[1].session_named.session_id",))
        assert refused(report, stub, "v", named("s"), named("other")) == two
        assert entries(stub, "v")[-1].sequence == 2
        assert refused(report, stub, "v", named("")) == INVALID_NAME
        report(stub, "v", finished())
        over = Refusal(grpc.StatusCode.FAILED_PRECONDITION, "WRONG_STATE")
        assert refused(report, stub, "v", named("s")) == over


def test_a_stream_names_its_session_and_starts_again(tmp_path: Path) -> None:
    with sidecar(tmp_path) as server, thinking(server) as stub:
        stub.CreateSession(pb.CreateSessionRequest(session_id="s", config=MEDIUM))
        begin = pb.TurnEvent(event_id="e0", turn_id="t", turn_started=pb.TurnStarted(task="count", config=MEDIUM))
        sent = [begin, called("sql", event_id="e1"), named("s", "e2"), failed(event_id="e3")]
        plan = next(
            directive.turn_plan
            for response in stub.RunTurn(iter([pb.RunTurnRequest(events=sent)]), timeout=PATIENCE_S)
            for directive in response.directives
            if directive.HasField("turn_plan")
        )
        assert plan.session_id != "s"
        assert turn(stub, "t").session_id == "s"
        # A client that lost the answer says it all again, and goes on.
        again = [*sent, finished(outcome=common_pb2.TASK_OUTCOME_SUCCESS)]
        said_back = list(stub.RunTurn(iter([pb.RunTurnRequest(events=again)]), timeout=PATIENCE_S))
        summary = said_back[-1].directives[-1].turn_summary
        assert summary.event_count == 5
        assert turn(stub, "t").session_id == "s"


def test_an_event_before_the_first_append_moves_too(tmp_path: Path) -> None:
    with sidecar(tmp_path) as server, thinking(server) as stub:
        sent = [started(task="one"), named("new")]
        sent[0].turn_id = "t"
        sent[0].turn_started.config.CopyFrom(MEDIUM)
        list(stub.RunTurn(iter([pb.RunTurnRequest(events=[*sent, finished()])]), timeout=PATIENCE_S))
        assert [session.session_id for session in stub.ListSessions(pb.ListSessionsRequest()).sessions] == ["new"]
        assert [one.turn_id for one in stub.ListTurns(pb.ListTurnsRequest(session_id="new")).turns] == ["t"]
