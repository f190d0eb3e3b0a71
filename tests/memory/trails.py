"""Made turns for the tests of recoveries: calls with their results, one after another, and what is observed of them."""

from typing import NamedTuple

from sidemirror_server.memory.recoveries.observation import Move, MoveKind, Observation, Where
from sidemirror_server.memory.recoveries.trail import Trail, apply, begin, close, end
from sidemirror_server.trace.event import Event, ToolCalled, ToolFailed, ToolReturned, UserMessage, What, origin_of
from sidemirror_server.vocabulary.ids import EventId, SessionId, TurnId
from sidemirror_server.vocabulary.scope import Scope

SCOPE = Scope("acme", "shop")
HOUR_US = 3_600 * 1_000_000
MISSING_TABLE = "Table 'shop.users' doesn't exist"
SIGNATURE = "sql|not_found|missing_table"


class Call(NamedTuple):
    """A call with its result. `failed`: the tool says so."""

    tool: str
    arguments: str
    result: str = "done"
    failed: bool = False
    agent: str = ""
    seconds: float = 1.0


class User(NamedTuple):
    """The user says something."""

    text: str


def sql(statement: str, result: str = "[]") -> Call:
    return Call("sql", statement, result)


def sql_failed(statement: str = "SELECT name FROM users", error: str = MISSING_TABLE) -> Call:
    return Call("sql", statement, error, failed=True)


def mixed(worked: int, tries: int) -> list[bool]:
    """So many that worked, evenly among the others."""
    return [(at + 1) * worked // tries > at * worked // tries for at in range(tries)]


def where(number: int = 1, identity: str = "") -> Where:
    session = SessionId(f"session {number}")
    return Where(SCOPE, TurnId(f"turn {number}"), session, identity or session)


def event(event_id: str, at_us: int, what: What, agent: str = "") -> Event:
    return Event(EventId(event_id), at_us, what, origin_of(what), agent)


def lived(trail: Trail, *happened: Call | User, start_us: int = HOUR_US) -> None:
    """Takes these into an open turn, one after another."""
    at_us = start_us + trail.place * 1_000_000
    for one in happened:
        name = f"e{trail.place}"
        at_us += 1_000_000
        if isinstance(one, User):
            apply(trail, event(name, at_us, UserMessage(one.text)))
            continue
        apply(trail, event(name, at_us, ToolCalled(name, one.tool, one.arguments), one.agent))
        at_us += round(one.seconds * 1_000_000)
        result = ToolFailed(name, one.result) if one.failed else ToolReturned(name, one.result)
        apply(trail, event(f"{name}r", at_us, result, one.agent))


def observed(*happened: Call | User, outcome: str = "success", number: int = 1) -> tuple[Observation, ...]:
    """What is observed of a session with one turn."""
    trail = Trail()
    begin(trail, where(number))
    lived(trail, *happened, start_us=number * HOUR_US)
    last = end(trail)
    return (*close(trail, outcome), *last)


SHOW_TABLES = Move(MoveKind.LOOKED_UP, ("SHOW TABLES",))
BLIND = Move(MoveKind.CHANGED)


def row(
    number: int,
    move: Move = SHOW_TABLES,
    *,
    worked: bool = True,
    informed: bool = True,
    advised: str = "",
    followed: bool = False,
    identity: str = "",
    signature: str = SIGNATURE,
    pause_ms: int = 0,
    at_us: int | None = None,
) -> Observation:
    """A made observation, one a session and an hour."""
    return Observation(
        f"observation {number}",
        where(number, identity),
        EventId("failure"),
        signature,
        "SELECT",
        move,
        worked=worked,
        at_us=number * HOUR_US if at_us is None else at_us,
        informed=informed,
        pause_ms=pause_ms,
        advised=advised,
        followed=followed,
    )


def only(*happened: Call | User, outcome: str = "success") -> Observation:
    found = observed(*happened, outcome=outcome)
    assert len(found) == 1
    return found[0]
