"""Ten people whose words go through every RPC that takes a text, each with a canary of their own."""

import time
from collections.abc import Iterator
from typing import Any

import grpc
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from sidemirror.v1 import common_pb2, critique_pb2, goal_reflection_pb2, reflective_memory_pb2, sidecar_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.critique_pb2_grpc import CritiqueServiceStub
from sidemirror.v1.goal_reflection_pb2_grpc import GoalReflectionServiceStub
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from tests.wire.calls import MEDIUM, finished
from tests.wire.test_text_entry import NOT_TEXTS, events, fill, is_text

PEOPLE = 10
TIMEOUT_S = 60.0
SERVICES = [
    service
    for file in (pb, critique_pb2, goal_reflection_pb2, reflective_memory_pb2, sidecar_pb2)
    for service in file.DESCRIPTOR.services_by_name.values()
]
OUTCOME = common_pb2.TASK_OUTCOME_FAILURE


def canary(person: int) -> str:
    """A word of one person, which no other text has."""
    return f"qzcanary{'abcdefghij'[person]}xv"


def subject(person: int) -> str:
    return f"person-{person}@example.com"


class Stubs:
    """A client of every service of one sidecar, and the names of the RPCs that were called with texts."""

    def __init__(self, channel: grpc.Channel) -> None:
        self.thinking = ThinkingServiceStub(channel)
        self.critique = CritiqueServiceStub(channel)
        self.goals = GoalReflectionServiceStub(channel)
        self.memory = ReflectiveMemoryServiceStub(channel)
        self.sidecar = SidecarServiceStub(channel)
        self.called: set[str] = set()

    def call(self, stub: Any, name: str, text: str, **given: Any) -> Any:
        """Calls an RPC with every text of its request filled, but for what is given."""
        method = next(method for service in SERVICES for method in service.methods if method.name == name)
        request = GetMessageClass(method.input_type)()
        assert fill(request, text), name
        for field, value in given.items():
            request.ClearField(field)
            if isinstance(value, Message):
                getattr(request, field).CopyFrom(value)
            elif isinstance(value, list | tuple):
                getattr(request, field).extend(value)
            else:
                setattr(request, field, value)
        self.called.add(name)
        answer = getattr(stub, name)(request, timeout=TIMEOUT_S)
        return list(answer) if method.server_streaming else answer


def methods_with_texts() -> set[str]:
    """Every RPC whose request can hold a text about somebody. Those of GetLessonStatistics and ListReflections are
    ids, those of SetPolicy an operator's."""
    found = {method.name for service in SERVICES for method in service.methods if _texts_in(method.input_type)}
    return found - {"GetLessonStatistics", "ListReflections", "SetPolicy"}


def _texts_in(descriptor: Any) -> bool:
    inner = (
        field.message_type
        for field in descriptor.fields
        if field.message_type and field.message_type.full_name.startswith("sidemirror.")
    )
    own = any(is_text(field) and field.name not in NOT_TEXTS for field in descriptor.fields)
    return own or any(map(_texts_in, inner))


