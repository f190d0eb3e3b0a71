"""What a session has come to before its next turn."""

import msgspec

from sidemirror_server.thinking.config import ThinkingConfig
from sidemirror_server.thinking.record import Carry


class SessionPast(msgspec.Struct, frozen=True):
    """What a session has come to before a turn; by default that of one that nothing is known of."""

    config: ThinkingConfig = ThinkingConfig()
    turn_count: int = 0
    carried: Carry = Carry()
