"""An agent's report of a finished goal, kept as a job until its reflection is made."""

from collections.abc import Callable

import msgspec

from sidemirror_server.goals.record import GoalReflection, GoalState
from sidemirror_server.vocabulary.ids import derived_id
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.text import clip
from sidemirror_server.work.queue import Job, JobState

# The kind of the jobs. Stored; never changes.
KIND = "goal_report"
# Chosen here: with the worker's backoff (at most 5 minutes) the attempts last through a provider's outage of an hour,
# and through several crashes.
MAX_ATTEMPTS = 20
# In code points. Chosen here: one or two sentences, which fit into an entry and into a line of a block.
OBJECTIVE_CHARS = 1_000


class GoalTask(msgspec.Struct, frozen=True, omit_defaults=True):
    """One task of the goal. `error` is empty if the task did not fail."""

    name: str = ""
    output_summary: str = ""
    error: str = ""


class GoalReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """A report of a finished goal, stored as the payload of its job: field names are part of the stored format. It has
    no time field, so that a repeated request makes the same job. `turn_id`: whose tool calls are the tasks of a report
    that has none. `subject_ids`: whom it is about, for the memory that is made of it."""

    goal_id: str
    objective: str
    state: GoalState
    tasks: tuple[GoalTask, ...] = ()
    error: str = ""
    turn_id: str = ""
    subject_ids: tuple[str, ...] = ()

    @property
    def has_task_error(self) -> bool:
        """Whether a task has an error."""
        return any(task.error for task in self.tasks)

    @property
    def origin(self) -> Origin:
        """TOOL if there is an error, because tools write errors; otherwise AGENT, the author of the report."""
        return Origin.TOOL if self.error or self.has_task_error else Origin.AGENT

    @property
    def short_objective(self) -> str:
        """The objective, shortened for a reflection."""
        return clip(self.objective, OBJECTIVE_CHARS)


# Encodes a report as JSON, and decodes it.
report_body: Callable[[GoalReport], bytes] = msgspec.json.Encoder().encode
report_in: Callable[[bytes], GoalReport] = msgspec.json.Decoder(GoalReport).decode
# Encodes a reflection as JSON, for a job's notes, its result and the journal, and decodes it.
reflection_body: Callable[[GoalReflection], bytes] = msgspec.json.Encoder().encode
reflection_in: Callable[[bytes], GoalReflection] = msgspec.json.Decoder(GoalReflection).decode


def reflection_id_of(scope: Scope, report_id: str) -> str:
    """The id of a report's reflection. Stored; never changes."""
    return derived_id(scope, "goal reflection", report_id)


def reflection_of(job: Job) -> GoalReflection | None:
    """The reflection that a report's job made; None until the job is done."""
    return reflection_in(job.result) if job.state is JobState.DONE and job.result else None
