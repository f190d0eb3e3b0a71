"""Recorded steps as typed data, for models that do not read prompts.

A room makes `Evidence` from its records, clips the texts, and sends it with the prompt. `Evidence` has no prose of
ours. Its texts are data, because a tool's result may contain an order.
"""

import msgspec

from sidemirror_server.vocabulary.ids import EventId


class EvidenceStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """One recorded step.

    `kind`: user_message, model_text, tool_call, tool_result, tool_failure, uncertainty, reflection, response, or
    goal_end. The name of a goal_end says how the goal ended (completed, failed), its text why the goal failed.
    `name`: the tool's; empty for the other kinds. `text`: a message, a call's arguments, its result or its error.
    `is_error`: a result that is one, and each tool_failure.
    `category`: of a failed step, the value of an error category, such as `not_found`.
    `answers`: the event id of the call that a result or failure belongs to.
    """

    event_id: EventId
    kind: str
    agent: str
    name: str
    text: str
    is_error: bool = False
    category: str | None = None
    call_id: str = ""
    polling: bool = False
    answers: EventId | None = None


class Evidence(msgspec.Struct, frozen=True, omit_defaults=True):
    """The steps of a turn, oldest first, and the turn's task.

    `question`: the user's last message. `steps`: may have a gap in the middle if the turn is long, but never within the
    last 100. `outcome`: success, failure, partial, timeout or error; empty until the turn has ended. `error` and
    `error_category`: why the task failed, as its caller says; empty and None if nobody says it.
    """

    task: str = ""
    question: str = ""
    steps: tuple[EvidenceStep, ...] = ()
    turn_count: int = 0
    outcome: str = ""
    error: str = ""
    error_category: str | None = None
