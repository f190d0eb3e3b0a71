"""What is told when a call fails, or why nothing is. Pure.

`finding.py` asks at a failing call, `review.py` for people, so that a screen says what the next such call is told.
"""

from collections.abc import Collection, Sequence

import msgspec

from sidemirror_server.memory.kin.signature import tool_of
from sidemirror_server.memory.recoveries.changed import can_be_made
from sidemirror_server.memory.recoveries.moves import (
    Closest,
    Recovery,
    Tally,
    closest_of,
    recoveries_of,
    refutes,
    reported_in,
    unchanged_never_worked,
)
from sidemirror_server.memory.recoveries.observation import Move, MoveKind, Observation, recovery_id, silencing_ids
from sidemirror_server.memory.recoveries.sentences import said
from sidemirror_server.memory.recoveries.starter import (
    Starter,
    dialect_of,
    is_statement,
    recovery_for,
    starter_for,
    starter_moves,
)
from sidemirror_server.policy.record import Advice, AdviceKind
from sidemirror_server.vocabulary.arbiter import Telling
from sidemirror_server.vocabulary.silence import Silence, SilenceReason

# Only calls with JSON arguments have an argument to change, or another tool to go on with.
OF_JSON = frozenset((MoveKind.CHANGED, MoveKind.WENT_ON))


class FailedAttempt(msgspec.Struct, frozen=True):
    """A call that failed. `is_json`: its arguments are JSON. `looked_up`: the labels of the look-ups that the turn has
    done (`trail.py`). `turn_id`, `session_id`: empty outside a turn. `label`, `values`: of the failed call
    (`asked.py`); `values` is None where any call that fails so is meant. `dialect`: whose SQL it was
    (`starter.py:dialect_of`). `has_shell`: the agent's host can run commands, and is not told names that spans sent."""

    signature: str
    is_json: bool
    looked_up: tuple[str, ...] = ()
    turn_id: str = ""
    session_id: str = ""
    label: str = ""
    dialect: str = ""
    has_shell: bool = False
    values: tuple[tuple[str, str], ...] | None = None


class Counted(msgspec.Struct, frozen=True):
    """What the rows of a signature come to. `recoveries`: what may be told, the best supported first. `closest`: what
    comes closest where there is none. `repeats`: how often the same call worked when it was sent again, if it hardly
    ever did. `refuted`: look-ups of the starter pack that the rows speak against."""

    recoveries: tuple[Recovery, ...] = ()
    closest: Closest | None = None
    repeats: Tally | None = None
    refuted: frozenset[Move] = frozenset()

    @property
    def recovery(self) -> Recovery | None:
        """The best supported one; None if there is none."""
        return self.recoveries[0] if self.recoveries else None


class AdviceDecision(msgspec.Struct, frozen=True):
    """What a failing call is told: `text`, of `recovery`, unless a draw holds it back. `silence`: why it is not told;
    with SHADOW the text is what would be. `starter`: the row of the starter pack that it is, or None."""

    recovery: Recovery | None = None
    text: str = ""
    silence: Silence | None = None
    starter: Starter | None = None


def names_nothing(move: Move) -> bool:
    """Whether a sentence about the move names commands of the reviewed list, or nothing; else its names are of whoever
    called them."""
    return move.kind is MoveKind.SENT_AGAIN or (move.kind is MoveKind.LOOKED_UP and not move.are_tools)


def count(signature: str, rows: Collection[Observation]) -> Counted:
    """What the observations of a signature come to. `rows`: those of one scope."""
    reported = reported_in(rows)
    recoveries = recoveries_of(signature, rows, reported)
    closest = None if recoveries else closest_of(signature, reported)
    # What was advised may have been followed by a longer look-up, which is a move of its own.
    tried, advised = {row.move for row in rows}, {row.advised for row in rows}
    met = (move for move in starter_moves() if move in tried or recovery_id(signature, move) in advised)
    refuted = frozenset(move for move in met if refutes(signature, move, reported))
    return Counted(recoveries, closest, unchanged_never_worked(reported), refuted)


