"""From a turn's entries to observations: which call failed, what was done then, and whether the next attempt worked.

A fold: `begin` opens a turn, `apply` takes its events in the log's order, `told` notes advice, `came` when it was
recorded, and `close` gives the observations that are complete once the turn has ended. A trail may go on with the
session's next turn, so that a value for which the user was asked in between is seen; `end` gives what no attempt
followed. Pure: nothing is read or kept elsewhere. What it holds is bounded.

The rules (decision 046): an attempt is a call of the same tool and the same intent, by the same agent, begun after the
failure was known and among the next six calls. What lies between is the move. An attempt belongs to one failure, the
latest that it pursues. One that hides errors, or whose turn failed, repairs nothing.
"""

import re
from collections.abc import Sequence
from functools import partial

import msgspec

from sidemirror_server.memory.kin.signature import PASSES_BY_ITSELF, category_in
from sidemirror_server.memory.recoveries.asked import (
    Asked,
    asked,
    asks_the_sidecar,
    is_of_database,
    only_waits,
    same_intent,
)
from sidemirror_server.memory.recoveries.changed import FEWEST_VALUE_CHARS, change
from sidemirror_server.memory.recoveries.observation import (
    CameFrom,
    Move,
    MoveKind,
    Observation,
    Where,
    follows,
    observation_id,
)
from sidemirror_server.memory.recoveries.signed import failure_signature
from sidemirror_server.memory.recoveries.starter import dialect_of
from sidemirror_server.trace.event import (
    Event,
    ModelStarted,
    ToolCalled,
    ToolFailed,
    ToolReturned,
    TurnStarted,
    UserMessage,
)
from sidemirror_server.trace.failed import call_failed
from sidemirror_server.trace.open_calls import opened, taken
from sidemirror_server.vocabulary.ids import EventId, TurnId

# Design: an attempt is among the next six calls.
MOST_CALLS_BETWEEN = 6
# Outcomes of turns that failed, as `sidemirror turns list --failed` has them.
_FAILED_OUTCOMES = frozenset(("failure", "timeout", "error"))

# What a trail holds. Chosen here: no agent has as many failures that wait; a result is read at its
# beginning, and what was told longer ago than this many texts is not looked up any more.
_MOST_WAITING = 50
MOST_LOOKED_UP = 100
_TEXT_CHARS = 8_000
_MOST_TEXTS = 40

_WORD = re.compile(r"[^\W_]\w*")


class Done(msgspec.Struct, frozen=True):
    """A call that has ended. `began` and `ended`: its places in the trail."""

    event_id: EventId
    agent: str
    asked: Asked
    began: int
    ended: int
    ended_us: int
    began_us: int
    text: str
    failed: bool


class _Open(msgspec.Struct, frozen=True):
    event_id: EventId
    agent: str
    asked: Asked
    began: int
    began_us: int
    polling: bool


class _Waiting(msgspec.Struct):
    """A failure that no attempt has followed so far. `after`: the calls that began since, and have ended. `earlier`:
    the calls that failed like this before, of which each was an attempt at the one before it; oldest first. `went_on`:
    the agent has called its model or a tool since."""

    failure: Done
    signature: str
    where: Where
    after: list[Done]
    earlier: tuple[Asked, ...] = ()
    advised: str = ""
    said: Move | None = None
    went_on: bool = False
    dialect: str = ""


class _Text(msgspec.Struct, frozen=True):
    place: int
    is_users: bool
    text: str


class Failure(msgspec.Struct, frozen=True):
    """A failing call, by the event id of the call, with its signature. `is_json`: its arguments are JSON. `label`,
    `values`: of the call (`asked.py`). `dialect`: whose SQL it was (`starter.py:dialect_of`)."""

    failure_id: EventId
    signature: str
    is_json: bool = True
    label: str = ""
    dialect: str = ""
    values: tuple[tuple[str, str], ...] = ()


class Trail(msgspec.Struct):
    """The state of the fold; start with `Trail()`."""

    where: Where | None = None
    place: int = 0
    last_us: int = 0
    open_calls: dict[str, _Open] = {}
    waiting: list[_Waiting] = []
    texts: list[_Text] = []
    # Observations whose turn has not ended.
    seen: list[Observation] = []
    # Labels of the look-ups of this turn, each once.
    looked_up: list[str] = []


def begin(trail: Trail, where: Where) -> None:
    """The next turn of the session begins."""
    trail.where = where
    trail.open_calls.clear()
    trail.looked_up.clear()