def live(stubs: Stubs, person: int) -> None:
    """Sends one person's words through every RPC."""
    word, named = canary(person), [subject(person)]
    text = f"run_sql timed out on the orders table, said {word} loudly"
    session_id, turn_id = f"session-{person}", f"turn-{person}"
    thinking = stubs.thinking
    thinking.CreateSession(pb.CreateSessionRequest(session_id=session_id, subject_ids=named, config=MEDIUM))
    wish = pb.ContextWish(task="run_sql timed out on the orders table", max_items=10)
    given: dict[str, Any] = {"session_id": session_id, "config": MEDIUM, "context": wish}
    stubs.call(thinking, "StartTurn", text, turn_id=turn_id, critique_mode=common_pb2.CRITIQUE_MODE_ALWAYS, **given)
    told = [event for event in events(text) if event.WhichOneof("kind") not in ("turn_started", "turn_finished")]
    stubs.call(thinking, "ReportEvents", text, turn_id=turn_id, request_id=f"events {person}", events=told)
    stubs.call(thinking, "Reflect", text, turn_id=turn_id)
    stubs.call(thinking, "GetReflectionPrompt", text, turn_id=turn_id)
    stubs.call(thinking, "GetThinkingPrompt", text)
    end = pb.FinishTurnRequest(turn_id=turn_id, outcome=OUTCOME, request_id=f"finish {person}")
    thinking.FinishTurn(end, timeout=TIMEOUT_S)
    # The next turn of the session begins with what this one left.
    thinking.StartTurn(pb.StartTurnRequest(turn_id=f"later-{person}", session_id=session_id, task=text))
    # A turn that names the person in one of its events only, in a session that does not.
    _run_turn(stubs, f"run-{person}", text, named)
    critique = stubs.critique
    about: dict[str, Any] = {"subject_ids": named}
    stubs.call(critique, "ShouldCritique", text)
    stubs.call(critique, "Critique", text, turn_id="", session_id="", compare_to="", request_id=f"c {person}", **about)
    stubs.call(critique, "Revise", text, turn_id="", session_id="", request_id=f"r {person}", **about)
    stubs.call(critique, "Debate", text, turn_id="", session_id="", request_id=f"d {person}", **about)
    stubs.call(critique, "EvaluateTrace", text, events=told)
    _goal(stubs, person, text, named)
    _memory(stubs, person, text, named, turn_id)
    stubs.call(critique, "GetCritiqueStatistics", text)


def _run_turn(stubs: Stubs, turn_id: str, text: str, named: list[str]) -> None:
    sent = list(events(text))
    sent[0].turn_id = turn_id
    sent[0].turn_started.config.CopyFrom(MEDIUM)
    sent[0].turn_started.session_id = f"of {turn_id}"
    sent[0].turn_started.ClearField("context")
    sent[3].subject_ids.extend(named)
    ends = [event for event in sent if event.WhichOneof("kind") != "turn_finished"]
    requests = iter([pb.RunTurnRequest(events=[*ends, finished(outcome=OUTCOME)])])
    stubs.called.add("RunTurn")
    assert list(stubs.thinking.RunTurn(requests, timeout=TIMEOUT_S))


def _goal(stubs: Stubs, person: int, text: str, named: list[str]) -> None:
    # All people work on one goal: erasing one of them leaves it to the others.
    goal_id = "our-goal" if person else f"goal-{person}"
    given: dict[str, Any] = {"goal_id": goal_id, "state": goal_reflection_pb2.GOAL_STATE_FAILED, "subject_ids": named}
    report = stubs.call(stubs.goals, "ReportGoal", text, request_id=f"goal {person}", **given)
    asked = goal_reflection_pb2.ListGoalReportsRequest()
    until = time.monotonic() + TIMEOUT_S
    done = goal_reflection_pb2.GOAL_REPORT_STATE_DONE
    while True:
        reports = {one.report_id: one for one in stubs.goals.ListGoalReports(asked).reports}
        if reports[report.report_id].report_state == done:
            break
        assert time.monotonic() < until, reports[report.report_id]
        time.sleep(0.02)
    stubs.call(stubs.goals, "BuildGoalContext", text, goal_id=goal_id, request_id=f"block {person}", max_items=5)


