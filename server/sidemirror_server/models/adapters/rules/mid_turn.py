"""A mid-turn reflection from findings: what works, what failed first and why, loops, and what is open.

Every claim names the events that it rests on, as `[event id]`. Recorded texts are quoted on one line and clipped.
Quotation marks and brackets inside them are replaced.
"""

from sidemirror_server.models.adapters.rules.advice import advice, telling
from sidemirror_server.models.adapters.rules.findings import FailedStep, Findings, findings_of
from sidemirror_server.models.answers import MidTurnAnswer
from sidemirror_server.models.evidence import Evidence, EvidenceStep
from sidemirror_server.vocabulary.text import clip

# In code points. Chosen here: enough for an exception's line, too short for an elaborate order hidden in it.
_QUOTE_CHARS = 160
_NAME_CHARS = 48
_READ_CHARS = 4_000
# Limit on the event ids for one claim; the schema takes 32 in all. Chosen here: more ids add nothing to a claim.
_MOST_CITED_FOR_ONE = 4
_QUOTE_MARKS = str.maketrans({"“": "'", "”": "'", '"': "'", "`": "'", "[": "(", "]": ")", "<": "(", ">": ")"})


def mid_turn_answer(evidence: Evidence) -> MidTurnAnswer:
    """The reflection that `evidence` supports."""
    found = findings_of(evidence)
    failure = worst_of(found)
    sentences = [what_worked(found)]
    cited: list[EvidenceStep] = []
    if failure is not None:
        sentences.append(what_failed(found, failure))
        cited += [failure.cause, failure.failed, *([failure.recovered_by] if failure.recovered_by else [])]
    loop = found.repeated or found.alternating
    if loop:
        sentences.append(loop_told(found))
        cited += loop[-_MOST_CITED_FOR_ONE:]
    if found.basis is not None and not cited:
        sentences.append(f"What came after rests on {_cite(found.basis)}: check that first if the answer looks wrong.")
        cited.append(found.basis)
    elif found.claim is not None and not cited:
        sentences.append(f"Nothing has confirmed what was said in {_cite(found.claim)}: check that first.")
        cited.append(found.claim)
    still_open = _open(found, evidence)
    if still_open:
        sentences.append(still_open)
        cited += found.unanswered[:_MOST_CITED_FOR_ONE]
    cited += found.worked[-1:]
    return MidTurnAnswer(
        reflection=" ".join(sentences),
        suggested_action=_next(found, failure),
        confidence=confidence_of(found, failure),
        cited_event_ids=tuple(dict.fromkeys(step.event_id for step in cited)),
    )


def worst_of(found: Findings) -> FailedStep | None:
    """The first failure without a recovery, else the first failure; None without failures."""
    standing = (failure for failure in found.failures if failure.recovered_by is None)
    return next(standing, found.failures[0] if found.failures else None)


def what_worked(found: Findings) -> str:
    """How many calls worked, and the last of them."""
    done = len(found.worked) + len(found.failures)
    if not done:
        return "No tool has returned anything yet."
    if not found.worked:
        return f"None of the {done} tool calls so far has worked." if done > 1 else "The only tool call so far failed."
    last = found.worked[-1]
    return f"{len(found.worked)} of {done} tool calls worked, the last of them {tool_name(last)} {_cite(last)}."


def what_failed(found: Findings, failure: FailedStep) -> str:
    """Describes `failure`: what led to it, what its error says, and whether the tool worked later."""
    failed, cause = failure.failed, failure.cause
    said = (
        f"its error {_cite(failed)} says {quoted(telling(failed.text))}"
        if failed.text.strip()
        else f"{_cite(failed)} says no more"
    )
    kind = f", a {failed.category.replace('_', ' ')} failure" if failed.category not in {None, "", "unknown"} else ""
    if cause is failed:
        call = f"{tool_name(failed)}"
    elif cause.kind == "tool_call":
        call = f"the call of {tool_name(failed)} {_cite(cause)} with {quoted(cause.text)}"
    else:
        call = f"{tool_name(failed)} on what was said in {_cite(cause)}"
    others = len(found.failures) - 1
    more = f"; {others} more failed" if others else ""
    then = f"; it worked later {_cite(failure.recovered_by)}" if failure.recovered_by else ""
    return f"The first failure that counts is {call}: {said}{kind}{more}{then}."


def loop_told(found: Findings) -> str:
    """Describes the loop."""
    if found.repeated:
        loop = found.repeated
        cited = " ".join(map(_cite, loop[-_MOST_CITED_FOR_ONE:]))
        return f"{tool_name(loop[-1])} was called {len(loop)} times with the same arguments {cited}."
    one, other = found.alternating[-2:]
    cited = " ".join(map(_cite, found.alternating))
    return f"The last calls alternate between {tool_name(one)} and {tool_name(other)} without anything new {cited}."


def _open(found: Findings, evidence: Evidence) -> str:
    parts = []
    if found.unanswered:
        shown = found.unanswered[:_MOST_CITED_FOR_ONE]
        parts.append(", ".join(f"{tool_name(call)} {_cite(call)}" for call in shown) + " never returned")
    if found.unmentioned:
        parts.append("no call or result mentions " + ", ".join(map(quoted, found.unmentioned)))
    if not parts and found.drafted is None and (evidence.question or evidence.task):
        parts.append(f"the question {quoted(evidence.question or evidence.task)}")
    return f"Still open: {'; '.join(parts)}." if parts else ""


def _next(found: Findings, failure: FailedStep | None) -> str:
    loop = found.repeated or found.alternating
    if failure is not None and failure.recovered_by is None:
        return advice(failure.failed.category, tool_name(failure.failed), telling(failure.failed.text))
    if loop:
        again = f"Do not call {tool_name(loop[-1])} with the same arguments again"
        return f"{again}: use its last result, or change one argument."
    if found.unanswered:
        return f"Get the result of {tool_name(found.unanswered[0])} or call it again before relying on it."
    if found.unmentioned:
        return f"Look up {quoted(found.unmentioned[0])}, which the question names and nothing has covered yet."
    if found.worked:
        return f"Check that what {tool_name(found.worked[-1])} returned answers the question, then answer it."
    return "Call the tool that brings the first fact the question asks for."


def confidence_of(found: Findings, failure: FailedStep | None) -> float:
    """0.2 without outcomes; rises towards 0.7 with their number (half of the rise at 4). 0.2 is added if the failure's
    error names its kind, or if there is a loop. At most 0.9, because a rule sees form and not meaning."""
    outcomes = len(found.worked) + len(found.failures)
    seen = 0.2 + 0.5 * outcomes / (outcomes + 4)
    named = failure is not None and failure.failed.category not in {None, "", "unknown"}
    return round(min(0.9, seen + (0.2 if named or found.repeated or found.alternating else 0.0)), 2)


def _cite(step: EvidenceStep) -> str:
    return f"[{step.event_id}]"


def tool_name(step: EvidenceStep) -> str:
    """The tool's name in backquotes, on one line, clipped."""
    name = " ".join(step.name.translate(_QUOTE_MARKS).split())
    return f"`{clip(name, _NAME_CHARS)}`" if name else "the tool"


def quoted(text: str) -> str:
    """A recorded text in quotation marks, on one line, clipped."""
    shown = "".join(c if c.isprintable() else " " for c in text[:_READ_CHARS]).translate(_QUOTE_MARKS)
    return f"“{clip(' '.join(shown.split()), _QUOTE_CHARS)}”"
