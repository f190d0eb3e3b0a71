"""The lesson of a finished goal: one to three sentences that name its tasks and their errors.

The wordings are written for this project. Recorded texts are quoted on one line and whole.
"""

from sidemirror_server.models.adapters.rules.advice import advice, telling, tells_more
from sidemirror_server.models.adapters.rules.wording import quoted, tool_name, what_it_says
from sidemirror_server.models.answers import GoalAnswer
from sidemirror_server.models.evidence import Evidence, EvidenceStep


def goal_answer(evidence: Evidence) -> GoalAnswer:
    """The insight that `evidence` supports: the first failure and what to do about it, or the last task that led
    to success."""
    tasks = [step for step in evidence.steps if step.kind != "goal_end"]
    end = next((step for step in evidence.steps if step.kind == "goal_end"), None)
    failed = [step for step in tasks if step.is_error]
    worked = [step for step in tasks if not step.is_error]
    if end is not None and end.name == "failed":
        return GoalAnswer(_of_failed(failed[0] if failed else end, len(failed), len(tasks)))
    return GoalAnswer(_of_completed(worked, failed))


def _of_failed(cause: EvidenceStep, failed: int, tasks: int) -> str:
    what = _task(cause)
    said = what_it_says(cause.text) or "no reason was reported"
    if cause.kind == "goal_end":
        # No call failed that an advice could name: only one that is of use for any is given.
        said_of = telling(cause.text)
        helps = advice(cause.category, "the tool", said_of) if tells_more(cause.category, said_of) else ""
        return f"The goal failed: {said}. {helps}".rstrip()
    among = f", the first of {failed} failures in {tasks} tasks" if failed > 1 else ""
    return f"The goal failed at {what}{among}: {said}. {advice(cause.category, what, telling(cause.text))}".rstrip()


def _of_completed(worked: list[EvidenceStep], failed: list[EvidenceStep]) -> str:
    if not worked and not failed:
        return "The goal was completed; no tasks were reported, so there is nothing to repeat or to avoid."
    last = worked[-1] if worked else None
    brought = f": {quoted(last.text)}" if last is not None and quoted(last.text) else ""
    parts = [f"The goal was completed, last by {_task(last)}{brought}." if last else "The goal was completed."]
    if failed:
        cause = failed[0]
        said = f": {what_it_says(cause.text)}" if what_it_says(cause.text) else ""
        parts.append(f"On the way {_task(cause)} failed{said}.")
        parts.append(advice(cause.category, _task(cause), telling(cause.text)))
    return " ".join(filter(None, parts))


def _task(step: EvidenceStep) -> str:
    return tool_name(step) if step.name.strip() else "a task without a name"
