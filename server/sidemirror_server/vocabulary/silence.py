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


class Silence(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why nothing was told at a failing call. `reason`: a value of `SilenceReason`, or one of a later version.
    `recovery_id`: of what came closest or was held back, or empty; `tries`, `worked`: its tries without advice."""

    reason: str
    recovery_id: str = ""
    tries: int = 0
    worked: int = 0
