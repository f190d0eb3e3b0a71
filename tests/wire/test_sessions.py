"""Sessions through gRPC: what they hold, how they change, how they are listed and deleted."""

from typing import Any

import pytest

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from tests.wire.calls import (
    ALREADY_EXISTS,
    MEDIUM,
    NOT_FOUND,
    WRONG_STATE,
    bad_field,
    called,
    failed,
    refused,
    stored,
)


def test_a_session_has_every_default(stub: ThinkingServiceStub) -> None:
    made = stub.CreateSession(pb.CreateSessionRequest()).session

    assert len(made.session_id) == 36
    assert made.config == pb.ThinkingConfig(
        level=pb.THINK_LEVEL_OFF,
        reflect_every=0,
        reflect_on_tool_error=True,
        reflect_on_uncertainty=True,
        periodic_scope=pb.PERIODIC_SCOPE_TURN,
    )
    assert made.config.HasField("reflect_on_tool_error")
    assert made.config.HasField("reflect_on_uncertainty")
    assert made.turn_count == 0
    assert not made.HasField("last_reflection")
    assert made.create_time == made.update_time
    assert made.create_time.seconds > 1_700_000_000
    assert stub.GetSession(pb.GetSessionRequest(session_id=made.session_id)).session == made


def test_a_session_keeps_what_it_is_told(stub: ThinkingServiceStub) -> None:
    config = pb.ThinkingConfig(
        level=pb.THINK_LEVEL_HIGH,
        reflect_every=3,
        reflect_on_tool_error=False,
        reflect_on_uncertainty=False,
        periodic_scope=pb.PERIODIC_SCOPE_STEP,
    )
    made = stub.CreateSession(pb.CreateSessionRequest(session_id="told", config=config)).session

    assert (made.session_id, made.config) == ("told", config)
    assert refused(lambda: stub.CreateSession(pb.CreateSessionRequest(session_id="told"))) == ALREADY_EXISTS
    assert refused(lambda: stub.GetSession(pb.GetSessionRequest(session_id="never"))) == NOT_FOUND


def test_an_update_without_a_mask_changes_what_it_says(stub: ThinkingServiceStub) -> None:
    stub.CreateSession(
        pb.CreateSessionRequest(session_id="plain", config=pb.ThinkingConfig(level=pb.THINK_LEVEL_LOW, reflect_every=3))
    )
    config = pb.ThinkingConfig(reflect_on_tool_error=False)
    changed = stub.UpdateSession(pb.UpdateSessionRequest(session_id="plain", config=config)).session

    assert changed.config == pb.ThinkingConfig(
        level=pb.THINK_LEVEL_LOW,
        reflect_every=3,
        reflect_on_tool_error=False,
        reflect_on_uncertainty=True,
        periodic_scope=pb.PERIODIC_SCOPE_TURN,
    )
    assert changed.update_time.ToMicroseconds() > changed.create_time.ToMicroseconds()
    assert stub.GetSession(pb.GetSessionRequest(session_id="plain")).session == changed


def test_an_update_with_a_mask_changes_what_it_names(stub: ThinkingServiceStub) -> None:
    config = pb.ThinkingConfig(level=pb.THINK_LEVEL_LOW, reflect_every=3, reflect_on_tool_error=False)
    stub.CreateSession(pb.CreateSessionRequest(session_id="masked", config=config))
    request = pb.UpdateSessionRequest(session_id="masked", config=pb.ThinkingConfig(level=pb.THINK_LEVEL_HIGH))
    request.update_mask.paths.append("config.reflect_every")
    changed = stub.UpdateSession(request).session
    # Named and not said: back to its default. Said and not named: as it was.
    assert (changed.config.reflect_every, changed.config.level) == (0, pb.THINK_LEVEL_LOW)
    assert changed.config.reflect_on_tool_error is False

    request.update_mask.paths[:] = ["config"]
    changed = stub.UpdateSession(request).session
    assert changed.config.level == pb.THINK_LEVEL_HIGH
    assert changed.config.reflect_on_tool_error is True


