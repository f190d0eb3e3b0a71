"""Why a turn was told nothing, at its start or at a failing call, as it is kept with the turn."""

from enum import StrEnum

import msgspec


class SilenceReason(StrEnum):
    """The contract describes each. The values are stored and never change."""

    NOTHING_KNOWN = "nothing_known"
    GATE = "gate"
    SUSPENDED = "suspended"
    NOTHING_TO_ADD = "nothing_to_add"
    NOTHING_FITS = "nothing_fits"
    HELD_BACK = "held_back"
    SHADOW = "shadow"
    OFF_BY_POLICY = "off_by_policy"
    SILENCED = "silenced"
    SHELL = "shell"
    OFF_BY_SETTING = "off_by_setting"
    NO_ROOM = "no_room"
    TOLD_ALREADY = "told_already"
    STORE_AWAY = "store_away"
    NOT_ASKED = "not_asked"


class Gate(StrEnum):
    """What a recovery has to pass before it is told (`memory/recoveries/moves.py`). The values are stored and never
    change."""

    # Tries without advice that count.
    TRIES = "tries"
    # The lower end of the rate, over the last tries without advice, and with those after advice.
    RATE = "rate"
    ADVISED_RATE = "advised_rate"
    # The rate of another move that was tried, which has to be lower.
    OTHER_MOVE = "other_move"
    # Sessions in which a look-up brought a value that was used, or in which the move worked.
    SESSIONS = "sessions"
    # Tries of a changed argument that worked.
    CHANGES = "changes"
    # The rate of a call that is sent again.
    SENT_AGAIN_RATE = "sent_again_rate"
    # Tries that worked, where another tool is told only if none did; runs; and runs that went on with the tool.
    NONE_WORKED = "none_worked"
    RUNS = "runs"
    GONE_ON = "gone_on"
    # Conversations in which telemetry shows the move.
    CONVERSATIONS = "conversations"
    # No number of tries is enough for such a move.
    KIND = "kind"


class MissedGate(msgspec.Struct, frozen=True, omit_defaults=True):
    """The first gate that a move did not pass. `gate`: a value of `Gate`, or one of a later version. `needed`: the
    least that passes, but for NONE_WORKED, where it is the most, and OTHER_MOVE, which has to be exceeded. `found`:
    what there was. Both are 0 for KIND."""

    gate: str
    needed: float = 0.0
    found: float = 0.0


class Silence(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why nothing was told at a failing call. `reason`: a value of `SilenceReason`, or one of a later version.
    `recovery_id`: of what came closest or was held back, or empty; `tries`, `worked`: its tries without advice.
    `missed`: the gate that it did not pass, for GATE and SUSPENDED; older records have none."""

    reason: str
    recovery_id: str = ""
    tries: int = 0
    worked: int = 0
    missed: MissedGate | None = None
