"""A report as typed evidence, from which the built-in rules draw an insight without a model."""

from sidemirror_server.goals.record import GoalState
from sidemirror_server.goals.report import GoalReport
from sidemirror_server.models.evidence import Evidence, EvidenceStep
from sidemirror_server.trace.failure import category_of
from sidemirror_server.vocabulary.ids import EventId
from sidemirror_server.vocabulary.text import clip

# In code points. Chosen here: a rule can use no more.
_TEXT_CHARS = 4_000


def evidence_of(report: GoalReport) -> Evidence:
    """The goal as steps: one for each task, with its result or its error, and last a `goal_end` with the name of the
    goal's state."""
    steps = []
    for number, task in enumerate(report.tasks, start=1):
        step = EvidenceStep(
            event_id=EventId(f"task-{number}"),
            kind="tool_failure" if task.error else "tool_result",
            agent="",
            name=task.name,
            text=clip(task.error or task.output_summary, _TEXT_CHARS),
            is_error=bool(task.error),
            category=category_of(task.error, task.name).value if task.error else None,
        )
        steps.append(step)
    failed = report.state is GoalState.FAILED
    end = EvidenceStep(
        event_id=EventId("goal"),
        kind="goal_end",
        agent="",
        name=report.state.value,
        text=clip(report.error, _TEXT_CHARS),
        is_error=failed,
        category=category_of(report.error).value if report.error else None,
    )
    return Evidence(task=clip(report.objective, _TEXT_CHARS), steps=(*steps, end))