@pytest.mark.parametrize("path", ["turn_count", "level", "config.", "config.depth", "", "config.level.x"])
def test_a_path_that_does_not_exist_changes_nothing(stub: ThinkingServiceStub, path: str) -> None:
    stub.CreateSession(pb.CreateSessionRequest(tenant_id=f"path {path}", session_id="s"))
    before = stored(stub, f"path {path}")
    request = pb.UpdateSessionRequest(tenant_id=f"path {path}", session_id="s", config=MEDIUM)
    request.update_mask.paths.extend(["config.level", path])

    assert refused(lambda: stub.UpdateSession(request)) == bad_field("update_mask.paths[1]")
    assert stored(stub, f"path {path}") == before


def test_an_unknown_session_cannot_be_changed_or_deleted(stub: ThinkingServiceStub) -> None:
    assert refused(lambda: stub.UpdateSession(pb.UpdateSessionRequest(session_id="never"))) == NOT_FOUND
    assert refused(lambda: stub.DeleteSession(pb.DeleteSessionRequest(session_id="never"))) == NOT_FOUND


def test_turns_are_counted_and_tool_errors_survive_them(stub: ThinkingServiceStub) -> None:
    first = stub.StartTurn(pb.StartTurnRequest(session_id="counted", config=MEDIUM)).plan
    events = [called("sql"), failed("no such table: x", event_id="e1")]
    stub.ReportEvents(pb.ReportEventsRequest(turn_id=first.turn_id, events=events))
    stub.FinishTurn(pb.FinishTurnRequest(turn_id=first.turn_id))
    stub.UpdateSession(pb.UpdateSessionRequest(session_id="counted", config=MEDIUM))

    between = stub.ShouldReflect(pb.ShouldReflectRequest(session_id="counted"))
    assert between.should_reflect
    assert between.reason == pb.REFLECTION_REASON_TOOL_ERROR
    assert not between.HasField("budget_left"), "there is no turn to have one"

    second = stub.StartTurn(pb.StartTurnRequest(session_id="counted")).plan
    assert (first.turn_count, second.turn_count) == (1, 2)
    decided = stub.ShouldReflect(pb.ShouldReflectRequest(turn_id=second.turn_id))
    assert decided.should_reflect
    assert decided.reason == pb.REFLECTION_REASON_TOOL_ERROR
    assert decided.budget_left.reflections == 4
    # The session stands for its newest turn, which is open now.
    assert stub.ShouldReflect(pb.ShouldReflectRequest(session_id="counted")) == decided

    reflected = stub.Reflect(pb.ReflectRequest(turn_id=second.turn_id))
    assert not stub.ShouldReflect(pb.ShouldReflectRequest(turn_id=second.turn_id)).should_reflect
    session = stub.GetSession(pb.GetSessionRequest(session_id="counted")).session
    assert session.turn_count == 2
    assert session.last_reflection == reflected.result
    assert session.last_reflection.status == common_pb2.RESULT_STATUS_OK


def test_open_turns_keep_the_configuration_they_started_with(stub: ThinkingServiceStub) -> None:
    turn_id = stub.StartTurn(pb.StartTurnRequest(session_id="kept")).plan.turn_id
    stub.UpdateSession(pb.UpdateSessionRequest(session_id="kept", config=MEDIUM))
    stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=[called("sql"), failed()]))

    decided = stub.ShouldReflect(pb.ShouldReflectRequest(turn_id=turn_id))
    assert (decided.should_reflect, decided.reason) == (False, pb.REFLECTION_REASON_LEVEL_OFF)
    assert list(decided.matches) == [pb.REFLECTION_REASON_LEVEL_OFF, pb.REFLECTION_REASON_TOOL_ERROR]
    assert stub.StartTurn(pb.StartTurnRequest(session_id="kept")).plan.config.level == pb.THINK_LEVEL_MEDIUM


