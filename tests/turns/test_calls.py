"""A turn in memory and the fold that learning makes of its log see the same failures and look-ups."""

from hypothesis import given
from hypothesis import strategies as st

from sidemirror_server.memory.recoveries.observation import Where
from sidemirror_server.memory.recoveries.trail import Trail, apply, begin
from sidemirror_server.trace.event import ToolCalled, ToolFailed, ToolReturned
from sidemirror_server.turns.calls import TurnCalls
from sidemirror_server.vocabulary.ids import SessionId, TurnId
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE
from tests.memory.trails import event

_IDS = st.sampled_from(("", "a", "b", "c"))
_ASKED = st.sampled_from(
    (
        ("bash", '{"command": "ls -la"}'),
        ("bash", '{"command": "git branch -a", "why": "' + "long " * 400 + '"}'),
        ("bash", '{"command": "rm -rf build"}'),
        ("get_order", '{"id": "W1"}'),
        ("sql", "SHOW TABLES"),
        ("sql", "not json {"),
        ("list_things", "{" + '"x": ' * 20_000),
    )
)
_TEXTS = st.sampled_from(("", "fine", "Error: no such table: users", "command not found: foo", '{"error": "no user"}'))
_CALLS = st.builds(
    lambda call_id, what, polling: ToolCalled(call_id, what[0], what[1], polling=polling), _IDS, _ASKED, st.booleans()
)
_RETURNS = st.builds(
    lambda call_id, text, failed: ToolReturned(call_id, text, is_error=failed), _IDS, _TEXTS, st.booleans()
)
_FAILS = st.builds(ToolFailed, _IDS, _TEXTS)
_AGENTS = st.sampled_from(("", "reviewer"))


@given(st.lists(st.tuples(st.one_of(_CALLS, _RETURNS, _FAILS), _AGENTS), max_size=40), st.integers(0, 40))
def test_both_see_the_same(events: list[tuple[ToolCalled | ToolReturned | ToolFailed, str]], asked_at: int) -> None:
    calls, trail = TurnCalls(), Trail()
    begin(trail, Where(DEFAULT_SCOPE, TurnId(""), SessionId(""), ""))
    for number, (what, agent) in enumerate(events):
        one = event(f"e{number}", number, what, agent)
        calls.take(one)
        assert calls.failed == apply(trail, one)
        if number == asked_at:
            assert calls.looked_up == tuple(trail.looked_up)
    assert calls.looked_up == tuple(trail.looked_up)
