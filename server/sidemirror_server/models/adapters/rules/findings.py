"""The findings in a turn's evidence: failed calls, repeated calls, open calls and questions. No prose, no guesses."""

from collections.abc import Sequence

import msgspec

from sidemirror_server.models.evidence import Evidence, EvidenceStep

# A call repeated this often is a loop (decision 016).
REPEATED_FROM = 3
# A long turn's evidence has a gap in its middle; only its last 100 steps are sure to have both a call and its result.
_WHOLE_STEPS = 100


class FailedStep(msgspec.Struct, frozen=True):
    """A failed step. `cause` is the call of the step, or else the model's text before it, or else the step itself."""

    failed: EvidenceStep
    cause: EvidenceStep
    # A later, successful call of the same tool by the same agent.
    recovered_by: EvidenceStep | None


class Findings(msgspec.Struct, frozen=True):
    """Findings, each oldest first.

    `repeated`: the calls of the last loop of equal, non-polling calls. `alternating`: the last four calls, if they are
    A-B-A-B. `unanswered`: calls without a result after which the agent went on. `basis`: the first good result if its
    call is known, else the model's text before that result. `claim`: the agent's second text, because agents plan in
    the first; the first text if there is no second. `drafted`: the last response, if any.
    """

    calls: tuple[EvidenceStep, ...]
    worked: tuple[EvidenceStep, ...]
    failures: tuple[FailedStep, ...]
    repeated: tuple[EvidenceStep, ...]
    alternating: tuple[EvidenceStep, ...]
    unanswered: tuple[EvidenceStep, ...]
    basis: EvidenceStep | None
    claim: EvidenceStep | None
    drafted: EvidenceStep | None


def findings_of(evidence: Evidence) -> Findings:
    """The findings in `evidence`."""
    steps = evidence.steps
    calls = tuple(step for step in steps if step.kind == "tool_call")
    outcomes = [step for step in steps if step.kind in {"tool_result", "tool_failure"}]
    worked = tuple(step for step in outcomes if not _failed(step))
    active = [call for call in calls if not call.polling]
    return Findings(
        calls=calls,
        worked=worked,
        failures=_failures(steps),
        repeated=_repeated(active),
        alternating=_alternating(active),
        unanswered=_unanswered(steps[-_WHOLE_STEPS:]),
        basis=_basis(steps),
        claim=_claim(steps),
        drafted=next((step for step in reversed(steps) if step.kind == "response"), None),
    )


def _failed(step: EvidenceStep) -> bool:
    return step.is_error or step.kind == "tool_failure"


def _failures(steps: Sequence[EvidenceStep]) -> tuple[FailedStep, ...]:
    by_id = {step.event_id: step for step in steps}
    last_worked: dict[tuple[str, str], tuple[int, EvidenceStep]] = {}
    for place, step in enumerate(steps):
        if step.kind == "tool_result" and not step.is_error:
            last_worked[step.agent, step.name] = place, step
    failures = []
    said: EvidenceStep | None = None
    for place, step in enumerate(steps):
        if step.kind in {"model_text", "response"}:
            said = step
        elif step.kind in {"tool_result", "tool_failure"} and _failed(step):
            cause = by_id.get(step.answers) if step.answers else said
            worked_at, worked = last_worked.get((step.agent, step.name), (-1, None))
            failures.append(FailedStep(step, cause or step, worked if worked_at > place else None))
    return tuple(failures)


def _basis(steps: Sequence[EvidenceStep]) -> EvidenceStep | None:
    said: EvidenceStep | None = None
    for step in steps:
        if step.kind == "model_text":
            said = step
        elif step.kind == "tool_result" and not step.is_error:
            return step if step.answers else said or step
    return None


def _claim(steps: Sequence[EvidenceStep]) -> EvidenceStep | None:
    texts = [step for step in steps if step.kind in {"model_text", "response"}][:2]
    return texts[-1] if texts else None


def _repeated(calls: Sequence[EvidenceStep]) -> tuple[EvidenceStep, ...]:
    same: dict[tuple[str, str, str], list[EvidenceStep]] = {}
    for call in calls:
        same.setdefault((call.agent, call.name, call.text), []).append(call)
    loops = [loop for loop in same.values() if len(loop) >= REPEATED_FROM]
    last = {call.event_id: place for place, call in enumerate(calls)}
    if not loops:
        return ()
    latest: list[EvidenceStep] = max(loops, key=lambda loop: last[loop[-1].event_id])
    return tuple(latest)


def _alternating(calls: Sequence[EvidenceStep]) -> tuple[EvidenceStep, ...]:
    if len(calls) < 4:
        return ()
    keys = [(call.agent, call.name, call.text) for call in calls[-4:]]
    return tuple(calls[-4:]) if keys[0] == keys[2] != keys[1] == keys[3] else ()


def _unanswered(steps: Sequence[EvidenceStep]) -> tuple[EvidenceStep, ...]:
    answered = {step.answers for step in steps if step.answers}
    moved_on: set[str] = set()
    unanswered = []
    for step in reversed(steps):
        if step.kind in {"model_text", "response", "user_message"}:
            moved_on.add(step.agent)
        elif step.kind == "tool_call" and not step.polling and step.event_id not in answered and step.agent in moved_on:
            unanswered.append(step)
    return tuple(reversed(unanswered))
