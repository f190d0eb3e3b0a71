"""Records of every kind, made and read over gRPC."""

from collections.abc import Iterator
from typing import Any

import grpc
from google.protobuf.message import Message

from sidemirror.v1 import critique_pb2 as critique_pb
from sidemirror.v1 import goal_reflection_pb2 as goal_pb
from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import sidecar_pb2, sidecar_pb2_grpc
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.critique_pb2_grpc import CritiqueServiceStub
from sidemirror.v1.goal_reflection_pb2_grpc import GoalReflectionServiceStub
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from tests.memory import told
from tests.wire.calls import MEDIUM, called, failed, returned

WAIT_S = 60.0
# Events of a call: a store keeps all of them or none.
EVENTS = 4
# Where an exploration of the graph may start at most.
_MOST_POINTS = 20


class Caller:
    """Writes and reads the records of one tenant."""

    def __init__(self, channel: grpc.Channel, tenant_id: str) -> None:
        self._scope: Any = {"tenant_id": tenant_id}
        self.thinking = ThinkingServiceStub(channel)
        self.critique = CritiqueServiceStub(channel)
        self.goals = GoalReflectionServiceStub(channel)
        self.memory = ReflectiveMemoryServiceStub(channel)
        self.sidecar = sidecar_pb2_grpc.SidecarServiceStub(channel)

    # --- writes: each returns what is acknowledged

    def turn(self, name: str) -> str:
        """A whole turn with a failing call, a reflection and its end, in a session of its own."""
        start = pb.StartTurnRequest(turn_id=name, session_id=f"of {name}", config=MEDIUM, task=name, **self._scope)
        self.thinking.StartTurn(start, timeout=WAIT_S)
        events = [called("look", name), failed(f"no such table: {name}"), called("look again"), returned(name)]
        report = pb.ReportEventsRequest(turn_id=name, events=events, **self._scope)
        self.thinking.ReportEvents(report, timeout=WAIT_S)
        self.thinking.Reflect(pb.ReflectRequest(turn_id=name, **self._scope), timeout=WAIT_S)
        self.thinking.FinishTurn(pb.FinishTurnRequest(turn_id=name, **self._scope), timeout=WAIT_S)
        return name

    def memory_of(self, name: str) -> str:
        """A memory; returns its id."""
        result = memory_pb.ReflectionResult(reflection_text=f"It was {name}.", strategy_text=f"Wait for {name}.")
        stored = self.memory.StoreReflection(
            memory_pb.StoreReflectionRequest(result=result, **self._scope), timeout=WAIT_S
        )
        return str(stored.reflection_id)

    def goal(self, name: str) -> str:
        """A finished goal."""
        request = goal_pb.ReportGoalRequest(
            goal_id=name, objective=f"Reach {name}", state=goal_pb.GOAL_STATE_FAILED, error=name, **self._scope
        )
        self.goals.ReportGoal(request, timeout=WAIT_S)
        return name

    def judged(self, name: str) -> str:
        """A critique that is kept; returns its id."""
        request = critique_pb.CritiqueRequest(
            user_message=f"How high is {name}?",
            response=f"{name} is high.",
            session_id=name,
            **self._scope,
        )
        answer = self.critique.Critique(request, timeout=WAIT_S)
        return str(answer.critique.critique_id)

    def everything(self, name: str) -> None:
        """Records of every kind, and what hangs together with them."""
        self.turn(name)
        self.goal(name)
        self.judged(name)
        told.tell(self.memory, name, **self._scope)
        one, other = self.memory_of(f"{name} one"), self.memory_of(f"{name} other")
        link = memory_pb.MemoryLink(
            source=memory_pb.GraphPoint(id=one), target=memory_pb.GraphPoint(id=other), kind="LINK_KIND_SUPERSEDES"
        )
        self.memory.LinkReflections(memory_pb.LinkReflectionsRequest(links=[link], **self._scope), timeout=WAIT_S)
        list(self.memory.Dream(memory_pb.DreamRequest(**self._scope), timeout=WAIT_S))

    # --- reads

    def pages(self, call: Any, request: type[Message], field: str, **more: Any) -> Iterator[Any]:
        """All records of a list."""
        token = ""
        while True:
            page = call(request(page_size=200, page_token=token, **more, **self._scope), timeout=WAIT_S)
            yield from getattr(page, field)
            token = page.next_page_token
            if not token:
                return

    def turn_record(self, name: str) -> list[Message]:
        """A turn with its entries."""
        request = pb.GetTurnRequest(turn_id=name, page_size=1000, **self._scope)
        page = self.thinking.GetTurn(request, timeout=WAIT_S)
        return [page.turn, *page.entries]

    def turns(self) -> list[str]:
        return [turn.turn_id for turn in self.pages(self.thinking.ListTurns, pb.ListTurnsRequest, "turns")]

    def memories(self) -> list[memory_pb.Memory]:
        return list(self.pages(self.memory.ListReflections, memory_pb.ListReflectionsRequest, "memories"))

    def critiques(self) -> list[str]:
        found = self.pages(self.critique.ListCritiques, critique_pb.ListCritiquesRequest, "critiques")
        return [kept.critique.critique_id for kept in found]

    def reports(self) -> list[goal_pb.GoalReport]:
        return list(self.pages(self.goals.ListGoalReports, goal_pb.ListGoalReportsRequest, "reports"))

    def read(self) -> dict[str, list[str]]:
        """What every reading call answers, by its name."""
        scope = self._scope
        memories, turns = self.memories(), self.turns()
        exported = self.memory.ExportReflections(memory_pb.ExportReflectionsRequest(**scope), timeout=WAIT_S)
        versions = [
            self.memory.ListReflectionVersions(
                memory_pb.ListReflectionVersionsRequest(reflection_id=one.id, **scope), timeout=WAIT_S
            )
            for one in memories
        ]
        points = [memory_pb.GraphPoint(id=one.id) for one in memories]
        graphs = [
            self.memory.ExploreGraph(
                memory_pb.ExploreGraphRequest(start=points[first : first + _MOST_POINTS], **scope), timeout=WAIT_S
            )
            for first in range(0, len(points), _MOST_POINTS)
        ]
        recent = self.goals.ListRecentGoals(goal_pb.ListRecentGoalsRequest(**scope), timeout=WAIT_S)
        watched = self.thinking.WatchTurns(pb.WatchTurnsRequest(follow=False, **scope), timeout=WAIT_S)
        lessons = self.memory.GetLessonStatistics(memory_pb.GetLessonStatisticsRequest(**scope), timeout=WAIT_S)
        query = memory_pb.QueryReflectionsRequest(query_text="Wait for alpha and beta", k=50, **scope)
        info = self.sidecar.GetServerInfo(sidecar_pb2.GetServerInfoRequest(**scope), timeout=WAIT_S)
        found: dict[str, Any] = {
            "sessions": self.pages(self.thinking.ListSessions, pb.ListSessionsRequest, "sessions"),
            "turns": [part for name in turns for part in self.turn_record(name)],
            "watched": [answer.entry for answer in watched],
            "critiques": self.pages(self.critique.ListCritiques, critique_pb.ListCritiquesRequest, "critiques"),
            "reports": self.reports(),
            "goals": recent.goals,
            "memories": memories,
            "versions": versions,
            "graph": [part for graph in graphs for part in (*graph.nodes, *graph.links)],
            "exported": [line for part in exported for line in part.lines],
            "lessons": lessons.lessons,
            # Without their scores, which depend on their age.
            "found": [hit.memory.id for hit in self.memory.QueryReflections(query, timeout=WAIT_S).hits],
            "dreams": self.pages(self.memory.ListDreams, memory_pb.ListDreamsRequest, "dreams"),
            "prunings": self.pages(self.memory.ListPrunings, memory_pb.ListPruningsRequest, "prunings"),
            "spend": info.spend,
        }
        return {name: [str(one) for one in records] for name, records in found.items()}

    def settled(self) -> bool:
        """Whether every goal report has come to its end."""
        ended = (goal_pb.GOAL_REPORT_STATE_DONE, goal_pb.GOAL_REPORT_STATE_DEAD)
        return all(report.report_state in ended for report in self.reports())
