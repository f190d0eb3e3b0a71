"""What was tried after failures of one signature, how often it worked, and which of it may be told. Pure.

Counts are folds of observation rows and are kept nowhere: a row that is erased is counted no more. Rows of one identity
count at most `MOST_A_DAY` times a day for a move, so that nobody teaches a move alone in a day. Spans without a token
have no identity but their own words: all of them together count at most `MOST_AN_HOUR` times an hour.

A move is told when it has enough tries (`FEWEST_TRIES`), when the lower end of Wilson's interval over the last `WINDOW`
tries without advice is at least `LEAST_RATE`, and when it lies above the rate of every other move that was tried, but
for other repairs that pass by themselves: of these the best supported is told (decision 113). There is no falling back
on the category or the tool: that predicts better and advises worse. Each kind of move asks for more
(`_missed_of_kind`). Tries after advice can only lower a move; two failures in succession after advice suspend it, until
tries without advice that came later pass again (decision 046).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from math import comb

import msgspec

from sidemirror_server.memory.kin.signature import PASSES_BY_ITSELF, category_in
from sidemirror_server.memory.recoveries.asked import only_waits
from sidemirror_server.memory.recoveries.observation import (
    NO_ATTEMPT,
    Move,
    MoveKind,
    Observation,
    ValueKind,
    follows,
    recovery_id,
)
from sidemirror_server.memory.trials.evidence import is_held_back, wilson
from sidemirror_server.vocabulary.silence import Gate, MissedGate

# Design, section 17.
WINDOW = 20
LEAST_RATE = 0.3
LEAST_SENT_AGAIN_RATE = 0.5
SILENT_FRACTION = 0.1
FAILURES_UNTIL_SUSPENDED = 2
# Tries that a move needs. Chosen here: by hand, all wrong advice rested on four tries or fewer (research notes); so
# what helped in five sessions is told in the sixth. Other moves with fewer tries bar nothing: their rate is chance.
FEWEST_TRIES = 5
# Chosen here: two planted successes, by one identity or two, stay below FEWEST_TRIES, and one identity takes three
# days to reach it.
MOST_A_DAY = 2
# Of spans without a token, whatever conversations they name. Chosen here: an export of invented ones teaches nothing
# that is told, and agents that share the bound are told in the third hour; by the day it would be the third day.
MOST_AN_HOUR = 2
# Sessions in which a look-up brought a value that was used, in which a changed argument worked, and in which the same
# other tool was gone on with; worked tries of a changed argument; runs after which nothing worked. Design, section 17.
FEWEST_SESSIONS = 2
# Conversations in which spans show a move, before it is told. Design, section 22: the trust policy `corroborated`.
FEWEST_CONVERSATIONS = 2
FEWEST_CHANGES = 3
FEWEST_GONE_ON = 3
FEWEST_RUNS = 8
# Failures before a move's first success mean that what is called has changed, if at most one in so many random orders
# of its tries begins with as many failures. Chosen here.
UNLIKELY_ORDERS = 200
# "Unchanged never worked": tries, and the upper end of Wilson's interval. Chosen here: 20 failures without a success.
FEWEST_REPEATS = 20
MOST_REPEAT_RATE = 0.2

_HOUR_US = 3_600 * 1_000_000
_DAY_US = 24 * _HOUR_US


class Tally(msgspec.Struct, frozen=True):
    """Tries of one move, and how many worked."""

    tries: int = 0
    worked: int = 0

    @property
    def rate(self) -> float:
        """The share that worked; 0 without tries."""
        return self.worked / self.tries if self.tries else 0.0

    @property
    def low(self) -> float:
        """The lower end of Wilson's interval (95 %); 0 without tries."""
        return wilson(self.worked, self.tries).low if self.tries else 0.0


class Recovery(msgspec.Struct, frozen=True):
    """A move that may be told for a signature.

    `told`: its tries without advice, and how many worked: all of them, or the last WINDOW if these worked less often by
    more than chance. `otherwise`: the tries of moves that do not contain it; none where another move is as good. `low`:
    what the gate looked at. `pause_ms`: the usual one, for SENT_AGAIN. For WENT_ON, `told` counts the sessions in which
    the call did not work again as tries, and those that went on with the tool as worked. `from_spans`: it rests on
    telemetry.
    """

    recovery_id: str
    signature: str
    move: Move
    told: Tally
    otherwise: Tally = Tally()
    low: float = 0.0
    pause_ms: int = 0
    from_spans: bool = False


