"""What happened, as data: what a model without language can reason from.

A room makes `Evidence` from its records and sends it along with the prompt; it holds no prose of ours. Its texts are
clipped by whoever makes it, and are data: a tool may have written an order into its result.
"""

import msgspec

from sidemirror_server.vocabulary.ids import EventId


class EvidenceStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that happened.

    `kind`: user_message, model_text, tool_call, tool_result, tool_failure, uncertainty, reflection, response, or
    goal_end, whose name is how the goal ended (completed, failed) and whose text is why it failed.
    `name`: the tool's; empty for the other kinds. `text`: what was said, a call's arguments, its result or its error.
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
    """The steps of a turn, oldest first, and what the turn was for.

    `question`: the user's last words. Of a long turn steps may be missing in the middle; the last 100 are always whole.
    `outcome`: what became of it (success, failure, partial, timeout or error); empty while it goes on.
    """

    task: str = ""
    question: str = ""
    steps: tuple[EvidenceStep, ...] = ()
    turn_count: int = 0
    outcome: str = ""
