"""The findings in a turn's evidence: failed calls, repeated calls, open calls and questions. No prose, no guesses."""

from collections.abc import Mapping, Sequence

import msgspec

from sidemirror_server.models.evidence import Evidence, EvidenceStep
from sidemirror_server.vocabulary.ids import EventId

# A call repeated this often is a loop (decision 016).
REPEATED_FROM = 3
# A long turn's evidence has a gap in its middle; only its last 100 steps are sure to have both a call and its result.
_WHOLE_STEPS = 100


class FailedStep(msgspec.Struct, frozen=True):
    """A failed step. `cause` is the call of the step, or else the model's text before it, or else the step itself."""

    failed: EvidenceStep
    cause: EvidenceStep
    # A later, successful result of the same tool and agent.
    recovered_by: EvidenceStep | None


class Findings(msgspec.Struct, frozen=True):
    """Findings, each oldest first.

    `repeated`: the last equal, non-polling calls in a row that all failed, or all brought the same answer.
    `alternating`: the last four calls, if they are A-B-A-B and bring nothing new. `unanswered`: calls without a result
    after which the agent went on. `basis`: the first good result if its call is known, else the model's text before
    that result. `claim`: the agent's second text, because agents plan in the first; the first text if there is no
    second. `drafted`: the last response, if any.
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
    worked = tuple(step for step in outcomes if not step.is_error)
    active = [call for call in calls if not call.polling]
    ended = {step.answers: step for step in outcomes if step.answers}
    return Findings(
        calls=calls,
        worked=worked,
        failures=_failures(steps),
        repeated=_repeated(active, ended),
        alternating=_alternating(active, ended),
        unanswered=_unanswered(steps[-_WHOLE_STEPS:]),
        basis=_basis(steps),
        claim=_claim(steps),
        drafted=next((step for step in reversed(steps) if step.kind == "response"), None),
    )


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
        elif step.kind in {"tool_result", "tool_failure"} and step.is_error:
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


def _repeated(calls: Sequence[EvidenceStep], ended: Mapping[EventId, EvidenceStep]) -> tuple[EvidenceStep, ...]:
    """By the rule of the detectors. Failures are no loop where the same call worked later: it was tried again."""
    answered = [call for call in calls if call.event_id in ended]
    worked = {_key(call): place for place, call in enumerate(answered) if not ended[call.event_id].is_error}
    rows: dict[str, list[EvidenceStep]] = {}
    loop: list[EvidenceStep] = []
    for place, call in enumerate(answered):
        row = rows.get(call.agent)
        if row is None or not _goes_on(row[-1], call, ended):
            row = rows[call.agent] = []
        row.append(call)
        stands = not ended[call.event_id].is_error or worked.get(_key(call), -1) < place
        if len(row) >= REPEATED_FROM and stands:
            loop = row
    return tuple(loop)


def _key(call: EvidenceStep) -> tuple[str, str, str]:
    return call.agent, call.name, call.text


def _goes_on(before: EvidenceStep, call: EvidenceStep, ended: Mapping[EventId, EvidenceStep]) -> bool:
    """Whether a call repeats the one before it, and fails as well or brings the same answer."""
    was, now = ended[before.event_id], ended[call.event_id]
    same = (was.is_error and now.is_error) or (was.is_error, was.text) == (now.is_error, now.text)
    return _key(before) == _key(call) and same


def _alternating(calls: Sequence[EvidenceStep], ended: Mapping[EventId, EvidenceStep]) -> tuple[EvidenceStep, ...]:
    last = calls[-4:]
    ends = [ended[call.event_id] for call in last if call.event_id in ended]
    if len(ends) < 4:
        return ()
    keys = [_key(call) for call in last]
    brings = [(end.is_error, end.text) for end in ends]
    is_old = all(end.is_error for end in ends) or brings[:2] == brings[2:]
    return tuple(last) if is_old and keys[0] == keys[2] != keys[1] == keys[3] else ()


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
