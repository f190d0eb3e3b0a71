"""The material of a recorded turn."""

from sidemirror_server.critique.material import ToolEvidence, material_of
from sidemirror_server.trace.event import Event, ToolCalled, ToolReturned, What, origin_of
from sidemirror_server.vocabulary.ids import EventId


def of(agent: str, event_id: str, what: What) -> Event:
    return Event(EventId(event_id), 1, what, origin_of(what), agent=agent)


def test_a_result_without_an_id_is_of_its_agents_last_open_call() -> None:
    """Seen to fail: it was of the last open call of any agent."""
    material = material_of(
        [
            of("lead", "1", ToolCalled("", "plan", "{}")),
            of("helper", "2", ToolCalled("", "search", '{"query": "prices"}')),
            of("lead", "3", ToolReturned("", "three steps")),
            of("helper", "4", ToolReturned("", "12 EUR")),
        ]
    )
    assert material.results == (
        ToolEvidence("plan", "three steps", arguments="{}", event_id="3"),
        ToolEvidence("search", "12 EUR", arguments='{"query": "prices"}', event_id="4"),
    )