def test_a_session_is_deleted_with_its_turns_but_not_while_one_is_open(stub: ThinkingServiceStub) -> None:
    scope: dict[str, Any] = {"tenant_id": "deleting"}
    turn_id = stub.StartTurn(pb.StartTurnRequest(**scope, session_id="s")).plan.turn_id
    before = stored(stub, "deleting")
    delete = pb.DeleteSessionRequest(**scope, session_id="s")
    assert refused(lambda: stub.DeleteSession(delete)) == WRONG_STATE
    assert stored(stub, "deleting") == before

    stub.FinishTurn(pb.FinishTurnRequest(**scope, turn_id=turn_id))
    stub.DeleteSession(delete)
    assert stored(stub, "deleting") == ()
    assert refused(lambda: stub.GetTurn(pb.GetTurnRequest(**scope, turn_id=turn_id))) == NOT_FOUND
    assert refused(lambda: stub.GetSession(pb.GetSessionRequest(**scope, session_id="s"))) == NOT_FOUND
    assert refused(lambda: stub.ReportEvents(pb.ReportEventsRequest(**scope, turn_id=turn_id))) == NOT_FOUND
    # A session of that name begins anew.
    assert stub.StartTurn(pb.StartTurnRequest(**scope, session_id="s", turn_id=turn_id)).plan.turn_count == 1


def test_pages_stay_stable_while_sessions_are_made(stub: ThinkingServiceStub) -> None:
    scope: dict[str, Any] = {"tenant_id": "paging"}
    ids = [f"s{number}" for number in range(7)]
    for session_id in ids:
        stub.CreateSession(pb.CreateSessionRequest(**scope, session_id=session_id))
    seen: list[str] = []
    token = ""
    while True:
        page = stub.ListSessions(pb.ListSessionsRequest(**scope, page_size=3, page_token=token))
        seen += [session.session_id for session in page.sessions]
        stub.CreateSession(pb.CreateSessionRequest(**scope, session_id=f"later {len(seen)}"))
        token = page.next_page_token
        if not token:
            break
    assert seen == ids[::-1]
    newest = stub.ListSessions(pb.ListSessionsRequest(**scope)).sessions
    assert [session.session_id for session in newest] == ["later 7", "later 6", "later 3", *ids[::-1]]


def test_the_same_ids_in_two_tenants_and_projects_never_meet(stub: ThinkingServiceStub) -> None:
    scopes = [("acme", "shop"), ("acme", "blog"), ("other", "shop"), ("", "")]
    scope: dict[str, Any]
    for number, (tenant_id, project_id) in enumerate(scopes):
        scope = {"tenant_id": tenant_id, "project_id": project_id}
        for _ in range(number):
            stub.StartTurn(pb.StartTurnRequest(**scope, session_id="same"))
        plan = stub.StartTurn(
            pb.StartTurnRequest(**scope, session_id="same", turn_id="same turn", task=f"task {number}")
        ).plan
        assert plan.turn_count == number + 1
        stub.ReportEvents(
            pb.ReportEventsRequest(**scope, turn_id="same turn", events=[called(f"tool {number}", event_id="e")])
        )
    for number, (tenant_id, project_id) in enumerate(scopes):
        scope = {"tenant_id": tenant_id, "project_id": project_id}
        turn = stub.GetTurn(pb.GetTurnRequest(**scope, turn_id="same turn"))
        assert turn.turn.task == f"task {number}"
        assert [entry.event.tool_called.name for entry in turn.entries][2:] == [f"tool {number}"]
        assert len(stub.ListTurns(pb.ListTurnsRequest(**scope, session_id="same")).turns) == number + 1
        assert stub.GetSession(pb.GetSessionRequest(**scope, session_id="same")).session.turn_count == number + 1
        watched = stub.WatchTurns(pb.WatchTurnsRequest(**scope, session_id="same", follow=False))
        names = {response.entry.event.tool_called.name for response in watched}
        assert names == {"", f"tool {number}"}
    unknown = pb.GetTurnRequest(tenant_id="acme", project_id="third", turn_id="same turn")
    assert refused(lambda: stub.GetTurn(unknown)) == NOT_FOUND
