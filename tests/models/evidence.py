"""Evidence for tests, written as a short story."""

from sidemirror_server.models.evidence import Evidence, EvidenceStep
from sidemirror_server.vocabulary.ids import EventId


def step(
    event_id: str,
    kind: str,
    name: str = "",
    text: str = "",
    *,
    agent: str = "",
    category: str | None = None,
    answers: str | None = None,
    polling: bool = False,
) -> EvidenceStep:
    """One step; a failure has a category."""
    return EvidenceStep(
        EventId(event_id),
        kind,
        agent,
        name,
        text,
        is_error=kind == "tool_failure",
        category=category,
        polling=polling,
        answers=EventId(answers) if answers else None,
    )


def call(event_id: str, name: str = "search", arguments: str = '{"q": "x"}', *, polling: bool = False) -> EvidenceStep:
    return step(event_id, "tool_call", name, arguments, polling=polling)


def result(event_id: str, answers: str, text: str = "found it", name: str = "search") -> EvidenceStep:
    return step(event_id, "tool_result", name, text, answers=answers)


def failure(
    event_id: str, answers: str | None, text: str = "boom", name: str = "search", category: str = "unknown"
) -> EvidenceStep:
    return step(event_id, "tool_failure", name, text, category=category, answers=answers)


def said(event_id: str, text: str = "Let me see.", agent: str = "") -> EvidenceStep:
    return step(event_id, "model_text", text=text, agent=agent)


def evidence(*steps: EvidenceStep, question: str = "Where is order W17?") -> Evidence:
    return Evidence(task="help the customer", question=question, steps=steps, turn_count=1)
