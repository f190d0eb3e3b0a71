"""The report of a goal that has come to its end: what an agent says of it, kept as a job until a reflection is made."""

import msgspec

from sidemirror_server.goals.record import GoalReflection, GoalState
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.text import clip
from sidemirror_server.work.queue import Job, JobState

# The kind of the jobs. Stored; never changes.
KIND = "goal_report"
# Chosen here: with the worker's waits (at most 5 minutes each) a provider may be away for an hour, and the crashes of a
# bad day do not use it up.
MAX_ATTEMPTS = 20
# Chosen here: a sentence or two; what an entry and a line of a block have room for.
OBJECTIVE_CHARS = 1_000


class GoalTask(msgspec.Struct, frozen=True, omit_defaults=True):
    """One task of the goal. `error` is empty when it did not fail."""

    name: str = ""
    output_summary: str = ""
    error: str = ""


class GoalReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was reported. The payload of its job: field names are part of the stored format, and there is no time in it,
    so that a request that comes again makes the same job."""

    goal_id: str
    objective: str
    state: GoalState
    tasks: tuple[GoalTask, ...] = ()
    error: str = ""

    @property
    def has_task_error(self) -> bool:
        """A task carries an error."""
        return any(task.error for task in self.tasks)

    @property
    def origin(self) -> Origin:
        """An error's text is a tool's; without any, all of it is the agent's own account."""
        return Origin.TOOL if self.error or self.has_task_error else Origin.AGENT

    @property
    def short_objective(self) -> str:
        """The objective as a reflection has it."""
        return clip(self.objective, OBJECTIVE_CHARS)


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(GoalReport).decode
_decode_reflection = msgspec.json.Decoder(GoalReflection).decode


def report_body(report: GoalReport) -> bytes:
    """The JSON that keeps a report."""
    return _encode(report)


def report_in(body: bytes) -> GoalReport:
    """What such JSON keeps."""
    return _decode(body)


def reflection_body(reflection: GoalReflection) -> bytes:
    """The JSON that a job's notes, its result and the log keep a reflection in."""
    return _encode(reflection)


def reflection_in(body: bytes) -> GoalReflection:
    """What such JSON keeps."""
    return _decode_reflection(body)


def reflection_of(job: Job) -> GoalReflection | None:
    """What a report has come to, once it is done."""
    return reflection_in(job.result) if job.state is JobState.DONE and job.result else None