class Tries(msgspec.Struct, frozen=True):
    """What the gates look at. `counts`: the rows of a signature that count, oldest first; `by_move`: those of attempts
    without advice, by their move; `rates`: of the moves with enough tries, the rate over the last WINDOW; `repairs`:
    those that pass every gate but that on other moves, and are no repetition."""

    counts: tuple[Observation, ...]
    by_move: dict[Move, list[Observation]]
    rates: dict[Move, float]
    repairs: frozenset[Move] = frozenset()


class Closest(msgspec.Struct, frozen=True):
    """A move that is not told. `every`: its tries without advice that count. `is_suspended`: it failed twice in
    succession after it was told, and no later tries have passed the gates. `missed`: the gate that it did not pass."""

    recovery_id: str
    every: Tally
    is_suspended: bool = False
    missed: MissedGate | None = None


def counted(rows: Iterable[Observation]) -> tuple[Observation, ...]:
    """The rows that count, oldest first: each failure once, the first MOST_A_DAY of an identity for a move, and of all
    spans without a token the first MOST_AN_HOUR. What failed after advice always counts: it makes silent, and silence
    harms nobody."""
    kept: list[Observation] = []
    seen: set[str] = set()
    per_day: Counter[tuple[str, int, str, Move]] = Counter()
    per_hour: Counter[tuple[int, str, Move]] = Counter()
    for row in sorted(rows, key=lambda one: (_came_us(one), one.at_us, one.observation_id)):
        day = (row.where.identity, _came_us(row) // _DAY_US, row.signature, row.move)
        hour = (_came_us(row) // _HOUR_US, row.signature, row.move)
        is_too_many = per_day[day] >= MOST_A_DAY or (row.where.is_anybody and per_hour[hour] >= MOST_AN_HOUR)
        if row.observation_id in seen or (is_too_many and not (row.followed and not row.worked)):
            continue
        seen.add(row.observation_id)
        per_day[day] += 1
        per_hour[hour] += row.where.is_anybody
        kept.append(row)
    return tuple(sorted(kept, key=lambda one: (one.at_us, one.observation_id)))


def _came_us(row: Observation) -> int:
    return row.where.recorded_us or row.at_us


def heard_in(rows: Iterable[Observation]) -> tuple[Observation, ...]:
    """The rows that count for what telemetry alone has shown. Reported tries after advice count: they can lower it."""
    return counted(row for row in rows if row.where.conversation is not None or row.advised)


def uncounted_in(rows: Collection[Observation]) -> frozenset[str]:
    """The observation ids of the rows that the limit of an identity leaves out: what agents reported, of the counts of
    that, and what spans tell, of theirs. What is reported after advice has a limit of its own where it lowers what
    telemetry has shown (`heard_in`); that makes it no try of its move."""
    heard = (row for row in heard_in(rows) if row.where.conversation is not None)
    kept = {row.observation_id for row in (*reported_in(rows).counts, *heard)}
    return frozenset(row.observation_id for row in rows if row.observation_id not in kept)


def tries_of(counts: tuple[Observation, ...]) -> Tries:
    """What the gates look at. `counts`: by `counted`."""
    by_move: dict[Move, list[Observation]] = {}
    for row in counts:
        if not row.advised and row.move.kind not in NO_ATTEMPT:
            by_move.setdefault(row.move, []).append(row)
    # What was suspended stands against nothing by what it had worked before.
    later = {move: since_it_works(_since_suspended(move, of, counts)) for move, of in by_move.items()}
    rates = {move: tally_of(of[-WINDOW:]).rate for move, of in later.items() if len(of) >= FEWEST_TRIES}
    tries = Tries(counts, by_move, rates)
    # Whoever does as well by sending the call again needs no advice: that stands against every repair.
    repairs = (
        move
        for move in rates
        if move.kind is not MoveKind.SENT_AGAIN and isinstance(_alone(counts[0].signature, move, tries), Recovery)
    )
    return msgspec.structs.replace(tries, repairs=frozenset(repairs))


def _since_suspended(move: Move, own: list[Observation], counts: Sequence[Observation]) -> list[Observation]:
    """The tries of a move without advice since it was suspended last. `own`: all of them, at least one."""
    told = recovery_id(own[0].signature, move)
    since_us = suspended_until([row for row in counts if row.advised == told and row.followed])
    return [row for row in own if row.at_us > since_us]


def since_it_works(own: Sequence[Observation]) -> Sequence[Observation]:
    """The tries of a move that count. Those from its first success on, where there are enough of them and the failures
    before are too many to be chance (UNLIKELY_ORDERS); else all."""
    first = next((at for at, row in enumerate(own) if row.worked), 0)
    before, after = min(first, WINDOW), tally_of(own[first : first + WINDOW])
    orders = comb(before + after.tries, after.worked) / comb(after.tries, after.worked)
    return own[first:] if after.tries >= FEWEST_TRIES and orders >= UNLIKELY_ORDERS else own


def reported_in(rows: Iterable[Observation]) -> Tries:
    """What the gates look at of what agents reported: of the rows of a signature, those that are not from spans."""
    return tries_of(counted(row for row in rows if row.where.conversation is None))


def recovery_of(signature: str, rows: Collection[Observation], reported: Tries | None = None) -> Recovery | None:
    """What may be told when a call fails with this signature; None if nothing may: the first of `recoveries_of`."""
    return next(iter(recoveries_of(signature, rows, reported)), None)


def recoveries_of(signature: str, rows: Collection[Observation], reported: Tries | None = None) -> tuple[Recovery, ...]:
    """What may be told when a call fails with this signature: the best supported one, then those that are not clearly
    worse. `rows`: the observations of one scope, of this signature. `reported`: these by `reported_in`, where they are
    counted already. What agents reported goes first; what spans tell neither adds to it nor takes away."""
    return _recoveries(signature, reported or reported_in(rows)) or _from_spans(signature, rows)


def _from_spans(signature: str, rows: Collection[Observation]) -> tuple[Recovery, ...]:
    """What telemetry alone has shown, once conversations corroborate each other (decision 075)."""
    if all(row.where.conversation is None for row in rows):
        return ()
    found = _recoveries(signature, tries_of(heard_in(rows)))
    return tuple(
        msgspec.structs.replace(one, from_spans=True)
        for one in found
        if len({row.where.conversation for row in rows if row.where.conversation and row.move == one.move})
        >= FEWEST_CONVERSATIONS
    )


def _recoveries(signature: str, tries: Tries) -> tuple[Recovery, ...]:
    tried = (_tried(signature, move, tries) for move in tries.by_move)
    passed = [one for one in tried if isinstance(one, Recovery)]

    def support(one: Recovery) -> tuple[float, int, int, str]:
        """Of equals the one that was tried last, and then always the same."""
        return one.low, one.told.tries, tries.by_move[one.move][-1].at_us, one.recovery_id

    passed.sort(key=support, reverse=True)
    if not passed:
        return tuple(filter(None, (_gone_on(signature, tries.counts),)))
    # What lies below the best one's interval is worse by more than chance.
    equals = [one for one in passed if one is passed[0] or tries.rates[one.move] >= passed[0].low]
    return tuple(
        # Without it another one helped as often, and that speaks neither for it nor against it.
        msgspec.structs.replace(one, otherwise=Tally())
        if any(is_other(one.move, other.move) for other in equals)
        else one
        for one in equals
    )


def missed_by(signature: str, move: Move, tries: Tries) -> MissedGate | None:
    """The first gate that a move does not pass; None if it passes them all."""
    if move.kind is MoveKind.WENT_ON and move.are_tools:
        return _missed_going_on(move, tries.counts)
    found = _tried(signature, move, tries)
    return found if isinstance(found, MissedGate) else None


def closest_of(signature: str, tries: Tries) -> Closest | None:
    """The move that came closest to being told, by its lowest rate, then by its tries; None if agents reported no
    attempt. For people, where `recovery_of` finds nothing. `tries`: by `reported_in`."""

    def closeness(move: Move) -> tuple[bool, float, int]:
        own = tries.by_move[move]
        return move.kind is not MoveKind.OTHER, tally_of(own[-WINDOW:]).low, len(own)

    move = max(tries.by_move, key=closeness, default=None)
    if move is None:
        return None
    own_id, own = recovery_id(signature, move), tries.by_move[move]
    since_us = suspended_until([row for row in tries.counts if row.advised == own_id and row.followed])
    is_suspended = since_us >= 0 and sum(row.at_us > since_us for row in own) < FEWEST_TRIES
    return Closest(own_id, tally_of(own), is_suspended, missed_by(signature, move, tries))


def unchanged_never_worked(tries: Tries) -> Tally | None:
    """How often the same call worked when it was sent again, if it hardly ever did; None otherwise. `tries`: by
    `reported_in`."""
    tally = tally_of([row for row in tries.counts if not row.advised and row.move.kind is MoveKind.SENT_AGAIN])
    if tally.tries < FEWEST_REPEATS or wilson(tally.worked, tally.tries).high > MOST_REPEAT_RATE:
        return None
    return tally


def is_silent(receipt_id: str, recovery: Recovery) -> bool:
    """Whether a recovery is held back from this receipt: one in ten, and always the same for one receipt."""
    return is_held_back(receipt_id, recovery.recovery_id, SILENT_FRACTION)


def _tried(signature: str, move: Move, tries: Tries) -> Recovery | MissedGate:
    """The move as a recovery, or the first gate that it does not pass."""
    found = _alone(signature, move, tries)
    if isinstance(found, MissedGate):
        return found
    peers = tries.repairs if move in tries.repairs else frozenset[Move]()
    others = (rate for other, rate in tries.rates.items() if other not in peers and is_other(move, other))
    rate = max(others, default=0.0)
    return MissedGate(Gate.OTHER_MOVE, rate, found.low) if found.low <= rate else found


def _alone(signature: str, move: Move, tries: Tries) -> Recovery | MissedGate:
    """The same, whatever other moves were tried."""
    recovery = recovery_id(signature, move)
    followed = [row for row in tries.counts if row.advised == recovery and row.followed]
    since_us = suspended_until(followed)
    own = since_it_works([row for row in tries.by_move.get(move, ()) if row.at_us > since_us])
    window = tally_of(own[-WINDOW:])
    if move.kind in (MoveKind.OTHER, *NO_ATTEMPT):
        return MissedGate(Gate.KIND)
    if window.tries < FEWEST_TRIES:
        return MissedGate(Gate.TRIES, FEWEST_TRIES, window.tries)
    both = sorted((*own, *(row for row in followed if row.at_us > since_us)), key=lambda row: row.at_us)
    low = min(window.low, tally_of(both[-WINDOW:]).low)
    missed = _missed_of_all(window.low, low) or _missed_of_kind(signature, move, own[-WINDOW:])
    if missed is not None:
        return missed
    every = tally_of(own)
    told = every if every.rate <= wilson(window.worked, window.tries).high else window
    # Where what is called has changed, what others did before says nothing.
    began_us = own[0].at_us if len(own) < len(tries.by_move[move]) else -1
    others = [row for other, of in tries.by_move.items() if not follows(move, other) for row in of]
    others = [row for row in others if row.at_us >= began_us]
    pauses = sorted(row.pause_ms for row in own if row.worked)
    pause_ms = pauses[len(pauses) // 2] if pauses and move.kind is MoveKind.SENT_AGAIN else 0
    return Recovery(recovery, signature, move, told, tally_of(others), low, pause_ms)


def _missed_of_all(unadvised: float, low: float) -> MissedGate | None:
    """The gate that all moves pass. `unadvised`: the lower end of the rate over the last tries without advice; `low`:
    the lower one of that and the same with those after advice."""
    if unadvised < LEAST_RATE:
        return MissedGate(Gate.RATE, LEAST_RATE, unadvised)
    return MissedGate(Gate.ADVISED_RATE, LEAST_RATE, low) if low < LEAST_RATE else None


def is_other(move: Move, other: Move) -> bool:
    """Whether a move stands against another. Look-ups of which one contains the other do not: who does the longer one
    has done both, and which of them is told, their own gates decide. Nor do changes of which one sets more fields than
    the other, or renames that arrive at the same field: an agent that corrects a wrong guess makes such a change."""
    if move.kind is other.kind is MoveKind.LOOKED_UP:
        steps, others = set(move.steps), set(other.steps)
        return not (steps <= others or others <= steps)
    if move == other:
        return False
    if move.kind is other.kind is MoveKind.CHANGED and move.are_tools and other.are_tools:
        if move.value is other.value is ValueKind.RENAMED:
            return move.steps[-1] != other.steps[-1]
        steps, others = set(move.steps), set(other.steps)
        return not (steps < others or others < steps)
    return True


def _missed_of_kind(signature: str, move: Move, window: Sequence[Observation]) -> MissedGate | None:
    """What this kind of move does not pass, beside the gate that all moves pass."""
    worked = [row for row in window if row.worked]
    passes_by_itself = category_in(signature) in PASSES_BY_ITSELF
    match move.kind:
        case MoveKind.LOOKED_UP if all(map(only_waits, move.steps)):
            # A pause brings no value; it helps only where time does.
            return (
                _least(Gate.SESSIONS, FEWEST_SESSIONS, _sessions(worked)) if passes_by_itself else MissedGate(Gate.KIND)
            )
        case MoveKind.LOOKED_UP:
            return _least(Gate.SESSIONS, FEWEST_SESSIONS, _sessions(row for row in worked if row.informed))
        case MoveKind.SENT_AGAIN:
            return _least(Gate.SENT_AGAIN_RATE, LEAST_SENT_AGAIN_RATE, tally_of(window).rate)
        case MoveKind.CHANGED if move.value is not None and not passes_by_itself:
            fewer = _least(Gate.CHANGES, FEWEST_CHANGES, len(worked))
            return fewer or _least(Gate.SESSIONS, FEWEST_SESSIONS, _sessions(worked))
        case _:
            return MissedGate(Gate.KIND)


def _least(gate: Gate, needed: float, found: float) -> MissedGate | None:
    return MissedGate(gate, needed, found) if found < needed else None


def _gone_on(signature: str, counts: Sequence[Observation]) -> Recovery | None:
    """The tool that was gone on with, where nothing repaired a call with JSON arguments."""
    gone = _went_on_with(counts)
    move = max(gone, key=lambda one: gone[one], default=None)
    if move is None or _missed_going_on(move, counts) is not None:
        return None
    return Recovery(recovery_id(signature, move), signature, move, Tally(_sessions(_last(counts)), gone[move]))


def _missed_going_on(move: Move, counts: Sequence[Observation]) -> MissedGate | None:
    """The first gate that going on with another tool does not pass."""
    last = _last(counts)
    worked = sum(row.worked for row in last)
    if worked:
        return MissedGate(Gate.NONE_WORKED, 0, worked)
    fewer = _least(Gate.RUNS, FEWEST_RUNS, _sessions(last))
    return fewer or _least(Gate.GONE_ON, FEWEST_GONE_ON, _went_on_with(counts).get(move, 0))


def _last(counts: Sequence[Observation]) -> Sequence[Observation]:
    return [row for row in counts if not row.advised][-WINDOW:]


def _went_on_with(counts: Sequence[Observation]) -> dict[Move, int]:
    """In how many sessions each other tool was gone on with."""
    by_move: dict[Move, list[Observation]] = {}
    for row in _last(counts):
        if row.move.kind is MoveKind.WENT_ON and row.move.are_tools:
            by_move.setdefault(row.move, []).append(row)
    return {move: _sessions(of) for move, of in by_move.items()}


def refutes(signature: str, move: Move, tries: Tries) -> bool:
    """Whether the tries of a move speak against telling it before it passes the gates: it failed twice in succession
    after advice, or with enough tries, of either kind, it worked too seldom. `tries`: by `reported_in`."""
    own_id = recovery_id(signature, move)
    followed = [row for row in tries.counts if row.advised == own_id and row.followed]
    own = [row for row in tries.counts if row.move == move and not row.advised]
    return suspended_until(followed) >= 0 or any(
        len(of) >= FEWEST_TRIES and tally_of(of[-WINDOW:]).low < LEAST_RATE for of in (own, followed)
    )


def suspended_until(followed: Sequence[Observation]) -> int:
    """When advice last failed FAILURES_UNTIL_SUSPENDED times in succession; tries up to then count no more. -1 if it
    never did."""
    since_us, failures = -1, 0
    for row in followed:
        failures = 0 if row.worked else failures + 1
        if failures >= FAILURES_UNTIL_SUSPENDED:
            since_us, failures = row.at_us, 0
    return since_us


def tally_of(rows: Sequence[Observation]) -> Tally:
    """How many rows there are, and how many of them worked."""
    return Tally(len(rows), sum(row.worked for row in rows))


def _sessions(rows: Iterable[Observation]) -> int:
    return len({row.where.session_id for row in rows})
