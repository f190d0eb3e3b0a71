"""How long the server waits before it goes on without something, in seconds."""

from sidemirror_server.memory.finding import embeddings as meanings
from sidemirror_server.rpc.boundary import recorded_turns
from sidemirror_server.rpc.thinking import report_events
from sidemirror_server.turns import critiquing, evictions, lessons, reflecting

# As tests/conftest.py has it.
TIMES = 10


def test_what_an_agent_waits_for_at_most() -> None:
    """What comes of each of them is tested elsewhere, with waits that are so many times as long."""
    assert lessons._READ_S == TIMES * 1.0, "the lessons of a plan"
    assert lessons._MEANING_S == TIMES * 0.5, "what they are looked up by"
    assert lessons._KEEP_S == TIMES * 0.5, "their receipt"
    assert reflecting._LESSONS_S == TIMES * 1.0, "the lessons of a reflection"
    assert critiquing._STORE_PATIENCE_S == TIMES * 1.0, "the store, before a critique"
    assert evictions._MOMENT_S == recorded_turns._MOMENT_S == TIMES * 1.0, "what was just recorded"
    assert report_events._TELL_S == TIMES * 0.1, "advice about a failing call"
    assert meanings._QUESTION_S == TIMES * 2.0, "the vector of a question"
