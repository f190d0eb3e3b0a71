"""A mid-turn reflection from findings: what failed and why, loops, and calls without a result.

It points to something to do, or is empty: that a call failed, and what its error said, the agent has read. The events
that it rests on are in `cited_event_ids` and not in the text. Recorded texts are quoted on one line and whole.
"""

from collections.abc import Sequence

from sidemirror_server.models.adapters.rules.advice import advice, named, telling, tells_more
from sidemirror_server.models.adapters.rules.decisive import decisive_steps, worst_of
from sidemirror_server.models.adapters.rules.findings import FailedStep, Findings, findings_of
from sidemirror_server.models.adapters.rules.wording import arguments_of, tool_name, what_it_says
from sidemirror_server.models.answers import MidTurnAnswer
from sidemirror_server.models.evidence import Evidence, EvidenceStep
from sidemirror_server.vocabulary.missing_names import missing_name

# Limit on the event ids for one claim; the schema takes 32 in all. Chosen here: more ids add nothing to a claim.
_MOST_CITED_FOR_ONE = 4
_FENCED = "The call begins with a code fence: call {tool} with what stands between the fences alone."


def mid_turn_answer(evidence: Evidence) -> MidTurnAnswer:
    """The reflection that `evidence` supports; its text is empty if there is nothing to say."""
    found = findings_of(evidence)
    failure, action = _pointed(found)
    loop = _loop(found)
    if loop and failure and failure.failed.category == "network":
        action = ""  # "once more" is what the agent did, over and over
    action = action or _next(found, loop)
    sentences = (
        what_failed(found, failure) if failure else "",
        loop_told(found) if loop else "",
        _unanswered(found),
    )
    cited = [*decisive_steps(found), *found.unanswered[:_MOST_CITED_FOR_ONE], *found.worked[-1:]]
    reflection = " ".join(filter(None, sentences)) if action else ""
    return MidTurnAnswer(
        reflection=reflection,
        suggested_action=action if reflection else None,
        confidence=confidence_of(found, worst_of(found)),
        cited_event_ids=tuple(dict.fromkeys(step.event_id for step in cited)),
    )


def what_failed(found: Findings, failure: FailedStep) -> str:
    """Describes `failure`: what led to it, what its error says, and whether the tool worked later. Empty if its error
    says nothing."""
    failed, cause = failure.failed, failure.cause
    said = what_it_says(failed.text)
    kind = kind_of(failure)
    if not said and not kind:
        return ""
    told = f"its error says {said}{f', a {kind} failure' if kind else ''}" if said else f"a {kind} failure"
    if cause is failed:
        call = tool_name(failed)
    elif cause.kind == "tool_call":
        arguments = arguments_of(cause.text)
        call = f"the call of {tool_name(failed)}{f' with {arguments}' if arguments else ''}"
    else:
        call = f"{tool_name(failed)} on what was said before it"
    others = sum(one.recovered_by is None for one in found.failures if one is not failure)
    more = f"; {others} more failed" if others else ""
    then = "; a later call of it worked" if failure.recovered_by else ""
    return f"The failure that counts is {call}: {told}{more}{then}."


def kind_of(failure: FailedStep) -> str:
    """The kind of a failure in words; empty if it is not known."""
    category = failure.failed.category or "unknown"
    return "" if category in ("unknown", "tool") else category.replace("_", " ")


def loop_told(found: Findings) -> str:
    """Describes the loop."""
    if found.repeated:
        return f"{tool_name(found.repeated[-1])} was called {len(found.repeated)} times with the same arguments."
    one, other = found.alternating[-2:]
    if one.name == other.name:
        return f"The last calls of {tool_name(one)} alternate between two sets of arguments without anything new."
    return f"The last calls alternate between {tool_name(one)} and {tool_name(other)} without anything new."


def loop_advised(found: Findings, loop: Sequence[EvidenceStep]) -> str:
    """What to do about a loop. One that failed each time has no result to use."""
    has_failed = loop[-1].event_id in {one.cause.event_id for one in found.failures}
    instead = (
        "change one argument, or use another source" if has_failed else "use its last result, or change one argument"
    )
    return f"Do not call {tool_name(loop[-1])} with the same arguments again: {instead}."


def _unanswered(found: Findings) -> str:
    shown = dict.fromkeys(tool_name(call) for call in found.unanswered[:_MOST_CITED_FOR_ONE])
    return f"Still open: {', '.join(shown)} never returned." if shown else ""


def _loop(found: Findings) -> tuple[EvidenceStep, ...]:
    """The calls of the loop that the agent is in; one that it has left is none."""
    loop = found.repeated or found.alternating
    return loop if loop and loop[-1] is found.calls[-1] else ()


def _next(found: Findings, loop: Sequence[EvidenceStep]) -> str:
    """What to do where no failure says so; empty if nothing."""
    if loop:
        return loop_advised(found, loop)
    if found.unanswered:
        return f"Get the result of {tool_name(found.unanswered[0])} or call it again before relying on it."
    return ""


def _pointed(found: Findings) -> tuple[FailedStep | None, str]:
    """The last failure that still stands and of which there is more to say than its error says, and what to do about
    it; None and empty if there is none. One that the agent has left behind is not told of."""
    if not found.failures:
        return None, ""
    latest = found.failures[-1]
    answered = {step.answers for step in found.worked}
    fences_work = any(_is_fenced(call) and call.event_id in answered for call in found.calls)
    for failure in reversed(found.failures):
        if failure.recovered_by is not None or not _is_met(failure, latest):
            continue
        if _is_fenced(failure.cause) and not fences_work:
            return failure, _FENCED.format(tool=tool_name(failure.failed))
        if tells_more(failure.failed.category, telling(failure.failed.text)) and (action := advised(failure)):
            return failure, action
    return None, ""


def _is_met(failure: FailedStep, latest: FailedStep) -> bool:
    """Whether the latest failing call has met an earlier failure again: it asks for the name that does not exist."""
    if failure is latest:
        return True
    missing = missing_name(failure.failed.text)
    return missing is not None and missing.name in latest.cause.text


def _is_fenced(call: EvidenceStep) -> bool:
    """Whether a call's text is a code block of Markdown, which no tool expects."""
    return call.kind == "tool_call" and call.text.lstrip().startswith("```")


def advised(failure: FailedStep, otherwise: str | None = None) -> str:
    """What to do about a failure; empty if its error names no cause. `otherwise`: its category, if it has no other."""
    failed, cause = failure.failed, failure.cause
    given = cause.text if cause.kind == "tool_call" else ""
    return advice(named(failed.category) or otherwise, tool_name(failed), telling(failed.text), given)


def confidence_of(found: Findings, failure: FailedStep | None) -> float:
    """0.2 without outcomes; rises towards 0.7 with their number (half of the rise at 4). 0.2 is added if the failure's
    error names its kind, or if there is a loop. At most 0.9, because a rule sees form and not meaning."""
    outcomes = len(found.worked) + len(found.failures)
    seen = 0.2 + 0.5 * outcomes / (outcomes + 4)
    named = failure is not None and failure.failed.category not in {None, "", "unknown"}
    return round(min(0.9, seen + (0.2 if named or found.repeated or found.alternating else 0.0)), 2)
