"""Every move after a failure with its counts, and why it is told or not: for people. Pure.

The gates are those of `moves.py`; called by `rpc/memory/list_recoveries.py`.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import msgspec

from sidemirror_server.memory.kin.signature import tool_of
from sidemirror_server.memory.recoveries.moves import (
    FEWEST_TRIES,
    LEAST_RATE,
    MOST_A_DAY,
    WINDOW,
    Recovery,
    Tally,
    counted,
    is_other,
    recovery_of,
    refutes,
    suspended_until,
    tally_of,
)
from sidemirror_server.memory.recoveries.observation import (
    NO_ATTEMPT,
    Move,
    MoveKind,
    Observation,
    follows,
    recovery_id,
)
from sidemirror_server.memory.recoveries.sentences import said, unsaid
from sidemirror_server.memory.recoveries.shells import ids_in_shells
from sidemirror_server.memory.recoveries.starter import Starter, dialect_of, starter_for, starter_of
from sidemirror_server.policy.record import Advice, AdviceKind

ALL_ADVICE = Advice()


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
    `low`: the lower end of Wilson's interval over the last WINDOW tries without advice. `sentence`: what is told, empty
    if nothing is. `reason`: why it is told or not. `shadow`: what became of it in shadow mode.
    `is_starter`: it is told as one of the starter pack."""

    recovery_id: str
    move: Move
    unadvised: Tally
    advised: Tally
    low: float
    is_suspended: bool
    sentence: str
    reason: str
    shadow: ShadowTally = ShadowTally()
    is_starter: bool = False


def reviewed(
    signature: str, rows: Collection[Observation], advice: Advice = ALL_ADVICE, *, has_starters: bool = False
) -> tuple[MoveReview, ...]:
    """The moves of a signature, that which is told first, then those with the most tries. `rows`: its observations in
    one scope. What agents reported and what spans tell are two reviews of a move, since each passes the gates alone.
    `advice`: what the scope is not given; `has_starters`: the starter pack is told too."""
    reported_rows = [row for row in rows if row.where.conversation is None]
    reported = counted(reported_rows)
    heard = counted(row for row in rows if row.where.conversation is not None or row.advised)
    told = recovery_of(signature, rows)
    starter = _starter(signature, rows) if has_starters else None
    is_refuted = starter is not None and refutes(signature, starter.move, reported_rows)
    offered = None if told is not None or is_refuted else starter
    moves = dict.fromkeys(row.move for row in reported)
    from_spans = dict.fromkeys(row.move for row in heard if row.where.conversation is not None)
    seen = Counter(row.move for row in reported_rows if not row.advised)
    seen_in_spans = Counter(row.move for row in rows if row.where.conversation is not None and not row.advised)
    if starter is not None and starter.move not in from_spans:
        moves[starter.move] = None
    by_agents, by_spans = (None, told) if told is not None and told.from_spans else (told, None)
    # Each failure is listed, whoever met it: how often is said, and nothing is taught by it.
    found = [
        _given(signature, _review(signature, move, reported, by_agents, rows, offered, seen), advice) for move in moves
    ]
    for move in from_spans:
        own = None if move in moves else offered
        review = _given(signature, _review(signature, move, heard, by_spans, rows, own, seen_in_spans), advice)
        who = "telemetry tells of it too" if move in moves else "only telemetry tells of it"
        why = "what agents reported goes first" if by_agents is not None else review.reason
        found.append(msgspec.structs.replace(review, reason=f"{who}: {why}"))
    return tuple(sorted(found, key=lambda one: (not one.sentence, -one.unadvised.tries, one.recovery_id)))


def _starter(signature: str, rows: Collection[Observation]) -> Starter | None:
    """The row of the starter pack that was told at one of these failures, else the one that fits them. What a
    statement's error said is not kept, so of a dialect the tool's name alone is known here."""
    told = (starter_of(signature, row.advised) for row in rows if row.advised)
    fitting = (starter_for(signature, row.label, dialect_of(tool_of(signature), "")) for row in rows)
    return next((one for one in (*told, *fitting) if one is not None), None)


def _given(signature: str, review: MoveReview, advice: Advice) -> MoveReview:
    """The review of a move that would be told, but for a policy."""
    is_shown = advice.shows(review.recovery_id, *ids_in_shells(signature, review.move))
    if not review.sentence or (advice.gives(AdviceKind.RECOVERIES) and is_shown):
        return review
    is_silenced = advice.gives(AdviceKind.RECOVERIES)
    why = "a policy silences this recovery" if is_silenced else "a policy turns recoveries off"
    return msgspec.structs.replace(review, sentence="", reason=why)


