"""The tasks of a goal that its turn's calls make."""

from sidemirror_server.goals.report import GoalTask
from sidemirror_server.memory.lessons.episode import EpisodeStep, EventType
from sidemirror_server.turns.goal_tasks import tasks_of
from sidemirror_server.vocabulary.origin import Origin


def answered(tool: str, content: str) -> EpisodeStep:
    return EpisodeStep("", EventType.TOOL_RESPONSE, content, Origin.TOOL, tool)


def failed(tool: str, content: str) -> EpisodeStep:
    return EpisodeStep("", EventType.ERROR_EVENT, content, Origin.TOOL, tool)


CALLED = EpisodeStep("", EventType.TOOL_CALL, "{}", Origin.TOOL, "sql")
NAMELESS = EpisodeStep("", EventType.TOOL_RESPONSE, "?", Origin.TOOL)
STEPS = (CALLED, failed("sql", "no column a"), failed("sql", "no column b"), answered("sql", "41"), NAMELESS)


def test_of_each_tool_the_last_result_counts() -> None:
    steps = (*STEPS, answered("mail", "sent"), answered("sql", "42"))
    assert tasks_of(steps, with_repaired=False) == (GoalTask("mail", "sent"), GoalTask("sql", "42"))


def test_an_error_that_was_made_good_is_told_of_a_goal_that_was_reached() -> None:
    assert tasks_of(STEPS, with_repaired=True) == (GoalTask("sql", error="no column b"), GoalTask("sql", "41"))


def test_an_error_that_nothing_made_good_stays() -> None:
    for with_repaired in (False, True):
        steps = (*STEPS, failed("sql", ""))
        assert tasks_of(steps, with_repaired=with_repaired) == (GoalTask("sql", error="failed"),)


def test_the_last_hundred_tools_are_told() -> None:
    tasks = tasks_of((answered(f"tool-{number}", "") for number in range(150)), with_repaired=False)
    assert [task.name for task in tasks] == [f"tool-{number}" for number in range(50, 150)]
