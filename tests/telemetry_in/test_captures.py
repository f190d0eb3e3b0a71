"""The recorded spans of seven set-ups become the turns that were written by hand, in whatever order they come."""

import random
from collections.abc import Sequence

import pytest

from sidemirror_server.telemetry_in.assembly import AssembledTurn, Waits, assemble
from sidemirror_server.telemetry_in.reading import span_of
from sidemirror_server.telemetry_in.spans import RawSpan, Span
from tests.telemetry_in.captures import ANSWER, EXPECTED, QUESTION, raw_spans

WAITS = Waits(5_000_000, 60_000_000, 1_800_000_000)
SHUFFLES = 200


def turns_of(spans: Sequence[RawSpan], *, with_content: bool = True) -> list[AssembledTurn]:
    by_trace: dict[str, list[Span]] = {}
    for raw in spans:
        by_trace.setdefault(raw.trace_id, []).append(span_of(raw, with_content=with_content))
    return [turn for of in by_trace.values() for turn in assemble(of, frozenset(), 5_000_000, WAITS).turns]


def check(name: str, turns: list[AssembledTurn]) -> None:
    session, call_ids, arguments, error = EXPECTED[name]
    assert len(turns) == 1
    turn = turns[0]
    assert (turn.session, turn.question, turn.answer, turn.is_error) == (session, QUESTION, ANSWER, False)
    assert [call.name for call in turn.calls] == ["run_sql"] * 3
    assert [call.arguments for call in turn.calls] == [arguments] * 3
    assert [(call.is_error, call.text) for call in turn.calls] == [(True, error)] * 3
    assert tuple(call.call_id for call in turn.calls) == (call_ids or ("", "", ""))
    assert len(turn.answers) == 4
    assert not turn.agents


@pytest.mark.parametrize("name", EXPECTED)
def test_a_set_up_as_it_was_sent(name: str) -> None:
    check(name, turns_of(raw_spans(name)))


@pytest.mark.parametrize("name", EXPECTED)
def test_any_order_and_duplicates(name: str) -> None:
    """Seen to fail when the spans of a turn are left in the order in which they came."""
    spans = raw_spans(name)
    expected = turns_of(spans)
    order = random.Random(name)
    for _ in range(SHUFFLES):
        doubled = [*spans, *order.sample(spans, len(spans) // 2)]
        order.shuffle(doubled)
        assert turns_of(doubled) == expected


@pytest.mark.parametrize("name", EXPECTED)
def test_without_content_there_is_none(name: str) -> None:
    (turn,) = turns_of(raw_spans(name), with_content=False)
    spans = (*turn.calls, *turn.answers)
    assert not any(span.arguments or span.text or span.question for span in spans)
    assert (turn.question, turn.answer) == ("", "")
    assert [call.is_error for call in turn.calls] == [True] * 3
