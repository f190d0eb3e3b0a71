"""A session's state before its next turn."""

import msgspec

from sidemirror_server.thinking.config import ThinkingConfig
from sidemirror_server.thinking.record import Carry


class SessionPast(msgspec.Struct, frozen=True):
    """The state that a turn inherits from its session. The defaults are for an unknown session. `is_new`: no turn and
    no call has made the session yet."""

    config: ThinkingConfig = ThinkingConfig()
    turn_count: int = 0
    carried: Carry = Carry()
    is_new: bool = False
