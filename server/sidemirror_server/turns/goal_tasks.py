"""What a turn says of the goal that it worked towards: what its tools returned, as the goal's tasks.

An agent reports its calls once, as events, and need not repeat them with its goal. Called by the job of a report.
"""

from collections.abc import Iterable

import msgspec

from sidemirror_server.goals.record import GoalState
from sidemirror_server.goals.report import GoalReport, GoalTask
from sidemirror_server.memory.lessons.episode import EpisodeStep, EventType, steps_of
from sidemirror_server.trace.event import Event
from sidemirror_server.trace.log import TurnLog
from sidemirror_server.turns.recorded import recorded_of
from sidemirror_server.vocabulary.ids import TurnId
from sidemirror_server.vocabulary.scope import Scope

# As many as a report has at most (ReportGoalRequest.tasks); the last ones.
_MOST_TASKS = 100


class GoalTasks:
    """Fills in the tasks of a report from the turn that it names."""

    def __init__(self, log: TurnLog) -> None:
        self._log = log

    async def fill(self, scope: Scope, report: GoalReport) -> GoalReport:
        """The report with its turn's calls as tasks; as it is if it has tasks or names no turn that is known. Raises
        what the store raises."""
        if report.tasks or not report.turn_id:
            return report
        head = await self._log.head(scope, TurnId(report.turn_id))
        if head is None:
            return report
        recorded = await recorded_of(self._log, scope, head)
        steps = steps_of(one for one in recorded if isinstance(one, Event))
        tasks = tasks_of(steps, with_repaired=report.state is GoalState.COMPLETED)
        return msgspec.structs.replace(report, tasks=tasks)


def tasks_of(steps: Iterable[EpisodeStep], *, with_repaired: bool) -> tuple[GoalTask, ...]:
    """Of each tool its last result, in the order of the results. `with_repaired`: its last error too, where a result
    came after it; otherwise the first error among the tasks is one that nothing made good."""
    last: dict[tuple[str, bool], GoalTask] = {}
    for step in steps:
        if step.event_type not in (EventType.TOOL_RESPONSE, EventType.ERROR_EVENT) or not step.tool_name:
            continue
        tool, failed = step.tool_name, step.event_type is EventType.ERROR_EVENT
        if failed or not with_repaired:
            last.pop((tool, not failed), None)
        last.pop((tool, failed), None)
        last[tool, failed] = GoalTask(tool, error=step.content or "failed") if failed else GoalTask(tool, step.content)
    return tuple(last.values())[-_MOST_TASKS:]
