"""GoalReflectionService: the table of its RPCs."""

from functools import partial

from sidemirror_server.goals.context import GoalContexts
from sidemirror_server.goals.publish import TOPIC, GoalRecords
from sidemirror_server.goals.store import GoalReflections
from sidemirror_server.rpc.boundary.services import GOALS, ServerStream, ServiceTable, Unary
from sidemirror_server.rpc.boundary.streams import Streams
from sidemirror_server.rpc.boundary.watches import Watches
from sidemirror_server.rpc.goals.build_goal_context import build_goal_context
from sidemirror_server.rpc.goals.delete_goal_reflections import delete_goal_reflections
from sidemirror_server.rpc.goals.get_goal_reflections import get_goal_reflections
from sidemirror_server.rpc.goals.list_goal_reports import list_goal_reports
from sidemirror_server.rpc.goals.list_recent_goals import list_recent_goals
from sidemirror_server.rpc.goals.report_goal import report_goal
from sidemirror_server.rpc.goals.retry_goal_report import retry_goal_report
from sidemirror_server.rpc.goals.watch_goal_reflections import watch_goal_reflections
from sidemirror_server.trace.live import Bell
from sidemirror_server.trace.log import Journal
from sidemirror_server.work.queue import Jobs


def goals_service(
    work: Jobs,
    reflections: GoalReflections,
    records: GoalRecords,
    contexts: GoalContexts,
    journal: Journal,
    bell: Bell,
    streams: Streams,
) -> ServiceTable:
    """The table of GoalReflectionService."""
    watches = Watches(journal, TOPIC, bell, streams)
    return ServiceTable(
        GOALS,
        ReportGoal=Unary(partial(report_goal, work)),
        ListGoalReports=Unary(partial(list_goal_reports, work)),
        RetryGoalReport=Unary(partial(retry_goal_report, work)),
        GetGoalReflections=Unary(partial(get_goal_reflections, reflections)),
        ListRecentGoals=Unary(partial(list_recent_goals, reflections)),
        DeleteGoalReflections=Unary(partial(delete_goal_reflections, records)),
        BuildGoalContext=Unary(partial(build_goal_context, contexts)),
        WatchGoalReflections=ServerStream(partial(watch_goal_reflections, watches, journal), keeps_times=True),
    )