def told(trail: Trail, failure_id: str, recovery: str, said: Move) -> None:
    """Advice was shown at a failure: the id of the recovery, and its move with the steps that were said. A failure that
    waits no more is left as it is."""
    for waiting in trail.waiting:
        if waiting.failure.event_id == failure_id:
            waiting.advised, waiting.said = recovery, said


def unadvised(trail: Trail, *, by_call: bool = False) -> list[tuple[EventId, str]]:
    """The failures of the turn that had no advice and that the agent has not gone on from: each one's id and its
    signature. `by_call`: the agent has asked for advice by a tool, for which its model was called."""
    turn_id = "" if trail.where is None else trail.where.turn_id
    here = (one for one in trail.waiting if one.where.turn_id == turn_id and not one.advised)
    return [(one.failure.event_id, one.signature) for one in here if not one.went_on or (by_call and not one.after)]


def came(trail: Trail, recovery: str, *, never: bool = False) -> bool:
    """The advice of this id was recorded now; whether that was too late for a failure of the turn. It was where the
    agent had called its model or a tool in between: such a try is neither one with advice nor one without. `never`: the
    turn has ended without it."""
    turn_id = "" if trail.where is None else trail.where.turn_id
    late = [at for at, one in enumerate(trail.seen) if one.advised == recovery and one.where.turn_id == turn_id]
    for at in late:
        trail.seen[at] = msgspec.structs.replace(trail.seen[at], followed=False)
    waiting = [one for one in trail.waiting if one.advised == recovery and one.where.turn_id == turn_id]
    gone = [one for one in waiting if one.went_on or never]
    for one in gone:
        one.said = None
    return bool(late or gone)


def apply(trail: Trail, event: Event) -> Failure | None:
    """Takes the next event of the turn; returns the failure that it is, if it has a signature. Raises ValueError before
    `begin`."""
    if trail.where is None:
        raise ValueError("a trail begins with a turn")
    trail.place += 1
    trail.last_us = event.at_us
    match event.what:
        case ToolCalled() as call:
            _called(trail, event, call)
        case ModelStarted():
            _goes_on(trail, event.agent)
        case ToolReturned(call_id=call_id, content=content, is_error=is_error, has_worked=has_worked):
            failed = call_failed(content, is_error=is_error, has_worked=has_worked)
            return _ended(trail, event, call_id, content, failed=failed)
        case ToolFailed(call_id=call_id, error=error):
            return _ended(trail, event, call_id, error, failed=True)
        case TurnStarted(messages=messages, task=task):
            for text in (task, *(message.content for message in messages if message.role == "user")):
                _remember(trail, text, is_users=True)
        case UserMessage(text=text):
            _remember(trail, text, is_users=True)
        case _:
            pass
    return None


def close(trail: Trail, outcome: str) -> tuple[Observation, ...]:
    """The turn ended with this outcome: its observations, the failure that was answered first before the others. In a
    turn that failed nothing has worked but what passes by itself and was sent again: it cannot have hidden the
    failure."""
    failed = outcome in _FAILED_OUTCOMES
    found = tuple(
        msgspec.structs.replace(one, worked=False, turn_failed=one.worked)
        if failed and not _passed_by_itself(one)
        else one
        for one in trail.seen
    )
    trail.seen.clear()
    return found


def _passed_by_itself(one: Observation) -> bool:
    return one.move.kind is MoveKind.SENT_AGAIN and category_in(one.signature) in PASSES_BY_ITSELF


def end(trail: Trail, turn_id: str = "") -> tuple[Observation, ...]:
    """What the failures came to that still wait: those of one turn, or all if the session goes no further."""
    all_waiting = trail.waiting
    trail.waiting = [waiting for waiting in all_waiting if turn_id and waiting.where.turn_id != turn_id]
    ended = [waiting for waiting in all_waiting if not turn_id or waiting.where.turn_id == turn_id]
    return tuple(_without_attempt(trail, waiting) for waiting in ended)


def waits(trail: Trail) -> bool:
    """Whether failures wait for an attempt."""
    return bool(trail.waiting)


def _called(trail: Trail, event: Event, call: ToolCalled) -> None:
    call_id = call.call_id or event.event_id
    if not asks_the_sidecar(call.name):
        _goes_on(trail, event.agent)
    what = asked(call.name, call.arguments)
    began = _Open(event.event_id, event.agent, what, trail.place, event.at_us, call.polling)
    opened(trail.open_calls, call_id, began)


def _goes_on(trail: Trail, agent: str) -> None:
    for waiting in trail.waiting:
        waiting.went_on |= waiting.failure.agent == agent


