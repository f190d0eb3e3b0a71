"""What was tried after failures of one signature, how often it worked, and which of it may be told. Pure.

Counts are folds of observation rows and are kept nowhere: a row that is erased is counted no more. Rows of one identity
count at most `MOST_A_DAY` times a day for a move, so that nobody teaches a move alone in a day.

A move is told when it has enough tries (`FEWEST_TRIES`), when the lower end of Wilson's interval over the last `WINDOW`
tries without advice is at least `LEAST_RATE`, and when it lies above the rate of every other move that was tried. There
is no falling back on the category or the tool: that predicts better and advises worse. Each kind of move asks for more
(`_may`). Tries after advice can only lower a move; two failures in succession after advice suspend it, until tries
without advice that came later pass again (decision 046).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from sidemirror_server.memory.kin.signature import PASSES_BY_ITSELF, category_in
from sidemirror_server.memory.recoveries.asked import only_waits
from sidemirror_server.memory.recoveries.observation import Move, MoveKind, Observation, ValueKind, follows, recovery_id
from sidemirror_server.memory.trials.evidence import is_held_back, wilson

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
# Sessions in which a look-up brought a value that was used, in which a changed argument worked, and in which the same
# other tool was gone on with; worked tries of a changed argument; runs after which nothing worked. Design, section 17.
FEWEST_SESSIONS = 2
# Conversations in which spans show a move, before it is told. Design, section 22: the trust policy `corroborated`.
FEWEST_CONVERSATIONS = 2
FEWEST_CHANGES = 3
FEWEST_GONE_ON = 3
FEWEST_RUNS = 8
# "Unchanged never worked": tries, and the upper end of Wilson's interval. Chosen here: 20 failures without a success.
FEWEST_REPEATS = 20
MOST_REPEAT_RATE = 0.2

_DAY_US = 24 * 3_600 * 1_000_000


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
    more than chance. `otherwise`: the tries of moves that do not contain it. `low`: what the gate looked at.
    `pause_ms`: the usual one, for SENT_AGAIN. For WENT_ON, `told` counts the sessions in which the call did not work
    again as tries, and those that went on with the tool as worked. `from_spans`: it rests on telemetry.
    """

    recovery_id: str
    signature: str
    move: Move
    told: Tally
    otherwise: Tally = Tally()
    low: float = 0.0
    pause_ms: int = 0
    from_spans: bool = False


class Closest(msgspec.Struct, frozen=True):
    """A move that is not told. `every`: its tries without advice that count. `is_suspended`: it failed twice in
    succession after it was told, and no later tries have passed the gates."""

    recovery_id: str
    every: Tally
    is_suspended: bool = False


