"""The detectors on recorded runs of weak agents in loops (InterCode)."""

from itertools import pairwise

from sidemirror_server.thinking.detectors import (
    Detection,
    Pattern,
    ToolStep,
    Window,
    advance,
    call_key,
    reason_key,
    result_key,
)
from tests.recorded import ToolOutput, ToolsReturned, episodes, walk


def outputs_of(file: str, episode_id: str) -> list[ToolOutput]:
    moments = walk(file, episodes(file)[episode_id])
    return [output for moment in moments if isinstance(moment, ToolsReturned) for output in moment.outputs]


def findings_in(outputs: list[ToolOutput], polling: bool = False) -> list[Detection]:
    window = Window()
    found: list[Detection] = []
    for output in outputs:
        step = ToolStep(
            call_event_id=str(output.call_index),
            result_event_id=str(output.event_index),
            name=output.name,
            call_key=call_key(output.name, output.arguments or ""),
            result_key=result_key(output.content),
            failed=output.failed,
            polling=polling,
            reason=reason_key(output.content, "") if output.failed else "",
        )
        window, finding = advance(window, step)
        if finding is not None:
            found.append(finding)
    return found


def holds_the_same_failing_call_three_times_in_a_row(outputs: list[ToolOutput]) -> bool:
    equal_failures = [
        one.failed and other.failed and (one.name, one.arguments) == (other.name, other.arguments)
        for one, other in pairwise(outputs)
    ]
    return any(first and second for first, second in pairwise(equal_failures))


def test_every_episode_with_a_repeated_failing_call_is_found() -> None:
    looping = found = 0
    for episode_id in episodes("intercode"):
        outputs = outputs_of("intercode", episode_id)
        if holds_the_same_failing_call_three_times_in_a_row(outputs):
            looping += 1
            found += any(finding.pattern is Pattern.REPEATED_CALL for finding in findings_in(outputs))
    assert len(episodes("intercode")) == 2115
    assert looping == 365
    assert found == 365  # the goal is 95 %


def test_the_same_loops_marked_as_polling_never_alarm() -> None:
    steps = 0
    for episode_id in episodes("intercode"):
        outputs = outputs_of("intercode", episode_id)
        steps += len(outputs)
        assert findings_in(outputs, polling=True) == []
    assert steps == 13455


def test_runs_that_succeed_are_seldom_nudged() -> None:
    """Customer-service runs that reached their goal: a nudge there is mostly noise, so there must be few."""
    outcomes = [
        bool(findings_in(outputs_of(file, episode_id)))
        for file in ("tau_bench", "tau2_bench")
        for episode_id, episode in episodes(file).items()
        if episode["outcome"] == "success"
    ]
    assert len(outcomes) == 474
    assert sum(outcomes) == 8  # chosen here: more than 5 % would be a nuisance
