"""The lesson of an episode, made from findings: it names what decided the episode, and what to do next time.

Its sentences are worded like those of a mid-turn reflection, but about an episode that has ended.
"""

from sidemirror_server.models.adapters.rules.advice import advice, named, telling
from sidemirror_server.models.adapters.rules.findings import FailedStep, Findings, findings_of
from sidemirror_server.models.adapters.rules.mid_turn import (
    confidence_of,
    loop_told,
    tool_name,
    what_failed,
    what_worked,
    worst_of,
)
from sidemirror_server.models.answers import AppliesWhenAnswer, CategoryWord, MemoryReflectionAnswer
from sidemirror_server.models.evidence import Evidence, EvidenceStep

# Seed reflection-engine-v2, "Importance Tuning": valuable insights are 0.6 to 0.8, minor issues 0.3 to 0.6. No
# rule finds a critical one.
_NAMED_FAILURE, _FAILURE, _LOOP, _SUCCESS, _NOTHING = 0.7, 0.6, 0.6, 0.5, 0.3
# How many steps of a loop or of a success a lesson names.
_MOST_STEPS = 4
_MOST_CITED = 8


def memory_reflection_answer(evidence: Evidence) -> MemoryReflectionAnswer:
    """The lesson that `evidence` supports. A success teaches what worked, unless a step failed on the way."""
    found = findings_of(evidence)
    failure = worst_of(found)
    loop = found.repeated or found.alternating
    sentences = [_outcome(evidence.outcome), what_worked(found)]
    if failure is not None:
        sentences.append(what_failed(found, failure))
    if loop:
        sentences.append(loop_told(found))
    steps = [failure.cause, failure.failed] if failure else []
    steps += [failure.recovered_by] if failure and failure.recovered_by else []
    steps += loop[-_MOST_STEPS:] or found.worked[-1:]
    category = _category(failure)
    return MemoryReflectionAnswer(
        reflection=" ".join(sentence for sentence in sentences if sentence),
        strategy=_strategy(found, failure, evidence.outcome),
        importance=_importance(found, failure),
        confidence=confidence_of(found, failure),
        tags=_tags(found, failure, evidence.outcome),
        applies_when=AppliesWhenAnswer(
            tools=_tools([failure.failed] if failure else found.worked[:_MOST_STEPS]),
            error_categories=(category,) if category else (),
        ),
        cited_event_ids=tuple(dict.fromkeys(step.event_id for step in steps))[:_MOST_CITED],
    )


def _outcome(outcome: str) -> str:
    return {
        "success": "The task was done.",
        "failure": "The task failed.",
        "partial": "The task was done in part.",
        "timeout": "The task ran out of time.",
        "error": "The task ended with an error.",
    }.get(outcome, "")


def _strategy(found: Findings, failure: FailedStep | None, outcome: str) -> str | None:
    if failure is not None:
        told = advice(failure.failed.category, tool_name(failure.failed), telling(failure.failed.text))
        if failure.recovered_by is not None:
            return f"{told} It worked then in this episode."
        return told
    if found.repeated or found.alternating:
        last = (found.repeated or found.alternating)[-1]
        return (
            f"Do not call {tool_name(last)} with the same arguments again: use its last result, or change one argument."
        )
    if outcome == "success" and len(found.worked) > 1:
        way = list(dict.fromkeys(tool_name(step) for step in found.worked))[:_MOST_STEPS]
        return f"For a task like this, use {', then '.join(way)}." if len(way) > 1 else None
    return None


def _importance(found: Findings, failure: FailedStep | None) -> float:
    if failure is not None:
        return _NAMED_FAILURE if _category(failure) else _FAILURE
    if found.repeated or found.alternating:
        return _LOOP
    return _SUCCESS if found.worked else _NOTHING


def _category(failure: FailedStep | None) -> CategoryWord | None:
    return named(failure.failed.category) if failure else None


def _tags(found: Findings, failure: FailedStep | None, outcome: str) -> tuple[str, ...]:
    tags = [_category(failure), *(tool.lower() for tool in _tools([failure.failed] if failure else found.worked))]
    if found.repeated or found.alternating:
        tags.append("loop")
    if outcome in ("success", "timeout"):
        tags.append(outcome)
    return tuple(dict.fromkeys(tag[:64] for tag in tags if tag))[:8]


def _tools(steps: tuple[EvidenceStep, ...] | list[EvidenceStep]) -> tuple[str, ...]:
    """The tools' names, each once; empty, blank and unprintable names are left out."""
    names = (step.name for step in steps)
    return tuple(dict.fromkeys(name for name in names if name and name.isprintable() and not name.isspace()))[:8]
