"""The lesson of an episode, made from findings: it names what decided the episode, and what to do next time.

It holds nothing that belongs to one episode alone: no ids of events, no values, no quotation that had to be cut. It is
empty where it could only say how the task ended, or that a call failed and a later one worked.
"""

from sidemirror_server.models.adapters.rules.advice import named, telling, tells_more
from sidemirror_server.models.adapters.rules.decisive import decisive_steps, worst_of
from sidemirror_server.models.adapters.rules.findings import FailedStep, Findings, findings_of
from sidemirror_server.models.adapters.rules.mid_turn import (
    advised,
    confidence_of,
    kind_of,
    loop_advised,
    loop_told,
)
from sidemirror_server.models.adapters.rules.wording import quoted, tool_name, what_it_says_to_all
from sidemirror_server.models.answers import AppliesWhenAnswer, CategoryWord, MemoryReflectionAnswer
from sidemirror_server.models.evidence import Evidence, EvidenceStep
from sidemirror_server.vocabulary.correction import corrects
from sidemirror_server.vocabulary.telling import without_values

# Seed reflection-engine-v2, "Importance Tuning": valuable insights are 0.6 to 0.8, minor issues 0.3 to 0.6. No
# rule finds a critical one.
_CORRECTION, _NAMED_FAILURE, _FAILURE, _LOOP, _SUCCESS, _NOTHING = 0.7, 0.7, 0.6, 0.6, 0.5, 0.3
# How many steps of a loop or of a success a lesson names.
_MOST_STEPS = 4
_MOST_CITED = 8


def memory_reflection_answer(evidence: Evidence) -> MemoryReflectionAnswer:
    """The lesson that `evidence` supports. The tools that a success used are no lesson: every task of an
    agent uses them."""
    found = findings_of(evidence)
    correction = _correction(evidence.steps)
    failure = worst_of(found)
    told = _what_failed(failure) if failure else ""
    reported = what_it_says_to_all(evidence.error) if evidence.outcome != "success" else ""
    failure = failure if told or reported else None
    loop = found.repeated or found.alternating
    strategy = _strategy(found, failure, evidence)
    if failure is not None and failure.recovered_by and not (strategy or reported or loop or correction):
        told = ""
    sentences = [
        f"The user corrected the agent: {quoted(correction.text)}." if correction else "",
        told,
        f"The task failed because of {reported}." if reported and reported not in told else "",
        loop_told(found) if loop else "",
    ]
    steps = [*([correction] if correction else []), *decisive_steps(found), *found.worked[-1:]]
    category = _category(failure) or (named(evidence.error_category) if reported else None)
    return MemoryReflectionAnswer(
        reflection=" ".join(filter(None, sentences)),
        strategy=strategy or None,
        importance=_importance(found, bool(failure or reported), category, correction),
        confidence=confidence_of(found, failure),
        tags=_tags(found, failure, category, evidence.outcome),
        applies_when=AppliesWhenAnswer(
            tools=_tools([failure.failed] if failure else found.worked[:_MOST_STEPS]),
            error_categories=(category,) if category else (),
        ),
        cited_event_ids=tuple(dict.fromkeys(step.event_id for step in steps))[:_MOST_CITED],
    )


def _correction(steps: tuple[EvidenceStep, ...]) -> EvidenceStep | None:
    """The last message in which the user corrects what the agent did before, if it can be told to others: whole, and
    without values that belong to this user."""
    has_acted = False
    found = None
    for step in steps:
        if step.kind == "user_message" and has_acted and corrects(step.text) and quoted(step.text):
            found = step if without_values(step.text) == step.text else found
        has_acted = has_acted or step.kind in ("model_text", "response", "tool_call")
    return found


def _what_failed(failure: FailedStep) -> str:
    """What failed and what its error says; empty if the error says nothing."""
    said, kind = what_it_says_to_all(failure.failed.text), kind_of(failure)
    if not said and not (kind and advised(failure)):
        return ""
    told = f": its error says {said}{f', a {kind} failure' if kind else ''}" if said else f" with a {kind} failure"
    then = "; a later call of it worked" if failure.recovered_by else ""
    return f"{_begun(tool_name(failure.failed))} failed{told}{then}."


def _begun(name: str) -> str:
    return name if name.startswith("`") else "A call"


def _strategy(found: Findings, failure: FailedStep | None, evidence: Evidence) -> str:
    if failure is not None:
        category = named(failure.failed.category) or evidence.error_category
        is_told = tells_more(category, telling(failure.failed.text))
        return advised(failure, evidence.error_category) if is_told else ""
    loop = found.repeated or found.alternating
    return loop_advised(found, loop) if loop else ""


def _importance(
    found: Findings, has_failed: bool, category: CategoryWord | None, correction: EvidenceStep | None
) -> float:
    if correction is not None:
        return _CORRECTION
    if has_failed:
        return _NAMED_FAILURE if category else _FAILURE
    if found.repeated or found.alternating:
        return _LOOP
    return _SUCCESS if found.worked else _NOTHING


def _category(failure: FailedStep | None) -> CategoryWord | None:
    return named(failure.failed.category) if failure else None


def _tags(found: Findings, failure: FailedStep | None, category: CategoryWord | None, outcome: str) -> tuple[str, ...]:
    tags = [category, *(tool.lower() for tool in _tools([failure.failed] if failure else found.worked))]
    if found.repeated or found.alternating:
        tags.append("loop")
    if outcome in ("success", "timeout"):
        tags.append(outcome)
    return tuple(dict.fromkeys(tag[:64] for tag in tags if tag))[:8]


def _tools(steps: tuple[EvidenceStep, ...] | list[EvidenceStep]) -> tuple[str, ...]:
    """The tools' names, each once; empty, blank and unprintable names are left out."""
    names = (step.name for step in steps)
    return tuple(dict.fromkeys(name for name in names if name and name.isprintable() and not name.isspace()))[:8]
