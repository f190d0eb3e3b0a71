"""A session's state before its next turn."""

import msgspec

from sidemirror_server.thinking.config import ThinkingConfig
from sidemirror_server.thinking.record import Carry
from sidemirror_server.vocabulary.ids import TurnId


class SessionPast(msgspec.Struct, frozen=True):
    """The state that a turn inherits from its session. The defaults are for an unknown session. `began_with` and
    `rests_on`: what `carried` came from (`trace/log.py:Batch`); empty if nothing is carried."""

    config: ThinkingConfig = ThinkingConfig()
    turn_count: int = 0
    carried: Carry = Carry()
    began_with: tuple[tuple[TurnId, int], ...] = ()
    rests_on: tuple[tuple[str, int], ...] = ()
