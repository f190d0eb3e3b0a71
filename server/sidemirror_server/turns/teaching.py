"""What an ended turn has to teach, and the job that learns it (decision 053). Pure.

`ending.py` puts the job into the append of the turn's summary, and `learning.py` handles it.
"""

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from sidemirror_server.memory.kin.signature import error_signature
from sidemirror_server.models.evidence import EvidenceStep
from sidemirror_server.thinking.turn_state import TurnState
from sidemirror_server.trace.log import Sequel
from sidemirror_server.vocabulary.correction import corrects
from sidemirror_server.vocabulary.ids import JobId, derived_id
from sidemirror_server.vocabulary.scope import Scope

# The kind of the jobs. Stored; never changes.
KIND = "learn_turn"


class Cause(StrEnum):
    """Why a turn is learned from. The values are stored in jobs."""

    FAILURE = "failure"
    NUDGE = "nudge"
    REVISION = "revision"
    CORRECTION = "correction"


class EndedTurn(msgspec.Struct, frozen=True):
    """The payload of a job: the turn, and why it is learned from. It holds no text of the turn."""

    turn_id: str
    causes: tuple[Cause, ...]


body_of = msgspec.json.Encoder().encode
ended_turn_in = msgspec.json.Decoder(EndedTurn).decode


def causes_of(state: TurnState) -> tuple[Cause, ...]:
    """What the turn has to teach: a failed call (repaired or not), a detector's finding, a response that was revised
    after a critique, a user who corrects what the agent did. Empty if nothing."""
    found = []
    if state.marked_error_count:
        found.append(Cause.FAILURE)
    if state.nudge_count:
        found.append(Cause.NUDGE)
    if state.revised:
        found.append(Cause.REVISION)
    if _is_corrected(state):
        found.append(Cause.CORRECTION)
    return tuple(found)


def _is_corrected(state: TurnState) -> bool:
    """Whether the turn's last question corrects an earlier turn, or what was said before it in this one."""
    said_before = any(step.kind in ("model_text", "response") for step in _steps(state))
    return (state.turn_count > 1 or said_before) and corrects(state.question)


def job_of(scope: Scope, turn_id: str, causes: Sequence[str], signature: str = "") -> Sequel:
    """The job that learns from a turn. Turns with the same `signature` of a failure are one job, so that a model is
    asked about it once; without one, each turn is its own."""
    named = f"signature {signature}" if signature else f"turn {turn_id}"
    ended = EndedTurn(turn_id, tuple(map(Cause, causes)))
    return Sequel(JobId(derived_id(scope, KIND, named)), KIND, body_of(ended))


def _signature(state: TurnState) -> str:
    failed = next((step for step in reversed(_steps(state)) if step.kind == "tool_failure"), None)
    return error_signature(failed.name, failed.text) if failed else ""


def _steps(state: TurnState) -> tuple[EvidenceStep, ...]:
    return (*state.first_steps, *state.last_steps)


class Taught(msgspec.Struct, frozen=True):
    """What becomes of an ended turn. `sequel`: its job, or None. `left`: the causes of a turn for which the hour has no
    room; dreaming learns from it later. `is_first_left`: no turn of the scope was left before in this hour."""

    sequel: Sequel | None = None
    left: tuple[str, ...] = ()
    is_first_left: bool = False


class Teacher:
    """Decides which ended turns are learned from at once."""

    def __init__(self, turns_per_hour: int, *, by_signature: bool) -> None:
        """`turns_per_hour`: of each scope, by this process; 0 is no limit. `by_signature`: see `job_of`."""
        self.limit = turns_per_hour
        self._by_signature = by_signature
        self._hour = 0
        self._counts: dict[Scope, int] = {}

    def taught(self, scope: Scope, state: TurnState, now_us: int) -> Taught:
        """What becomes of a turn that ends now."""
        causes = causes_of(state) if state.learns else ()
        if not causes:
            return Taught()
        count = self._counted(scope, now_us)
        if self.limit and count > self.limit:
            return Taught(left=causes, is_first_left=count == self.limit + 1)
        return Taught(job_of(scope, state.turn_id, causes, _signature(state) if self._by_signature else ""))

    def _counted(self, scope: Scope, now_us: int) -> int:
        """Which turn of the scope this is, among those of the hour that have something to teach: from 1."""
        hour = now_us // 3_600_000_000
        if hour != self._hour:
            self._hour, self._counts = hour, {}
        self._counts[scope] = self._counts.get(scope, 0) + 1
        return self._counts[scope]