def counted(rows: Iterable[Observation]) -> tuple[Observation, ...]:
    """The rows that count, oldest first: each failure once, and the first MOST_A_DAY of an identity for a move. What
    failed after advice always counts: it makes silent, and silence harms nobody."""
    kept: list[Observation] = []
    seen: set[str] = set()
    per_day: Counter[tuple[str, int, str, Move]] = Counter()
    for row in sorted(rows, key=lambda one: (one.at_us, one.observation_id)):
        day = (row.where.identity, row.at_us // _DAY_US, row.signature, row.move)
        has_failed_advice = row.followed and not row.worked
        if row.observation_id in seen or (per_day[day] >= MOST_A_DAY and not has_failed_advice):
            continue
        seen.add(row.observation_id)
        per_day[day] += 1
        kept.append(row)
    return tuple(kept)


def recovery_of(signature: str, rows: Iterable[Observation]) -> Recovery | None:
    """What may be told when a call fails with this signature; None if nothing may. `rows`: the observations of one
    scope, of this signature. What agents reported goes first; what spans tell neither adds to it nor takes away."""
    every = tuple(rows)
    reported = [row for row in every if row.where.conversation is None]
    return _recovery(signature, reported) or _from_spans(signature, every)


def _from_spans(signature: str, rows: Sequence[Observation]) -> Recovery | None:
    """What telemetry alone has shown, once conversations corroborate each other (decision 075). Reported tries after
    advice count: they can lower it."""
    found = _recovery(signature, [row for row in rows if row.where.conversation is not None or row.advised])
    if found is None:
        return None
    moved = {row.where.conversation for row in rows if row.where.conversation and row.move == found.move}
    if len(moved) < FEWEST_CONVERSATIONS:
        return None
    return msgspec.structs.replace(found, from_spans=True)


def _recovery(signature: str, rows: Iterable[Observation]) -> Recovery | None:
    counts = counted(rows)
    tries = unadvised_by_move(counts)
    rates = {move: tally_of(of[-WINDOW:]).rate for move, of in tries.items() if len(of) >= FEWEST_TRIES}
    passed = [found for move in tries if (found := _passed(signature, move, counts, tries, rates)) is not None]
    best = max(passed, key=lambda one: (one.low, one.told.tries), default=None)
    return best or _gone_on(signature, counts)


def closest_of(signature: str, rows: Iterable[Observation]) -> Closest | None:
    """The move that came closest to being told, by its lowest rate, then by its tries; None if agents reported no
    attempt. For people, where `recovery_of` finds nothing."""
    counts = counted(row for row in rows if row.where.conversation is None)
    found: list[tuple[bool, float, int, Closest]] = []
    for move, tries in unadvised_by_move(counts).items():
        own_id = recovery_id(signature, move)
        since_us = suspended_until([row for row in counts if row.advised == own_id and row.followed])
        later = sum(row.at_us > since_us for row in tries)
        every = tally_of(tries)
        is_suspended = since_us >= 0 and later < FEWEST_TRIES
        low = tally_of(tries[-WINDOW:]).low
        found.append((move.kind is not MoveKind.OTHER, low, every.tries, Closest(own_id, every, is_suspended)))
    return max(found, key=lambda one: one[:3])[3] if found else None


def unchanged_never_worked(rows: Iterable[Observation]) -> Tally | None:
    """How often the same call worked when it was sent again, if it hardly ever did; None otherwise. Spans do not
    count."""
    reported = counted(row for row in rows if row.where.conversation is None)
    tally = tally_of([row for row in reported if not row.advised and row.move.kind is MoveKind.SENT_AGAIN])
    if tally.tries < FEWEST_REPEATS or wilson(tally.worked, tally.tries).high > MOST_REPEAT_RATE:
        return None
    return tally


def is_silent(receipt_id: str, recovery: Recovery) -> bool:
    """Whether a recovery is held back from this receipt: one in ten, and always the same for one receipt."""
    return is_held_back(receipt_id, recovery.recovery_id, SILENT_FRACTION)


def _passed(
    signature: str,
    move: Move,
    counts: Sequence[Observation],
    tries: Mapping[Move, Sequence[Observation]],
    rates: Mapping[Move, float],
) -> Recovery | None:
    """The move as a recovery, if it passes every gate."""
    recovery = recovery_id(signature, move)
    followed = [row for row in counts if row.advised == recovery and row.followed]
    since_us = suspended_until(followed)
    own = [row for row in tries[move] if row.at_us > since_us]
    window = tally_of(own[-WINDOW:])
    if window.tries < FEWEST_TRIES or not _may(signature, move, own[-WINDOW:]):
        return None
    both = sorted((*own, *(row for row in followed if row.at_us > since_us)), key=lambda row: row.at_us)
    low = min(window.low, tally_of(both[-WINDOW:]).low)
    if low < LEAST_RATE or low <= max((rate for other, rate in rates.items() if is_other(move, other)), default=0.0):
        return None
    every = tally_of(own)
    told = every if every.rate <= wilson(window.worked, window.tries).high else window
    others = [row for other, of in tries.items() if not follows(move, other) for row in of]
    pauses = sorted(row.pause_ms for row in own if row.worked)
    pause_ms = pauses[len(pauses) // 2] if pauses and move.kind is MoveKind.SENT_AGAIN else 0
    return Recovery(recovery, signature, move, told, tally_of(others), low, pause_ms)


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


def _may(signature: str, move: Move, window: Sequence[Observation]) -> bool:
    """Whether this kind of move may be told, beside the gate that all moves pass."""
    worked = [row for row in window if row.worked]
    match move.kind:
        case MoveKind.LOOKED_UP if all(map(only_waits, move.steps)):
            # A pause brings no value; it helps only where time does.
            return category_in(signature) in PASSES_BY_ITSELF and _sessions(worked) >= FEWEST_SESSIONS
        case MoveKind.LOOKED_UP:
            return _sessions(row for row in worked if row.informed) >= FEWEST_SESSIONS
        case MoveKind.SENT_AGAIN:
            return tally_of(window).rate >= LEAST_SENT_AGAIN_RATE
        case MoveKind.CHANGED if move.value is not None:
            enough = len(worked) >= FEWEST_CHANGES and _sessions(worked) >= FEWEST_SESSIONS
            return enough and category_in(signature) not in PASSES_BY_ITSELF
        case _:
            return False


def _gone_on(signature: str, counts: Sequence[Observation]) -> Recovery | None:
    """The tool that was gone on with, where nothing repaired a call with JSON arguments."""
    last = [row for row in counts if not row.advised][-WINDOW:]
    runs = _sessions(last)
    if any(row.worked for row in last) or runs < FEWEST_RUNS:
        return None
    by_move: dict[Move, list[Observation]] = {}
    for row in last:
        if row.move.kind is MoveKind.WENT_ON and row.move.are_tools:
            by_move.setdefault(row.move, []).append(row)
    gone = {move: _sessions(of) for move, of in by_move.items()}
    move = max(gone, key=lambda one: gone[one], default=None)
    if move is None or gone[move] < FEWEST_GONE_ON:
        return None
    return Recovery(recovery_id(signature, move), signature, move, Tally(runs, gone[move]))


def refutes(signature: str, move: Move, rows: Iterable[Observation]) -> bool:
    """Whether the tries of a move speak against telling it before it passes the gates: it failed twice in succession
    after advice, or with enough tries, of either kind, it worked too seldom. Spans do not count."""
    counts = counted(row for row in rows if row.where.conversation is None)
    own_id = recovery_id(signature, move)
    followed = [row for row in counts if row.advised == own_id and row.followed]
    tries = [row for row in counts if row.move == move and not row.advised]
    return suspended_until(followed) >= 0 or any(
        len(of) >= FEWEST_TRIES and tally_of(of[-WINDOW:]).low < LEAST_RATE for of in (tries, followed)
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


def unadvised_by_move(counts: Iterable[Observation]) -> dict[Move, list[Observation]]:
    """The attempts without advice, by their move, oldest first."""
    found: dict[Move, list[Observation]] = {}
    for row in counts:
        if not row.advised and row.move.kind not in (MoveKind.WENT_ON, MoveKind.STOPPED):
            found.setdefault(row.move, []).append(row)
    return found


def tally_of(rows: Sequence[Observation]) -> Tally:
    """How many rows there are, and how many of them worked."""
    return Tally(len(rows), sum(row.worked for row in rows))


def _sessions(rows: Iterable[Observation]) -> int:
    return len({row.where.session_id for row in rows})
