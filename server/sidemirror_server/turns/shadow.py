"""What a turn in shadow mode would be told is kept, and not sent (decision 066). Pure.

Directives stay in the turn's log, marked, so that people read there what would have been said and what happened then. A
reflection that the agent itself asks for is answered, without lessons.
"""

import msgspec

from sidemirror_server.thinking.record import Advised, Critiqued, Directive, Nudge, Reflection
from sidemirror_server.thinking.schedule import Reason


def kept(directive: Directive) -> Directive:
    """The directive, marked if the agent is not told it."""
    match directive.what:
        case Reflection() as reflection if Reason.REQUESTED in directive.reasons:
            return msgspec.structs.replace(directive, what=msgspec.structs.replace(reflection, lessons=None))
        case Nudge() | Advised() | Critiqued() | Reflection():
            return msgspec.structs.replace(directive, is_shadow=True)
        case _:
            return directive
