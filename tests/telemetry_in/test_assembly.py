"""Turns of spans: what belongs to which turn, when a turn is made, and what odd spans come to."""

import itertools
import random
import time
from typing import Any

import pytest

from sidemirror_server.telemetry_in.assembly import WHOLE, AssembledTurn, Assembly, Waits, assemble
from sidemirror_server.telemetry_in.spans import Span, SpanKind
from sidemirror_server.telemetry_in.turn_events import events_of
from sidemirror_server.trace.event import ModelReturned, ToolCalled, ToolReturned, TurnFinished

WAITS = Waits(settle_us=10, orphan_us=60, abandon_us=1_800)
AGENT, TOOL, MODEL, STEP, OTHER = SpanKind.AGENT, SpanKind.TOOL, SpanKind.MODEL, SpanKind.STEP, SpanKind.OTHER


def span(span_id: str, parent_id: str = "", kind: SpanKind = TOOL, start: int = 0, end: int = 100, **more: Any) -> Span:
    return Span(span_id, parent_id, kind, start, end, name=more.pop("name", span_id), **more)


def made(*spans: Span, recorded: frozenset[str] = frozenset(), quiet: int = 10, wholes: int = 0) -> Assembly:
    """What the spans come to, which is the same in any order."""
    found = assemble(spans, recorded, quiet, WAITS, wholes)
    order = random.Random(7)
    for _ in range(20):
        shuffled = [*spans, *order.sample(spans, len(spans) // 2)]
        order.shuffle(shuffled)
        assert assemble(shuffled, recorded, quiet, WAITS, wholes) == found
    return found


def members(turn: AssembledTurn) -> list[str]:
    return [one.span_id for one in (*turn.calls, *turn.answers)]


def test_each_outermost_agent_is_a_turn() -> None:
    found = made(
        span("web", kind=OTHER, end=90),
        span("a", "web", AGENT, 1, 40),
        span("t1", "a", start=2, end=3),
        span("b", "web", AGENT, 50, 80),
        span("t2", "b", start=60, end=61),
    )
    assert [(turn.top, members(turn)) for turn in found.turns] == [("a", ["t1"]), ("b", ["t2"])]
    assert found.taken == {"web", "a", "t1", "b", "t2"}


def test_nested_agents_are_one_turn_with_their_names() -> None:
    (turn,) = made(
        span("a", "", AGENT, 0, 100),
        span("t1", "a", start=1, end=50),
        span("sub", "t1", AGENT, 2, 49, name="researcher"),
        span("t2", "sub", start=3, end=4),
        span("m", "sub", MODEL, start=5, end=6),
    ).turns
    assert turn.top == "a"
    assert turn.agents == {"t1": "", "t2": "researcher", "m": "researcher"}


def test_one_agent_within_another_alone_is_no_second_agent() -> None:
    (turn,) = made(span("flow", "", AGENT), span("a", "flow", AGENT), span("t", "a")).turns
    assert (turn.top, turn.agents) == ("flow", {})


def test_a_trace_without_an_agent_is_a_turn() -> None:
    (turn,) = made(span("root", "", STEP), span("t", "root"), span("m", "root", MODEL, text="done")).turns
    assert (turn.top, members(turn), turn.answer) == (WHOLE, ["t", "m"], "done")


@pytest.mark.parametrize("known", [{"question": "How many?"}, {"text": "17"}, {"is_error": True}])
def test_an_agent_of_which_only_its_own_span_is_sent_is_a_turn(known: dict[str, Any]) -> None:
    """Seen to fail when a turn needs a call of a tool or a model: these spans were taken, and nothing came of them."""
    (turn,) = made(span("a", "", AGENT, **known)).turns
    assert (turn.question, turn.answer) == (known.get("question", ""), known.get("text", ""))
    assert isinstance(events_of(turn, 10)[-1].what, TurnFinished)
    assert made(span("a", "", AGENT)).turns == ()


def test_a_later_turn_of_the_whole_trace_has_a_number() -> None:
    """Seen to fail when all of them have one id: the second one was taken for the first, and nothing was counted."""
    first = made(span("r1", "", STEP), span("t1", "r1"))
    later = made(span("r2", "", STEP), span("t2", "r2"), recorded=first.taken, wholes=first.wholes)
    assert [turn.top for turn in (*first.turns, *later.turns)] == ["trace", "trace-2"]
    assert (first.wholes, later.wholes) == (1, 2)


def test_a_later_turn_of_the_whole_trace_may_have_answers_only() -> None:
    """Seen to fail when any earlier turn is one of an agent: the answer was gone, and nobody counted it."""
    first = made(span("m1", kind=MODEL, text="one"))
    later = made(span("m2", kind=MODEL, text="two"), recorded=first.taken, wholes=first.wholes)
    assert [(turn.top, turn.answer) for turn in (*first.turns, *later.turns)] == [("trace", "one"), ("trace-2", "two")]
    beside = made(span("a", "", AGENT), span("t", "a"))
    assert made(span("m", kind=MODEL, text="x"), recorded=beside.taken, wholes=beside.wholes).turns == ()


def test_nodes_that_are_called_agents_do_not_split_a_run() -> None:
    """As LangGraph's agent `agent` under OpenInference. Seen to fail when these nodes are agents: three turns."""
    (turn,) = made(
        span("graph", "", STEP, 0, 100),
        *(span("n1", "graph", STEP, 1, 20, name="agent"), span("m1", "n1", MODEL, 2, 19)),
        *(span("n2", "graph", STEP, 21, 40, name="tools"), span("t", "n2", TOOL, 22, 39)),
        *(
            span("inner", "t", AGENT, 23, 38, name="researcher_agent", is_within=True),
            span("t2", "inner", TOOL, 24, 25),
        ),
        *(span("n3", "graph", STEP, 41, 60, name="agent"), span("m2", "n3", MODEL, 42, 59, text="done")),
    ).turns
    assert (turn.top, members(turn)) == (WHOLE, ["t", "t2", "m1", "m2"])
    assert turn.agents == {"t": "", "t2": "researcher_agent", "m1": "", "m2": ""}


def test_an_agent_that_did_nothing_hides_no_answer() -> None:
    """Seen to fail when any span of an agent makes what is beside it a turn only if it calls tools."""
    (turn,) = made(
        span("root", "", STEP), span("before_agent", "root", AGENT), span("m", "root", MODEL, text="17")
    ).turns
    assert (turn.top, turn.answer) == (WHOLE, "17")


@pytest.mark.parametrize("kind", [STEP, OTHER])
def test_a_conversation_named_above_the_agent_is_taken(kind: SpanKind) -> None:
    """Seen to fail when only the agent and what lies below it are asked."""
    above = span("request", "", kind, session="c")
    (turn,) = made(above, span("a", "request", AGENT), span("t", "a")).turns
    assert (turn.top, turn.session) == ("a", "c")
    (own,) = made(above, span("a", "request", AGENT, session="own"), span("t", "a")).turns
    assert own.session == "own"


def test_an_agent_of_another_process_is_within_its_caller() -> None:
    """Its spans come by another exporter, under the id that the caller has sent along."""
    (turn,) = made(
        span("a", "", AGENT, 0, 100, name="caller"),
        *(span("t", "a", TOOL, 1, 90, name="ask"), span("remote", "t", AGENT, 5, 80, name="callee")),
        span("t2", "remote", TOOL, 6, 7),
        quiet=10,
    ).turns
    assert (turn.top, turn.agents) == ("a", {"t": "", "t2": "callee"})


def test_what_an_agent_did_not_do_is_no_turn_unless_it_calls_tools() -> None:
    beside = (span("web", kind=OTHER), span("a", "web", AGENT, 10, 20), span("t", "a", start=11, end=12))
    assert [turn.top for turn in made(*beside, span("m", "web", MODEL, 1, 2)).turns] == ["a"]
    assert [turn.top for turn in made(*beside, span("t2", "web", TOOL, 1, 2)).turns] == [WHOLE, "a"]


@pytest.mark.parametrize(("quiet", "turns"), [(9, 0), (10, 1)])
def test_a_turn_waits_for_what_is_late(quiet: int, turns: int) -> None:
    found = made(span("a", "", AGENT), span("t", "a"), quiet=quiet)
    assert (len(found.turns), found.again_us) == (turns, None if turns else 10)


@pytest.mark.parametrize(("quiet", "turns"), [(59, 0), (60, 1)])
def test_an_agent_whose_caller_is_unknown_waits_longer(quiet: int, turns: int) -> None:
    found = made(span("a", "elsewhere", AGENT), span("t", "a"), quiet=quiet)
    assert (len(found.turns), found.again_us) == (turns, None if turns else 60)


@pytest.mark.parametrize(("quiet", "tops"), [(1_799, []), (1_800, [WHOLE])])
def test_a_top_that_never_comes(quiet: int, tops: list[str]) -> None:
    found = made(span("t1", "lost", start=1, end=2), span("t2", "lost", start=3, end=4), quiet=quiet)
    assert [turn.top for turn in found.turns] == tops


def test_spans_whose_parents_were_not_sampled_belong_to_the_agent_around_them() -> None:
    (turn,) = made(span("a", "", AGENT, 0, 100), span("t", "not sampled", start=10, end=20)).turns
    assert members(turn) == ["t"]


def test_agents_side_by_side_under_an_unknown_span_are_two_turns() -> None:
    found = made(
        *(span("a", "fan", AGENT, 0, 100), span("b", "fan", AGENT, 10, 20)),
        *(span("t1", "a", start=1, end=2), span("t2", "b", start=11, end=12)),
        quiet=60,
    )
    assert [(turn.top, members(turn)) for turn in found.turns] == [("a", ["t1"]), ("b", ["t2"])]


def test_what_comes_after_its_turn_is_late() -> None:
    found = made(span("t", "a"), span("x", "t"), recorded=frozenset({"a"}))
    assert found == Assembly((), frozenset({"t", "x"}), 2, None)


def test_a_duplicate_after_its_turn_is_nothing() -> None:
    found = made(span("a", "", AGENT), span("t", "a"), recorded=frozenset({"a", "t"}))
    assert found == Assembly((), frozenset(), 0, None)


def test_a_second_run_in_the_trace_waits_for_its_agent() -> None:
    waiting = span("t2", "b", start=200, end=210)
    assert made(waiting, recorded=frozenset({"a", "t1"})).again_us == 1_800
    (turn,) = made(waiting, span("b", "", AGENT, 190, 220), recorded=frozenset({"a", "t1"})).turns
    assert (turn.top, members(turn)) == ("b", ["t2"])


def test_instrumented_twice_is_told_once() -> None:
    (turn,) = made(
        span("a", "", AGENT),
        *(span("m1", "a", MODEL), span("m2", "m1", MODEL)),
        *(span("t1", "a", name="sql"), span("t2", "t1", name="sql"), span("t3", "t1", name="connect")),
    ).turns
    assert members(turn) == ["t1", "t3", "m1"]


@pytest.mark.parametrize("above", [("x", "y", "x"), ("x", "x")], ids=["in a circle", "its own parent"])
def test_spans_in_a_circle_end(above: tuple[str, ...]) -> None:
    """Seen to fail, by its time, when whoever climbs to the top does not look where it was."""
    circle = [span(one, parent, AGENT) for one, parent in itertools.pairwise(above)]
    found = made(*circle, span("t", "x"), quiet=1_800)
    assert [members(turn) for turn in found.turns] in ([["t"]], [[], ["t"]])


def test_calls_in_a_circle_are_calls() -> None:
    """Each stands above the other, with the same name. Seen to fail when each was taken for the other told again."""
    calls = [span("x", "y", start=10, end=20, name="sql"), span("y", "x", start=30, end=40, name="sql")]
    (turn,) = made(span("a", "", AGENT), *calls, quiet=1_800).turns
    assert members(turn) == ["x", "y"]


def test_ten_thousand_spans_below_each_other_are_seconds_at_most() -> None:
    chain = [span(str(number), str(number - 1) if number else "", STEP) for number in range(10_000)]
    began_s = time.monotonic()
    assemble([*chain, span("t", "9999")], frozenset(), 1_800, WAITS)
    assert time.monotonic() - began_s < 60


def test_thousands_of_agents_around_each_other_without_parents_are_seconds_at_most() -> None:
    agents = [span(f"a{number}", f"gone{number}", AGENT, number, 20_000 - number) for number in range(3_000)]
    began_s = time.monotonic()
    found = assemble([*agents, span("t", "gone", start=9_999, end=10_001)], frozenset(), 1_800, WAITS)
    assert time.monotonic() - began_s < 20
    assert [members(turn) for turn in found.turns] == [["t"]]


def test_two_different_spans_with_one_id_are_the_same_one_in_any_order() -> None:
    (turn,) = made(span("a", "", AGENT), span("t", "a", text="one"), span("t", "a", text="other")).turns
    assert [call.text for call in turn.calls] == ["one"]


def test_parallel_calls_begin_before_the_first_one_ends() -> None:
    (turn,) = made(
        span("a", "", AGENT, 0, 100),
        span("m1", "a", MODEL, 1, 10, text=""),
        *(span("t1", "a", TOOL, 10, 30), span("t2", "a", TOOL, 10, 20)),
        span("m2", "a", MODEL, 30, 40, text="done"),
    ).turns
    told = [(event.event_id, type(event.what)) for event in events_of(turn, 100)]
    assert told == [
        *(("m1-m", ModelReturned), ("t1-c", ToolCalled), ("t2-c", ToolCalled)),
        *(("t2-r", ToolReturned), ("t1-r", ToolReturned), ("m2-m", ModelReturned), ("a-f", TurnFinished)),
    ]


def test_an_answer_that_only_the_agents_span_has_is_told_beside_its_model() -> None:
    """As where content is captured of the agent alone. Seen to fail when any span of a model stands for the answer."""
    chat = span("m", "a", MODEL, start=5, end=6, input_tokens=7)
    (turn,) = made(span("a", "", AGENT, text="Twelve."), chat).turns
    said = [event.what for event in events_of(turn, 10) if isinstance(event.what, ModelReturned)]
    assert said == [ModelReturned("", 7, 0), ModelReturned("Twelve.")]
    (turn,) = made(span("a", "", AGENT, text="Twelve."), chat, span("n", "a", MODEL, start=7, end=8, text="12")).turns
    assert [one.what for one in events_of(turn, 10)][1] == ModelReturned("12")
    assert len(events_of(turn, 10)) == 3


def test_a_long_turn_keeps_its_end() -> None:
    (turn,) = made(span("a", "", AGENT), *(span(f"t{number}", "a") for number in range(20))).turns
    events = events_of(turn, 10)
    assert (len(events), type(events[-1].what)) == (10, TurnFinished)


def test_a_call_that_took_no_time_begins_first() -> None:
    (turn,) = made(span("a", "", AGENT), span("t", "a", start=5, end=5)).turns
    assert [event.event_id for event in events_of(turn, 10)] == ["t-c", "t-r", "a-f"]
