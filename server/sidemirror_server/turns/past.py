"""What a session has come to before its next turn."""

import msgspec

from sidemirror_server.thinking.config import ThinkingConfig
from sidemirror_server.thinking.record import Carry
from sidemirror_server.turns.live import LiveTurn


class Hot(msgspec.Struct):
    """A session with a turn in memory: what its next turn needs without asking the store.

    Not `is_known`: the newest turn started while the store was away, so that what the session had before is not here.
    """

    config: ThinkingConfig
    turn_count: int
    newest: LiveTurn
    is_known: bool


class Past(msgspec.Struct, frozen=True):
    """What a session has come to before a turn; by default that of one that nothing is known of."""

    config: ThinkingConfig = ThinkingConfig()
    turn_count: int = 0
    carried: Carry = Carry()