def _ended(trail: Trail, event: Event, call_id: str, text: str, *, failed: bool) -> Failure | None:
    call = taken(trail.open_calls, call_id, event.agent)
    if call is None or call.polling:
        return None
    done = Done(
        *(call.event_id, call.agent, call.asked, call.began, trail.place, event.at_us, call.began_us),
        text=text[:_TEXT_CHARS],
        failed=failed,
    )
    label = call.asked.label
    if call.asked.reads and not failed and label not in trail.looked_up:
        trail.looked_up.append(label)
        del trail.looked_up[:-MOST_LOOKED_UP]
    served = _answer(trail, done)
    _remember(trail, text, is_users=False)
    signature = failure_signature(call.asked, text) if failed else ""
    if not signature or trail.where is None:
        return None
    if len(trail.waiting) >= _MOST_WAITING:
        trail.seen.append(_without_attempt(trail, trail.waiting.pop(0)))
    is_next = served is not None and served.signature == signature
    earlier = (*served.earlier, served.failure.asked)[-MOST_CALLS_BETWEEN:] if served is not None and is_next else ()
    dialect = dialect_of(call.asked.tool, text)
    trail.waiting.append(_Waiting(done, signature, trail.where, [], earlier, dialect=dialect))
    return Failure(done.event_id, signature, call.asked.is_json, label, dialect, call.asked.values)


def _remember(trail: Trail, text: str, *, is_users: bool) -> None:
    if text:
        trail.texts.append(_Text(trail.place, is_users, text[:_TEXT_CHARS].casefold()))
        del trail.texts[:-_MOST_TEXTS]


def _answer(trail: Trail, done: Done) -> _Waiting | None:
    """Finds the failure that a call answers, and gives up those that six calls have followed. Returns the former."""
    later = [one for one in trail.waiting if one.failure.agent == done.agent and one.failure.ended < done.began]
    served = next((one for one in reversed(later) if same_intent(one.failure.asked, done.asked)), None)
    if served is not None:
        trail.waiting.remove(served)
        trail.seen.append(_with_attempt(trail, served, done))
    for one in later:
        # To ask the sidecar is no step of a repair.
        if one is not served and not asks_the_sidecar(done.asked.tool):
            one.after.append(done)
            if len(one.after) >= MOST_CALLS_BETWEEN:
                trail.waiting.remove(one)
                trail.seen.append(_without_attempt(trail, one))
    return served


