"""Every move after a failure with its counts, and why it is told or not: for people. Pure.

What is told is what `deciding.py` says of a call that fails as the last one did; called by
`rpc/memory/list_recoveries.py`.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from sidemirror_server.memory.recoveries.deciding import (
    AdviceDecision,
    Counted,
    FailedAttempt,
    count,
    decided,
    is_for,
    last_failure,
    names_nothing,
)
from sidemirror_server.memory.recoveries.gates import gate_told
from sidemirror_server.memory.recoveries.moves import (
    FEWEST_CONVERSATIONS,
    FEWEST_TRIES,
    LEAST_RATE,
    MOST_A_DAY,
    MOST_AN_HOUR,
    WINDOW,
    Recovery,
    Tally,
    Tries,
    heard_in,
    missed_by,
    reported_in,
    since_it_works,
    suspended_until,
    tally_of,
    tries_of,
)
from sidemirror_server.memory.recoveries.observation import (
    Move,
    MoveKind,
    Observation,
    follows,
    recovery_id,
    silencing_ids,
)
from sidemirror_server.memory.recoveries.sentences import unsaid
from sidemirror_server.memory.recoveries.starter import Starter, starter_of
from sidemirror_server.policy.record import Advice, AdviceKind
from sidemirror_server.vocabulary.arbiter import Telling
from sidemirror_server.vocabulary.silence import Gate, MissedGate, SilenceReason

ALL_ADVICE = Advice()
WITHOUT_STARTERS = Telling(has_starters=False)
_NOT_TO_SHELLS = "; hooks and MCP do not tell it, since they name no tool that only telemetry tells of"
SUSPENDED = "suspended: it failed twice in succession after it was told"
_A_DAY = f"since of one session or token {MOST_A_DAY} a day do"


class ShadowTally(msgspec.Struct, frozen=True):
    """Failures at which a move would have been told in shadow mode. `followed`: those at which the agent made it by
    itself; `otherwise`: the others. `tokens`: of all that would have been told."""

    followed: Tally = Tally()
    otherwise: Tally = Tally()
    tokens: int = 0

    @property
    def said(self) -> int:
        """How many failures there are."""
        return self.followed.tries + self.otherwise.tries


class MoveReview(msgspec.Struct, frozen=True):
    """One move of a signature. `unadvised`: its tries without advice that count; `advised`: those after it was told.
    `low`: the lower end of Wilson's interval over the last WINDOW tries without advice. `sentence`: what is told, or
    would be without shadow mode; empty if nothing is. `silence`: why a call that fails as the last one did is not told
    it; None if it is, unless a draw holds it back. `missed`: the gate that it does not pass. `reason`: both in words.
    `shadow`: what became of it in shadow mode. `is_starter`: it is told as one of the starter pack."""

    recovery_id: str
    move: Move
    unadvised: Tally
    advised: Tally
    low: float
    is_suspended: bool
    sentence: str
    reason: str
    silence: SilenceReason | None = None
    missed: MissedGate | None = None
    shadow: ShadowTally = ShadowTally()
    is_starter: bool = False


def reviewed(
    signature: str, rows: Sequence[Observation], advice: Advice = ALL_ADVICE, telling: Telling = WITHOUT_STARTERS
) -> tuple[MoveReview, ...]:
    """The moves of a signature, that which is told first, then those with the most tries. `rows`: its observations in
    one scope, oldest first, at least one. What agents reported and what spans tell are two reviews of a move, since
    each passes the gates alone. `advice`: what the scope is not given."""
    reported_rows = [row for row in rows if row.where.conversation is None]
    reported = reported_in(rows)
    heard = tries_of(heard_in(rows))
    known = count(signature, rows)
    failed = last_failure(signature, rows)
    # Policies have their own words, below.
    decision = decided(known, failed, ALL_ADVICE, telling)
    told = known.recovery
    moves = dict.fromkeys(row.move for row in reported.counts)
    from_spans = dict.fromkeys(row.move for row in heard.counts if row.where.conversation is not None)
    seen = Counter(row.move for row in reported_rows if not row.advised)
    seen_in_spans = Counter(row.move for row in rows if row.where.conversation is not None and not row.advised)
    if telling.has_starters:
        moves.update({one.move: None for one in _starters(signature, rows, decision) if one.move not in from_spans})
    by_spans = told is not None and told.from_spans
    # Each failure is listed, whoever met it: how often is said, and nothing is taught by it.
    of_agents = _Source(signature, rows, reported, seen, known, failed, None if by_spans else decision)
    of_starters = decision if decision.starter is not None else None
    found = [_given(signature, _review(move, of_agents), advice) for move in moves]
    for move in from_spans:
        own = decision if by_spans else None if move in moves else of_starters
        of_spans = _Source(signature, rows, heard, seen_in_spans, known, failed, own, from_spans=True)
        review = _given(signature, _review(move, of_spans), advice)
        who = "telemetry tells of it too" if move in moves else "only telemetry tells of it"
        is_reported = told is not None and not told.from_spans
        why = "what agents reported goes first" if is_reported else review.reason
        if review.sentence and not names_nothing(move):
            why += _NOT_TO_SHELLS
        found.append(msgspec.structs.replace(review, reason=f"{who}: {why}"))
    return tuple(sorted(found, key=lambda one: (not one.sentence, -one.unadvised.tries, one.recovery_id)))


class _Source(msgspec.Struct, frozen=True):
    """What the moves of one source are reviewed by. `seen`: how many tries without advice there are of each move,
    counted or not. `failed`: the call that would fail. `decision`: what it is told, if that is of this source."""

    signature: str
    rows: Sequence[Observation]
    tries: Tries
    seen: Mapping[Move, int]
    known: Counted
    failed: FailedAttempt
    decision: AdviceDecision | None
    from_spans: bool = False


def _starters(signature: str, rows: Sequence[Observation], decision: AdviceDecision) -> Iterator[Starter]:
    """The row of the starter pack that is told, and those that were told at these failures."""
    told = (starter_of(signature, advised) for advised in {row.advised for row in rows if row.advised})
    return (one for one in (decision.starter, *told) if one is not None)


def _given(signature: str, review: MoveReview, advice: Advice) -> MoveReview:
    """The review of a move that would be told, but for a policy."""
    is_shown = advice.shows(*silencing_ids(signature, review.move))
    is_on = advice.gives(AdviceKind.RECOVERIES)
    if not review.sentence or (is_on and is_shown):
        return review
    why = "a policy silences this recovery" if is_on else "a policy turns recoveries off"
    silence = SilenceReason.SILENCED if is_on else SilenceReason.OFF_BY_POLICY
    return msgspec.structs.replace(review, sentence="", reason=why, silence=silence)


def _review(move: Move, of: _Source) -> MoveReview:
    counts, decision = of.tries.counts, of.decision
    own_id = recovery_id(of.signature, move)
    unadvised = [row for row in counts if row.move == move and not row.advised]
    followed = [row for row in counts if row.advised == own_id and row.followed]
    since_us = suspended_until(followed)
    decided_on = None if decision is None or decision.recovery is None else decision.recovery
    is_decided = decision is not None and decided_on is not None and decided_on.move == move
    later = [row for row in unadvised if row.at_us > since_us]
    is_suspended = since_us >= 0 and not is_decided and len(later) < FEWEST_TRIES
    missed = None if is_decided else missed_by(of.signature, move, of.tries)
    if missed is None and not is_decided and of.from_spans:
        missed = _of_spans(move, of)
    if is_decided and decision is not None and decided_on is not None:
        silence = None if decision.silence is None else SilenceReason(decision.silence.reason)
        reason = _decided(decision, decided_on, of)
    else:
        silence = SilenceReason.SUSPENDED if is_suspended else SilenceReason.GATE
        uncounted = of.seen.get(move, 0) - len(unadvised)
        reason = _suspended(of, own_id) if is_suspended else _why_not(move, missed, uncounted, of)
    return MoveReview(
        *(
            own_id,
            move,
            tally_of(unadvised),
            tally_of(followed),
            tally_of(since_it_works(unadvised)[-WINDOW:]).low,
            is_suspended,
        ),
        sentence=decision.text if is_decided and decision is not None else "",
        reason=reason,
        silence=silence,
        missed=missed,
        shadow=_shadow(own_id, move, of.rows),
        is_starter=is_decided and decision is not None and decision.starter is not None,
    )


def _decided(decision: AdviceDecision, recovery: Recovery, of: _Source) -> str:
    """Why the move that passes is told or not."""
    if decision.starter is not None:
        is_tried = any(other != recovery.move for other in of.tries.by_move)
        learned = "of what was tried at this failure nothing passes the gates yet"
        why = f"of the starter pack: {learned if is_tried else 'nothing else was learned of this failure yet'}"
    else:
        why = f"it passes the gates: {_passed_by(recovery, of)}"
    if decision.silence is None:
        return why
    if decision.silence.reason == SilenceReason.SHADOW:
        return f"not told, because the sidecar is in shadow mode; else it would be: {why}"
    if not is_for(recovery.move, of.failed):
        return "it passes the gates, and is for calls with JSON arguments: the last call that failed had none"
    return f"it passes the gates, but {unsaid(recovery.move) or 'there is nothing to say'}"


def _passed_by(recovery: Recovery, of: _Source) -> str:
    """What the gates have looked at, and what passes them too."""
    if recovery.move.kind is MoveKind.WENT_ON:
        runs = recovery.told
        return f"in {runs.tries} runs nothing worked again, and {runs.worked} of them went on with this tool"
    low, least = f"{100 * recovery.low:.0f} %", f"{100 * LEAST_RATE:.0f} %"
    own = of.tries.by_move.get(recovery.move, [])
    left_out = len(own) - len(since_it_works(own))
    began = f"; {left_out} failures from before it began to work do not count" if left_out else ""
    others = len(of.known.recoveries) - 1
    are = "1 other is" if others == 1 else f"{others} others are"
    beside = "more often than any other move" if not others else f"{are} not clearly worse or better"
    return (
        f"by its last {WINDOW} tries it works in at least {low} (the lower end of the 95 % interval), where {least} "
        f"are needed, and {beside}{began}"
    )


def _shadow(own_id: str, move: Move, rows: Collection[Observation]) -> ShadowTally:
    kept = [row for row in rows if row.shadow == own_id]
    followed = [row for row in kept if follows(move, row.move)]
    otherwise = [row for row in kept if not follows(move, row.move)]
    return ShadowTally(tally_of(followed), tally_of(otherwise), sum(row.shadow_tokens for row in kept))


def _suspended(of: _Source, own_id: str) -> str:
    """Why a move is suspended, and what of its tries after advice does not count: between two failures there may be
    some that worked."""
    kept = {row.observation_id for row in of.tries.counts}
    told = (row for row in of.rows if row.advised == own_id and row.followed)
    uncounted = sum(row.observation_id not in kept for row in told)
    if not uncounted:
        return SUSPENDED
    more = f"{uncounted} {'try' if uncounted == 1 else 'tries'} after it that worked"
    return f"{SUSPENDED}, by the tries that count; {more} {'does' if uncounted == 1 else 'do'} not, {_A_DAY}"


def _why_not(move: Move, missed: MissedGate | None, uncounted: int, of: _Source) -> str:
    """Why a move is not told. `uncounted`: how many of its tries the limit of an identity leaves out."""
    if missed is None:
        why = unsaid(move) or "another move is told, which has more support"
        return f"it passes the gates, but {why}"
    if missed.gate == Gate.TRIES and uncounted:
        anybody = f", and without a token {MOST_AN_HOUR} an hour of all" if of.from_spans else ""
        return f"{gate_told(missed)}; {uncounted} more do not count, {_A_DAY}{anybody}"
    return gate_told(missed)


def _of_spans(move: Move, of: _Source) -> MissedGate | None:
    """What a move that only telemetry shows has to pass beside the gates of all moves."""
    shown = len({row.where.conversation for row in of.rows if row.where.conversation and row.move == move})
    return MissedGate(Gate.CONVERSATIONS, FEWEST_CONVERSATIONS, shown) if shown < FEWEST_CONVERSATIONS else None