def _review(
    signature: str,
    move: Move,
    counts: Sequence[Observation],
    told: Recovery | None,
    rows: Collection[Observation],
    offered: Starter | None,
    seen: Mapping[Move, int],
) -> MoveReview:
    """`counts`: the rows that count; `seen`: how many tries without advice there are of each move, counted or not."""
    own_id = recovery_id(signature, move)
    unadvised = [row for row in counts if row.move == move and not row.advised]
    followed = [row for row in counts if row.advised == own_id and row.followed]
    since_us = suspended_until(followed)
    low = tally_of(unadvised[-WINDOW:]).low
    is_told = told is not None and told.move == move
    spoken = said(told) if told is not None and is_told else None
    later = [row for row in unadvised if row.at_us > since_us]
    is_suspended = since_us >= 0 and not is_told and len(later) < FEWEST_TRIES
    is_starter = offered is not None and offered.move == move
    sentence = "" if spoken is None else spoken.text
    if is_starter and offered is not None:
        sentence, reason = offered.sentence, "of the starter pack: nothing else was learned of this failure yet"
    elif spoken is not None and told is not None:
        reason = f"it passes the gates: {_passed_by(told)}"
    elif is_told:
        reason = f"it passes the gates, but {unsaid(move) or 'there is nothing to say'}"
    elif is_suspended:
        reason = "suspended: it failed twice in succession after it was told"
    else:
        uncounted = seen.get(move, 0) - len(unadvised)
        reason = _why_not(move, later, counts, told, uncounted)
    return MoveReview(
        *(own_id, move, tally_of(unadvised), tally_of(followed), low, is_suspended),
        sentence=sentence,
        reason=reason,
        shadow=_shadow(own_id, move, rows),
        is_starter=is_starter,
    )


def _passed_by(recovery: Recovery) -> str:
    """What the gates have looked at."""
    if recovery.move.kind is MoveKind.WENT_ON:
        runs = recovery.told
        return f"in {runs.tries} runs nothing worked again, and {runs.worked} of them went on with this tool"
    low, least = f"{100 * recovery.low:.0f} %", f"{100 * LEAST_RATE:.0f} %"
    return (
        f"by its last {WINDOW} tries it works in at least {low} (the lower end of the 95 % interval), where {least} "
        "are needed, and more often than any other move"
    )


def _shadow(own_id: str, move: Move, rows: Collection[Observation]) -> ShadowTally:
    kept = [row for row in rows if row.shadow == own_id]
    followed = [row for row in kept if follows(move, row.move)]
    otherwise = [row for row in kept if not follows(move, row.move)]
    return ShadowTally(tally_of(followed), tally_of(otherwise), sum(row.shadow_tokens for row in kept))


def _why_not(
    move: Move, own: Sequence[Observation], counts: Sequence[Observation], told: Recovery | None, uncounted: int
) -> str:
    """Why a move is not told. `own`: its tries without advice since it was last suspended. `uncounted`: how many tries
    the limit of an identity leaves out."""
    if move.kind in (MoveKind.OTHER, MoveKind.STOPPED):
        return "such moves are counted and never told"
    if len(own) < FEWEST_TRIES:
        more = f" and {uncounted} that do not count: of one session or token {MOST_A_DAY} a day do" if uncounted else ""
        return f"{len(own)} tries without advice{more}; {FEWEST_TRIES} are needed"
    if move.kind is MoveKind.WENT_ON:
        return "told only where nothing ever worked again, and most runs went on with one tool"
    window = tally_of(own[-WINDOW:])
    if window.low < LEAST_RATE:
        return f"it worked in {window.worked} of the last {window.tries} tries: too seldom, or too few to be sure"
    rival = next((other for other in _rivals(move, counts) if other.rate >= window.low), None)
    if rival is not None:
        return f"another move worked as well: in {rival.worked} of {rival.tries} tries"
    if told is not None:
        return "another move is told, which passes by more"
    if move.kind is MoveKind.LOOKED_UP:
        return "in fewer than two sessions the look-up brought a value that was used"
    return "its kind of move asks for more than these tries"


def _rivals(move: Move, counts: Sequence[Observation]) -> list[Tally]:
    """The last tries without advice of the moves that stand against this one."""
    others = {row.move for row in counts if row.move.kind not in NO_ATTEMPT and is_other(move, row.move)}
    tries = [[row for row in counts if row.move == other and not row.advised] for other in others]
    return [tally_of(rows[-WINDOW:]) for rows in tries if len(rows) >= FEWEST_TRIES]