def _memory(stubs: Stubs, person: int, text: str, named: list[str], turn_id: str) -> None:
    memory = stubs.memory
    rm = reflective_memory_pb2
    plain: dict[str, Any] = {"session_id": "", "related_memory_ids": [], "receipt_ids": [], "store": True}
    plain["error"] = rm.TaskError(error_message=text)
    given: dict[str, Any] = {"turn_id": turn_id, "events": [], "request_id": f"g {person}"}
    made = stubs.call(memory, "GenerateReflection", text, **given, **plain)
    assert made.reflection_id or made.not_stored_reason
    told = [rm.ReflectionEvent(content=text, event_type=rm.EVENT_TYPE_ERROR_EVENT, tool_name="run_sql")]
    given = {"turn_id": "", "events": told, "outcome": OUTCOME, "subject_ids": named, "request_id": f"e {person}"}
    stubs.call(memory, "GenerateReflection", f"{text} again", **given, **plain)
    result = rm.ReflectionResult(
        reflection_text=f"{text}: look at the index first", strategy_text=f"{text}: add an index", tags=[canary(person)]
    )
    result.applies_when.tools.append("run_sql")
    result.metadata.update({"task_description": text, "note": text})
    kept = stubs.call(memory, "StoreReflection", text, result=result, session_id="", subject_ids=named,
                      request_id=f"s {person}")  # fmt: skip
    changes = rm.MemoryChanges(content=f"{text}: look at the index of the table", tags=["sql"])
    changes.metadata.update({"note": text})
    given = {"reflection_id": kept.reflection_id, "subject_ids": named}
    memory.UpdateReflection(rm.UpdateReflectionRequest(changes=changes, reason=text, **given), timeout=TIMEOUT_S)
    stubs.called.add("UpdateReflection")
    stubs.call(memory, "ReviewReflection", text, reflection_id=kept.reflection_id, state=rm.MEMORY_STATE_ACTIVE)
    point = rm.GraphPoint(kind=rm.GRAPH_NODE_KIND_NAME, id=text)
    link = rm.MemoryLink(source=rm.GraphPoint(id=kept.reflection_id), target=point, kind=rm.LINK_KIND_MENTIONS)
    memory.LinkReflections(rm.LinkReflectionsRequest(links=[link]), timeout=TIMEOUT_S)
    stubs.called.add("LinkReflections")
    stubs.call(memory, "QueryReflections", text, explain_ids=[])
    memory.ExploreGraph(rm.ExploreGraphRequest(start=[point]))
    stubs.called.add("ExploreGraph")
    given = {"tool": "run_sql", "turn_id": "", "session_id": "", "subject_ids": named, "request_id": f"f {person}"}
    stubs.call(memory, "FindRecoveries", text, **given)
    stubs.call(memory, "ListRecoveries", text, page_token="")
    block = stubs.call(memory, "BuildMemoryContext", text, turn_id="", session_id="", max_items=20, max_tokens=5_000,
                       tools=[text, "run_sql"], request_id=f"b {person}").block  # fmt: skip
    stubs.call(memory, "ReportOutcome", text, receipt_id=block.receipt_id, outcome=OUTCOME)
    line = next(line for part in memory.ExportReflections(rm.ExportReflectionsRequest()) for line in part.lines)
    memory.ImportReflections(iter([rm.ImportReflectionsRequest(lines=[line])]), timeout=TIMEOUT_S)
    stubs.called |= {"ImportReflections"}


def shown(stubs: Stubs) -> Iterator[Message]:
    """Everything that the project shows."""
    rm = reflective_memory_pb2
    yield from stubs.thinking.ListSessions(pb.ListSessionsRequest(page_size=1_000)).sessions
    for turn in stubs.thinking.ListTurns(pb.ListTurnsRequest(page_size=1_000)).turns:
        yield from stubs.thinking.GetTurn(pb.GetTurnRequest(turn_id=turn.turn_id, page_size=1_000)).entries
    yield from stubs.critique.ListCritiques(critique_pb2.ListCritiquesRequest(page_size=1_000)).critiques
    yield from stubs.goals.ListGoalReports(goal_reflection_pb2.ListGoalReportsRequest(page_size=1_000)).reports
    yield from stubs.goals.ListRecentGoals(goal_reflection_pb2.ListRecentGoalsRequest()).goals
    memories = stubs.memory.ListReflections(rm.ListReflectionsRequest(page_size=1_000)).memories
    yield from memories
    for memory in memories:
        yield from stubs.memory.ListReflectionVersions(
            rm.ListReflectionVersionsRequest(reflection_id=memory.id)
        ).versions


def export(stubs: Stubs) -> list[str]:
    parts = stubs.memory.ExportReflections(reflective_memory_pb2.ExportReflectionsRequest(), timeout=TIMEOUT_S)
    return [line for part in parts for line in part.lines]
