"""The rule and the turn budget together reproduce each recorded decision of seed thinking-manager."""

from collections import Counter
from typing import Any

from sidemirror_server.thinking.config import PeriodicScope, ThinkingConfig
from sidemirror_server.thinking.levels import level_named
from sidemirror_server.thinking.schedule import Reason, ScheduleFacts, decide
from sidemirror_server.vocabulary.budget import Spent, TurnBudget, claim
from sidemirror_server.vocabulary.status import ResultStatus
from tests.recorded import ToolsReturned, TurnBegan, episodes, expected_decisions, walk


def decisions_for(row: dict[str, Any]) -> list[dict[str, Any]]:
    """What our rule decides in one recorded episode, in the oracle's words."""
    config = ThinkingConfig(
        level=level_named(row["config"]["level"]),
        reflect_every=row["config"]["reflect_every"],
        reflect_on_tool_error=row["config"]["reflect_on_tool_error"],
        reflect_on_uncertainty=False,
        periodic_scope=PeriodicScope.STEP,
    )
    budget = TurnBudget(max_reflections=row["config"]["budget_per_turn"])
    made: list[dict[str, Any]] = []
    turn_count = tool_errors = reflections = 0
    periodic_done = False
    for moment in walk(row["file"], episodes(row["file"])[row["episode_id"]]):
        if isinstance(moment, TurnBegan):
            turn_count, reflections, periodic_done = moment.turn, 0, False
            continue
        assert isinstance(moment, ToolsReturned)
        tool_errors += sum(output.failed for output in moment.outputs)
        if moment.before_event is None:
            continue
        decision = decide(config, ScheduleFacts(turn_count, tool_errors, periodic_done))
        reflect, reason = decision.should_reflect, decision.reason.value
        if reflect and claim(budget, Spent(reflections=reflections), 0.0).status is not ResultStatus.OK:
            reflect, reason = False, "budget_exhausted"
        if reflect:
            reflections, tool_errors = reflections + 1, 0
            periodic_done = periodic_done or Reason.PERIODIC in decision.matches
        made.append({"before_event": moment.before_event, "turn": turn_count, "reflect": reflect, "reason": reason})
    return made


def test_every_recorded_decision_is_reproduced() -> None:
    reasons: Counter[str] = Counter()
    rows = 0
    for row in expected_decisions():
        rows += 1
        assert decisions_for(row) == row["decisions"], row["episode_id"]
        reasons.update(decision["reason"] for decision in row["decisions"])
    assert rows == 3274
    assert reasons == {
        Reason.NONE.value: 9200,
        Reason.TOOL_ERROR.value: 4475,
        Reason.PERIODIC.value: 1276,
        "budget_exhausted": 3810,
    }
    assert reasons.total() == 18761