def _with_attempt(trail: Trail, waiting: _Waiting, attempt: Done) -> Observation:
    between = [one for one in waiting.after if one.ended < attempt.began]
    failure = waiting.failure
    move = _move(trail, waiting, between, attempt)
    return Observation(
        observation_id(waiting.where, failure.event_id),
        waiting.where,
        failure.event_id,
        waiting.signature,
        failure.asked.label,
        move,
        worked=not attempt.failed and not attempt.asked.suppresses,
        at_us=attempt.ended_us,
        informed=_is_informed(failure.asked, attempt.asked, between),
        pause_ms=max(0, (attempt.began_us - failure.ended_us) // 1000),
        advised=waiting.advised,
        followed=waiting.said is not None and follows(waiting.said, move),
        then=tuple(one.asked.label for one in (*waiting.after, attempt)),
        last_turn_id=_later_turn(trail, waiting),
        attempt_id=attempt.event_id,
        is_json=failure.asked.is_json,
        dialect=waiting.dialect,
    )


def _without_attempt(trail: Trail, waiting: _Waiting) -> Observation:
    other = next((one.asked for one in waiting.after if one.asked.tool != waiting.failure.asked.tool), None)
    are_tools = other is not None and other.is_json and waiting.failure.asked.is_json
    move = Move(MoveKind.WENT_ON, (other.tool,), are_tools) if other else Move(MoveKind.STOPPED)
    return Observation(
        observation_id(waiting.where, waiting.failure.event_id),
        waiting.where,
        waiting.failure.event_id,
        waiting.signature,
        waiting.failure.asked.label,
        move,
        worked=False,
        at_us=trail.last_us,
        advised=waiting.advised,
        followed=waiting.said is not None and follows(waiting.said, move),
        then=tuple(one.asked.label for one in waiting.after),
        last_turn_id=_later_turn(trail, waiting),
        is_json=waiting.failure.asked.is_json,
        dialect=waiting.dialect,
    )


def _later_turn(trail: Trail, waiting: _Waiting) -> TurnId:
    """The present turn, if it is a later one than that of the failure; else empty."""
    here = trail.where
    return TurnId("") if here is None or here.turn_id == waiting.where.turn_id else here.turn_id


def _move(trail: Trail, waiting: _Waiting, between: list[Done], attempt: Done) -> Move:
    if between:
        return _looked_up(between)
    failure = waiting.failure
    before, now = failure.asked, attempt.asked
    if before.text == now.text and before.values == now.values:
        # A secret is compared as its mark, so that another one looks like the same.
        return Move(MoveKind.CHANGED if now.has_secret else MoveKind.SENT_AGAIN)
    others = (*waiting.earlier, before)
    if not now.is_json:
        # Of a text no part has a name; what stands beside a statement has, and is told of statements alone.
        others = tuple(one for one in others if one.text == now.text)
        if before.text != now.text or not is_of_database(now):
            return Move(MoveKind.CHANGED)
    came_from = partial(_came_from, trail, failure, attempt)
    return min((change(one, now, came_from) for one in others if one.values != now.values), key=_extent)


def _extent(changed: Move) -> tuple[bool, int]:
    """How much was changed. Who corrects a guess goes back to the call before it: so a change is that against the call
    that differs least, and of those the first."""
    return changed.value is None, len(changed.steps)


def _looked_up(between: list[Done]) -> Move:
    """The chain of look-ups, if there was nothing else; a look-up that failed told nothing and is left out. A tool that
    only waits is a step where there was no look-up."""
    done = [one.asked for one in between if not one.failed]
    told = [one for one in done if not only_waits(one.tool)] or done
    are_tools = all(one.is_json for one in told)
    can_be_named = are_tools or all(one.is_reviewed for one in told)
    is_harmless = all(one.asked.reads or (one.asked.is_json and only_waits(one.asked.tool)) for one in between)
    if not told or not can_be_named or not is_harmless:
        return Move(MoveKind.OTHER)
    return Move(MoveKind.LOOKED_UP, tuple(dict.fromkeys(one.label for one in told)), are_tools)


def _came_from(trail: Trail, failure: Done, attempt: Done, value: str, instead_of: Sequence[str]) -> CameFrom | None:
    """Where a value stood, the user's texts before those of tools: what a user said is the user's. None where the call
    went on to the next item of a list: in an earlier result it stood beside one of those in whose place it is."""
    wanted = value.strip('"').casefold()
    if len(wanted) < FEWEST_VALUE_CHARS:
        return CameFrom.NOWHERE
    replaced = [old for one in instead_of if len(old := one.strip('"').casefold()) >= FEWEST_VALUE_CHARS]
    lists = [one.text for one in trail.texts if not one.is_users and one.place < failure.began]
    if any(_stands_in(wanted, text) and any(_stands_in(old, text) for old in replaced) for text in lists):
        return None
    told = [one for one in trail.texts if one.place < attempt.began and _stands_in(wanted, one.text)]
    if any(one.is_users for one in told):
        after = all(one.place > failure.ended for one in told if one.is_users)
        return CameFrom.USER_ASKED if after else CameFrom.USER
    if any(one.place == failure.ended and _names(one.text, wanted, failure.asked) for one in told):
        return CameFrom.ERROR
    return CameFrom.RESULT if any(one.place != failure.ended for one in told) else CameFrom.NOWHERE


def _stands_in(wanted: str, text: str) -> bool:
    """Whether a text has the value as a word or words of its own: "eur" is not in "euro"."""
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        begins = at == 0 or not (_is_of_word(text[at - 1]) and _is_of_word(wanted[0]))
        ends = end == len(text) or not (_is_of_word(text[end]) and _is_of_word(wanted[-1]))
        if begins and ends:
            return True
        at = text.find(wanted, at + 1)
    return False


def _is_of_word(letter: str) -> bool:
    """Of a word that blanks divide from the next; scripts such as Chinese do without."""
    return letter.isascii() and letter.isalnum()


def _names(error_text: str, wanted: str, failed: Asked) -> bool:
    """Whether an error names a value. To quote what was sent is not to name another value, though it may contain it."""
    for _, value in failed.values:
        sent = value.strip('"').casefold()
        if wanted in sent:
            error_text = error_text.replace(sent, " ")
    return wanted in error_text


def _is_informed(before: Asked, now: Asked, between: list[Done]) -> bool:
    """A new value of the attempt stands in the results between."""
    results = "\n".join(one.text for one in between).casefold()
    if now.is_json:
        known = {value for _, value in before.values}
        fresh = {value.strip('"').casefold() for _, value in now.values if value not in known}
        return any(len(value) >= FEWEST_VALUE_CHARS and value in results for value in fresh)
    fresh = {token for token in now.tokens - before.tokens if len(token) >= FEWEST_VALUE_CHARS}
    return not fresh.isdisjoint(_WORD.findall(results))