def decided(known: Counted, failed: FailedAttempt, advice: Advice, telling: Telling) -> AdviceDecision:
    """What is told of a failing call, before the draw. `known`: by `count`; `advice`: what the scope is not given."""
    if not advice.gives(AdviceKind.RECOVERIES):
        return AdviceDecision(silence=Silence(SilenceReason.OFF_BY_POLICY))
    found = _learned(known.recoveries, failed) if known.recoveries else _starter(known, failed, telling)
    recovery = found.recovery
    if recovery is None or found.silence is not None:
        return found if recovery is not None else AdviceDecision(silence=_why_none(known))
    silence = _silenced(recovery, failed, advice)
    if silence is not None:
        return msgspec.structs.replace(found, text="", silence=of_recovery(recovery, silence))
    return (
        msgspec.structs.replace(found, silence=of_recovery(recovery, SilenceReason.SHADOW))
        if telling.is_shadow
        else found
    )


def last_failure(signature: str, rows: Sequence[Observation]) -> FailedAttempt:
    """A call that fails as the last one did, in a turn that has looked nothing up, of an agent without a shell. `rows`:
    the observations of the signature, oldest first, at least one."""
    last = rows[-1]
    tool = tool_of(signature)
    is_json = last.is_json
    if is_json is None:  # Older rows do not say it; a call with JSON arguments is labelled by its tool.
        is_json = last.label == tool or (last.move.kind in OF_JSON and last.move.are_tools)
    return FailedAttempt(signature, is_json, label=last.label, dialect=last.dialect or dialect_of(tool, ""))


def of_recovery(recovery: Recovery, reason: SilenceReason) -> Silence:
    """That a recovery, which passes the gates or is a starter, is not told."""
    return Silence(reason, recovery.recovery_id, recovery.told.tries, recovery.told.worked)


def _silenced(recovery: Recovery, failed: FailedAttempt, advice: Advice) -> SilenceReason | None:
    """Why a recovery may not be told there."""
    if not advice.shows(*silencing_ids(failed.signature, recovery.move)):
        return SilenceReason.SILENCED
    is_safe = not recovery.from_spans or names_nothing(recovery.move)
    return SilenceReason.SHELL if failed.has_shell and not is_safe else None


def is_for(move: Move, failed: FailedAttempt) -> bool:
    """Whether a move is for a call of this kind, and can be made. Of a statement those arguments have names that stand
    beside it."""
    is_beside = move.kind is MoveKind.CHANGED and is_statement(failed.label)
    is_of_kind = failed.is_json or move.kind not in OF_JSON or is_beside
    return is_of_kind and (failed.values is None or can_be_made(move, failed.values))


def _learned(recoveries: Sequence[Recovery], failed: FailedAttempt) -> AdviceDecision:
    """What was learned of a failure: the best supported recovery for which there is something to say."""
    decisions = [_said(recovery, failed) for recovery in recoveries]
    return next((one for one in decisions if one.silence is None), decisions[0])


def _said(recovery: Recovery, failed: FailedAttempt) -> AdviceDecision:
    """A recovery with its sentence."""
    sentence = said(recovery, failed.looked_up) if is_for(recovery.move, failed) else None
    if sentence is None or not sentence.text:
        return AdviceDecision(recovery, silence=of_recovery(recovery, SilenceReason.NOTHING_TO_ADD))
    return AdviceDecision(recovery, sentence.text)


def _starter(known: Counted, failed: FailedAttempt, telling: Telling) -> AdviceDecision:
    """What the starter pack has for a failure of which nothing was learned."""
    starter = starter_for(failed.signature, failed.label, failed.dialect)
    if not telling.has_starters or starter is None or failed.is_json or starter.move in known.refuted:
        return AdviceDecision()
    recovery = recovery_for(failed.signature, starter)
    if starter.look_up in failed.looked_up:
        return AdviceDecision(recovery, silence=of_recovery(recovery, SilenceReason.NOTHING_TO_ADD), starter=starter)
    return AdviceDecision(recovery, starter.sentence, starter=starter)


def _why_none(known: Counted) -> Silence:
    """Why there is no recovery."""
    closest = known.closest
    if closest is None:
        return Silence(SilenceReason.NOTHING_KNOWN)
    reason = SilenceReason.SUSPENDED if closest.is_suspended else SilenceReason.GATE
    return Silence(reason, closest.recovery_id, closest.every.tries, closest.every.worked, closest.missed)
