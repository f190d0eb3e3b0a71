"""Makes turns of the spans of a trace. Pure: the same spans give the same turns, in whatever order they came.

A turn is what lies below an agent's outermost span; where a trace has no agent, it is the whole trace. Children arrive
before their parents, and some spans never arrive. So a turn is made once its top is known and the trace was quiet for a
while, and a span that has lost its parents belongs to the agent within whose time it lies.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from sidemirror_server.telemetry_in.spans import Span, SpanKind

# What lies above an agent is waited for this long: a caller's span may be sent by another process, or not at all.
# Chosen here: many times the 5 s after which exporters send.
LONGEST_ORPHAN_S = 60.0
# Ancestors that are looked at, and agents around each other. Chosen here: no agent nests deeper.
_DEEPEST = 200
# Agents in whose time a span may lie: the longest ones. Chosen here: no run has more whose parents are missing, and a
# forged trace takes seconds at most.
_MOST_AROUND = 1_000
# The turn of a whole trace has this in the place of its top span; a later one of the trace has its number too.
WHOLE = "trace"


class Waits(msgspec.Struct, frozen=True):
    """How long to wait, in microseconds since the trace's last span came. `settle_us`: for late spans of a turn whose
    top is known; `orphan_us`: for what lies above an agent; `abandon_us`: for a top that does not come."""

    settle_us: int
    orphan_us: int
    abandon_us: int


class AssembledTurn(msgspec.Struct, frozen=True):
    """A turn. `top`: the id of its outermost agent span, or that of a whole trace. `calls` and `answers`: its tool and
    model spans, by their start. `agents`: by span, the name of a nested agent that it belongs to."""

    top: str
    start_us: int
    end_us: int
    is_error: bool
    session: str
    question: str
    answer: str
    calls: tuple[Span, ...]
    answers: tuple[Span, ...]
    agents: Mapping[str, str] = {}


class Assembly(msgspec.Struct, frozen=True):
    """What a trace has come to. `turns`: by their start. `taken`: the ids of the spans that need not be kept any more.
    `late`: how many of these came after their turn. `again_us`: how long after the last span to look again; None: all
    is done. `wholes`: how many turns of the whole trace there are, with the earlier ones."""

    turns: tuple[AssembledTurn, ...]
    taken: frozenset[str]
    late: int
    again_us: int | None
    wholes: int = 0


def assemble(spans: Iterable[Span], recorded: frozenset[str], quiet_us: int, waits: Waits, wholes: int = 0) -> Assembly:
    """The turns that are complete. `recorded`: the spans of earlier turns of the trace. `quiet_us`: how long ago the
    last span came. `wholes`: how many of the earlier turns were of the whole trace."""
    tree = _Tree(spans, recorded)
    groups: dict[str, list[Span]] = {}
    for span in tree.spans.values():
        groups.setdefault(tree.owner(span), []).append(span)
    late = groups.pop(_LATE, [])
    taken, turns, again = {span.span_id for span in late}, [], []
    found = {top: _turn(tree, top, members) for top, members in groups.items()}
    # Where earlier turns were of the whole trace, it has no agent so far.
    has_agents = bool(recorded and not wholes) or any(
        _is_of_record(turn, has_agents=True) for top, turn in found.items() if top != WHOLE
    )
    for top, turn in found.items():
        wait_us = _wait_us(tree, top, waits)
        if quiet_us < wait_us:
            again.append(wait_us)
            continue
        taken |= {span.span_id for span in groups[top]}
        if not _is_of_record(turn, has_agents=has_agents):
            continue
        if top == WHOLE:
            wholes += 1
            turn = msgspec.structs.replace(turn, top=WHOLE if wholes == 1 else f"{WHOLE}-{wholes}")
        turns.append(turn)
    in_order = sorted(turns, key=lambda turn: (turn.start_us, turn.top))
    return Assembly(tuple(in_order), frozenset(taken), len(late), min(again) if again else None, wholes)


_LATE = "late"


class _Tree:
    """The spans of a trace, each id once, and what lies above them."""

    def __init__(self, spans: Iterable[Span], recorded: frozenset[str]) -> None:
        self.spans: dict[str, Span] = {}
        for span in spans:
            known = self.spans.get(span.span_id)
            if span.span_id not in recorded and (known is None or _sooner(span, known)):
                self.spans[span.span_id] = span
        self._recorded = recorded
        agents = (span for span in self.spans.values() if span.kind is SpanKind.AGENT and not span.is_within)
        by_length = sorted(agents, key=lambda agent: (agent.end_us - agent.start_us, agent.span_id))
        self._agents = by_length[-_MOST_AROUND:]
        self._climbed: dict[str, tuple[str, str, Span | None]] = {}
        self.has_top = any(not span.parent_id for span in self.spans.values())

    def above(self, span: Span) -> tuple[list[Span], str]:
        """The span with its ancestors, and the id above the last of them, which is not there; empty at the top."""
        path, seen = [span], {span.span_id}
        while (parent := self.spans.get(path[-1].parent_id)) is not None:
            if parent.span_id in seen or len(path) >= _DEEPEST:
                return path, parent.span_id
            path.append(parent)
            seen.add(parent.span_id)
        return path, path[-1].parent_id

    def owner(self, span: Span) -> str:
        """The outermost agent span that this one belongs to, WHOLE, or _LATE."""
        found, seen = WHOLE, set[str]()
        while True:
            outermost, missing, around = self._climb(span)
            if missing in self._recorded:
                return _LATE
            found = outermost or found
            if around is None or around.span_id in seen or len(seen) >= _DEEPEST:
                return found
            seen.add(around.span_id)
            found, span = around.span_id, around

    def _climb(self, span: Span) -> tuple[str, str, Span | None]:
        """Of the span and its ancestors: the outermost agent's id, empty if none is one; the id above them that is not
        there; and the agent in whose time they lie. Kept, since many spans lie within the same agents."""
        if span.span_id not in self._climbed:
            path, missing = self.above(span)
            agents = (one for one in reversed(path) if one.kind is SpanKind.AGENT and not one.is_within)
            outermost = next((one.span_id for one in agents), "")
            self._climbed[span.span_id] = outermost, missing, self._around(path[-1]) if missing else None
        return self._climbed[span.span_id]

    def _around(self, top: Span) -> Span | None:
        """The shortest agent span in whose time a span without its parent lies; None if there is none. What has the
        same parent stands beside it, not around it."""
        longer = (
            agent
            for agent in self._agents
            if agent.start_us <= top.start_us
            and top.end_us <= agent.end_us
            and (agent.start_us, agent.end_us) != (top.start_us, top.end_us)
            and agent.parent_id != top.parent_id
        )
        return next(longer, None)


def _sooner(one: Span, other: Span) -> bool:
    """Which of two different spans with an id counts: the same one in whatever order they came."""
    return msgspec.json.encode(one) < msgspec.json.encode(other)


def _wait_us(tree: _Tree, top: str, waits: Waits) -> int:
    """How long the trace has to be quiet before a turn is made."""
    if top == WHOLE:
        return waits.settle_us if tree.has_top else waits.abandon_us
    _, missing = tree.above(tree.spans[top])
    return waits.orphan_us if missing else waits.settle_us


def _is_of_record(turn: AssembledTurn, *, has_agents: bool) -> bool:
    """Whether anything is known of the turn. Beside agents, what belongs to none of them is a turn only if it calls
    tools. Of an agent whose model and tools are not instrumented, its question, answer or failure is enough."""
    if turn.top == WHOLE:
        return bool(turn.calls or (turn.answers and not has_agents))
    return bool(turn.calls or turn.answers or turn.question or turn.answer or turn.is_error)


def _turn(tree: _Tree, top: str, members: Sequence[Span]) -> AssembledTurn:
    by_start = sorted(members, key=lambda span: (span.start_us, span.end_us, span.span_id))
    calls = tuple(span for span in by_start if span.kind is SpanKind.TOOL and not _repeats(tree, span))
    answers = tuple(span for span in by_start if span.kind is SpanKind.MODEL and not _repeats(tree, span))
    agent = tree.spans.get(top)
    agents = [span for span in by_start if span.kind is SpanKind.AGENT]
    # A span above the agent's may name the conversation too, such as that of the request that it serves.
    above = tree.above(agent)[0][1:] if agent else []
    named = [*([agent] if agent else []), *agents, *by_start]
    answer = next((span.text for span in reversed(answers) if span.text), "")
    return AssembledTurn(
        top,
        agent.start_us if agent else min(span.start_us for span in members),
        agent.end_us if agent else max(span.end_us for span in members),
        agent.is_error if agent else any(span.is_error for span in members if not span.parent_id),
        session=next((span.session for span in (*named, *above) if span.session), ""),
        question=next((span.question for span in (*answers, *named) if span.question), ""),
        answer=answer or next((span.text for span in named if span.kind is SpanKind.AGENT and span.text), ""),
        calls=calls,
        answers=answers,
        agents=_nested(tree, top, (*calls, *answers)),
    )


def _repeats(tree: _Tree, span: Span) -> bool:
    """Whether the span tells again what one above it tells: frameworks and libraries may both be instrumented."""
    path, beyond = tree.above(span)
    nearest = next((one for one in path[1:] if one.kind in (span.kind, SpanKind.AGENT)), None)
    # In a circle each stands above the other, and none would be told.
    is_in_circle = any(one.span_id == beyond for one in path)
    if nearest is None or nearest.kind is SpanKind.AGENT or is_in_circle:
        return False
    return span.kind is SpanKind.MODEL or nearest.name == span.name


def _nested(tree: _Tree, top: str, spans: Sequence[Span]) -> dict[str, str]:
    """By span, the nearest agent below the top. Empty if there is only one agent."""
    found: dict[str, str] = {}
    for span in spans:
        path, _ = tree.above(span)
        agent = next((one for one in path if one.kind is SpanKind.AGENT and one.span_id != top), None)
        found[span.span_id] = "" if agent is None else agent.name or agent.span_id
    return found if len(set(found.values())) > 1 else {}
