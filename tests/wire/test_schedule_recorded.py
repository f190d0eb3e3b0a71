"""The decisions of the seed thinking-manager in 200 recorded episodes, by agents that ask a real sidecar at every
decision point."""

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from tests.recorded import ToolsReturned, TurnBegan, episodes, expected_decisions, walk
from tests.wire.scripted import ScriptedModel
from tests.wire.sidecar import PATIENCE_S, sidecar, thinking

pytestmark = pytest.mark.slow("200 recorded episodes are played in full")

EPISODES = 200
CONFIG = pb.ThinkingConfig(
    level=pb.THINK_LEVEL_MEDIUM,
    reflect_every=3,
    reflect_on_tool_error=True,
    reflect_on_uncertainty=False,
    periodic_scope=pb.PERIODIC_SCOPE_STEP,
)
# The oracle's words.
REASONS = {
    pb.REFLECTION_REASON_TOOL_ERROR: "tool_error",
    pb.REFLECTION_REASON_PERIODIC: "periodic",
    pb.REFLECTION_REASON_NONE: "none",
}
# An event's text may take 256 KiB; the decisions do not depend on it.
MOST_CHARS = 2_000


class Open(NamedTuple):
    """The turn that is open."""

    turn_id: str
    number: int


class RecordedAgent:
    """Replays one episode, and asks whenever an agent of the seed thinking-manager would have asked."""

    def __init__(self, stub: ThinkingServiceStub, row: dict[str, Any]) -> None:
        self._stub = stub
        self._row = row
        self._open: Open | None = None
        # What happens before the first user message is turn 0, for which 0 % 3 == 0 holds: begin with a turn that is
        # the third of its session, so that every number is three higher and periodic at the same places.
        self._shift = 0

    def decisions(self) -> list[dict[str, Any]]:
        made: list[dict[str, Any]] = []
        for moment in walk(self._row["file"], episodes(self._row["file"])[self._row["episode_id"]]):
            if isinstance(moment, TurnBegan):
                self._begin(moment.turn, moment.user_message)
                continue
            if self._open is None:
                self._shift = 3
                for number in (-2, -1, 0):
                    self._begin(number, "")
            self._report(moment)
            if moment.before_event is not None:
                reflect, reason = self._decide()
                number = self._open.number if self._open else -1
                decision = {"before_event": moment.before_event, "turn": number, "reflect": reflect, "reason": reason}
                made.append(decision)
        self._end()
        return made

    def _begin(self, number: int, text: str) -> None:
        self._end()
        request = pb.StartTurnRequest(
            tenant_id="recorded",
            session_id=self._row["episode_id"][:128],
            user_message=text[:MOST_CHARS],
            config=CONFIG,
            budget=pb.TurnBudget(max_reflections=self._row["config"]["budget_per_turn"]),
        )
        plan = self._stub.StartTurn(request, timeout=PATIENCE_S).plan
        assert plan.turn_count == number + self._shift
        assert list(plan.warnings) == []
        self._open = Open(plan.turn_id, number)

    def _end(self) -> None:
        if self._open is not None:
            self._stub.FinishTurn(pb.FinishTurnRequest(tenant_id="recorded", turn_id=self._open.turn_id))
        self._open = None

    def _report(self, moment: ToolsReturned) -> None:
        """As parallel calls: all are called before any returns. A call that was not recorded is made up."""
        assert self._open is not None
        outputs = list(enumerate(moment.outputs))
        events = [
            pb.TurnEvent(
                tool_called=pb.ToolCalled(
                    call_id=str(place), name=output.name or "unnamed", arguments=(output.arguments or "")[:MOST_CHARS]
                )
            )
            for place, output in outputs
        ]
        events += [
            pb.TurnEvent(
                tool_returned=pb.ToolReturned(
                    call_id=str(place), content=output.content[:MOST_CHARS], is_error=output.failed
                )
            )
            for place, output in outputs
        ]
        request = pb.ReportEventsRequest(tenant_id="recorded", turn_id=self._open.turn_id, events=events)
        self._stub.ReportEvents(request, timeout=PATIENCE_S)

    def _decide(self) -> tuple[bool, str]:
        assert self._open is not None
        asked = pb.ShouldReflectRequest(tenant_id="recorded", turn_id=self._open.turn_id)
        decided = self._stub.ShouldReflect(asked, timeout=PATIENCE_S)
        if not decided.should_reflect:
            return False, REASONS[decided.reason]
        request = pb.ReflectRequest(tenant_id="recorded", turn_id=self._open.turn_id)
        answer = self._stub.Reflect(request, timeout=PATIENCE_S)
        if answer.result.status == common_pb2.RESULT_STATUS_SKIPPED_BUDGET:
            return False, "budget_exhausted"
        assert answer.result.status == common_pb2.RESULT_STATUS_OK
        return True, REASONS[decided.reason]


def sample() -> list[dict[str, Any]]:
    """20 episodes that begin before the first user message, and 180 spread evenly over the others with a decision."""
    rows = [row for row in expected_decisions() if row["decisions"]]
    early = [row for row in rows if any(decision["turn"] == 0 for decision in row["decisions"])]
    rest = [row for row in rows if row not in early]
    step = len(rest) // (EPISODES - 20)
    return early[:20] + rest[::step][: EPISODES - 20]


def test_recorded_decisions_are_reproduced_through_grpc(tmp_path: Path) -> None:
    """With a model that always has something to say: what says nothing costs no slot of the budget."""
    rows = sample()
    reasons: Counter[str] = Counter()
    with sidecar(tmp_path, model=ScriptedModel()) as server, thinking(server) as stub:
        for row in rows:
            assert RecordedAgent(stub, row).decisions() == row["decisions"], row["episode_id"]
            reasons.update(decision["reason"] for decision in row["decisions"])
    assert len(rows) == EPISODES
    assert reasons == {"none": 555, "tool_error": 243, "periodic": 144, "budget_exhausted": 328}
