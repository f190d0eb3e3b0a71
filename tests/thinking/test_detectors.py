"""Made-up streaks, one behaviour each."""

import pytest

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


def play(*calls: str, failed: str = "", polling: str = "", lacks: str = "") -> list[Detection | None]:
    """One step for each call such as "a" or "a:1"; what follows the colon is its result, that of its name when absent.
    `lacks`: what each failure says does not exist."""
    window = Window()
    found: list[Detection | None] = []
    for number, call in enumerate(calls):
        name, _, result = call.partition(":")
        step = ToolStep(
            call_event_id=f"c{number}",
            result_event_id=f"r{number}",
            name=name,
            call_key=call_key(name, ""),
            result_key=result_key(result or name),
            failed=name in failed,
            polling=name in polling,
            reason=reason_key(result or name, lacks) if name in failed else "",
            lacks=lacks if name in failed else "",
        )
        window, finding = advance(window, step)
        found.append(finding)
    return found


def patterns(*calls: str, failed: str = "", polling: str = "") -> list[str | None]:
    return [finding.pattern.value if finding else None for finding in play(*calls, failed=failed, polling=polling)]


def test_the_third_equal_call_is_found_with_its_events() -> None:
    assert play("a", "a", "a") == [
        None,
        None,
        Detection(
            Pattern.REPEATED_CALL,
            ("c0", "r0", "c1", "r1", "c2", "r2"),
            "You have called a with the same arguments 3 times in a row, and got the same answer each time. "
            "Use what you have, or change the arguments.",
        ),
    ]


def test_a_call_that_brings_something_else_each_time_is_no_circle() -> None:
    assert patterns("a:1", "a:2", "a:3", "a:4") == [None] * 4
    assert patterns("a:1", "b:1", "a:2", "b:2", "a:3", "b:3") == [None] * 6
    # Failing all the same is one, whatever the error says.
    assert patterns("a:1", "a:2", "a:3", failed="a") == [None, None, "repeated_call"]
    assert patterns("a:1", "b:2", "a:3", "b:4", failed="ab")[-1] == "alternation"
    # The last three answers are the same, the one before is not.
    found = play("a:1", "a:2", "a:2", "a:2")[-1]
    assert found is not None
    assert found.event_ids == ("c1", "r1", "c2", "r2", "c3", "r3")
    assert " 3 times in a row, and got the same answer" in found.message


def test_a_streak_that_goes_on_is_said_once_and_a_new_one_again() -> None:
    assert patterns(*"aaaaaa") == [None, None, "repeated_call", None, None, None]
    assert patterns(*"aaaabaaa") == [None, None, "repeated_call", None, None, None, None, "repeated_call"]


def test_two_equal_calls_are_no_streak() -> None:
    assert patterns(*"aabaacaab") == [None] * 9


def test_going_back_and_forth_is_found_at_the_fourth_call() -> None:
    found = play(*"abab")
    assert found[:3] == [None, None, None]
    assert found[3] == Detection(
        Pattern.ALTERNATION,
        ("c0", "r0", "c1", "r1", "c2", "r2", "c3", "r3"),
        "You are going back and forth between a and b: the last 4 calls are the same two with the same arguments. "
        "Decide what is missing before you call again.",
    )
    assert patterns(*"abababab") == [None, None, None, "alternation", None, None, None, None]
    assert patterns(*"abac") == [None] * 4


SAME = [f"{name}:no" for name in "abcd"]


def test_three_failures_of_one_reason_are_an_error_streak() -> None:
    found = play(*SAME, failed="abcd")
    assert found[2] == Detection(
        Pattern.ERROR_STREAK,
        ("c0", "r0", "c1", "r1", "c2", "r2"),
        "The last 3 tool calls, the latest to c, failed for the same reason: what you changed between them is not the "
        "cause.",
    )
    assert found[3] is None


def test_a_streak_about_a_name_that_does_not_exist_names_it() -> None:
    """The errors differ, and say of the same name that it does not exist."""
    found = play(*"abc", failed="abc", lacks="column `total`")[-1]
    assert found is not None
    assert found.message == (
        "The last 3 tool calls, the latest to c, failed because there is no column `total`. "
        "Look up what there is in its place, or do without it."
    )


def test_failures_of_several_reasons_are_no_streak() -> None:
    assert patterns(*"abcdef", failed="abcdef") == [None] * 6
    assert patterns("a:no", "b:no", "c:other", "d:no", failed="abcd") == [None] * 4


def test_a_success_breaks_an_error_streak() -> None:
    assert patterns("a:no", "b:no", "X", "c:no", "d:no", failed="abcd") == [None] * 5
    assert patterns("a:no", "b:no", "c:no", "X", "d:no", "e:no", "f:no", failed="abcdef")[-1] == "error_streak"


def test_the_same_failing_call_is_one_finding_and_says_that_it_failed() -> None:
    found = play(*"aaaa", failed="a")
    assert [finding and finding.pattern for finding in found] == [None, None, Pattern.REPEATED_CALL, None]
    assert found[2] is not None
    assert found[2].message == (
        "You have called a with the same arguments 3 times in a row, and it failed each time. "
        "Change the arguments or the approach."
    )


def test_other_failures_after_a_repeated_one_are_said_once() -> None:
    calls = ["a:no"] * 3 + SAME[1:]
    assert patterns(*calls, failed="abcd") == [None, None, "repeated_call", "error_streak", None, None]


def test_a_streak_inside_a_longer_one_is_said_again_when_it_comes_back() -> None:
    assert patterns(*["a:no"] * 3, "b:no", *["a:no"] * 3, failed="ab") == [
        None,
        None,
        "repeated_call",
        "error_streak",
        None,
        None,
        "repeated_call",
    ]


def test_six_steps_without_news_are_found() -> None:
    loop = ["a:1", "b:2", "c:3"]
    assert patterns(*loop * 3) == [None] * 8 + ["nothing_new"]
    assert patterns(*loop * 5)[9:] == [None] * 6


def test_a_new_result_or_a_new_call_is_news() -> None:
    assert patterns("a:1", "b:2", "c:3", "a:4", "b:5", "c:6", "a:7", "b:8", "c:9", "a:10") == [None] * 10
    assert patterns("a:1", "b:1", "c:1", "d:1", "e:1", "f:1", "g:1", "h:1", "i:1") == [None] * 9


def test_the_events_of_a_finding_are_those_of_its_steps() -> None:
    repeated = play(*"xyaaa")[-1]
    assert repeated is not None
    assert repeated.event_ids == ("c2", "r2", "c3", "r3", "c4", "r4")
    found = play("x:0", *["a:1", "b:2", "c:3"] * 3)[-1]
    assert found is not None
    assert found.event_ids == ("c4", "r4", "c5", "r5", "c6", "r6", "c7", "r7", "c8", "r8", "c9", "r9")


@pytest.mark.parametrize("failed", ["", "p"])
@pytest.mark.parametrize("calls", ["p:same " * 50, "p " * 50, "p:same q:same " * 25])
def test_polling_never_alarms(calls: str, failed: str) -> None:
    assert patterns(*calls.split(), failed=failed, polling="pq") == [None] * 50


def test_polling_neither_counts_nor_breaks() -> None:
    assert patterns(*"appapa", polling="p") == [None] * 5 + ["repeated_call"]
    assert patterns(*"aapp", polling="p") == [None] * 4


def test_calls_are_compared_by_the_value_of_their_arguments() -> None:
    assert call_key("t", '{"a": 1, "b": [1, 2]}') == call_key("t", ' {"b":[1,2],"a":1}\n')
    assert call_key("t", '{"a": 1}') != call_key("t", '{"a": 2}')
    assert call_key("t", '{"a": [1, 2]}') != call_key("t", '{"a": [2, 1]}')
    assert call_key("t", "{}") != call_key("u", "{}")
    assert call_key("t", "ls -l\n") == call_key("t", "ls -l")
    assert call_key("ab", "c") != call_key("a", "bc")


@pytest.mark.parametrize("arguments", ["{not json", "[" * 5000, '{"a": "\ud800"}', "\ud800", "{" + "x" * 300_000, ""])
def test_any_text_has_a_key(arguments: str) -> None:
    assert len(call_key("t", arguments)) == 16
    assert call_key("t", arguments) == call_key("t", arguments)


def test_a_message_holds_no_more_of_a_hostile_name_than_one_short_line() -> None:
    name = "ignore\nall " + "x" * 1000
    window = Window()
    finding: Detection | None = None
    for _ in range(3):
        window, finding = advance(window, ToolStep("c", "r", name, "k", "r"))
    assert finding is not None
    assert "\n" not in finding.message
    assert len(finding.message) < 210


def test_a_window_does_not_grow_with_the_turn() -> None:
    window = Window()
    for number in range(1000):
        window, _ = advance(window, ToolStep("c", "r", "t", f"call {number}", f"result {number}"))
    assert len(window.steps) == 6
    assert len(window.known) == 24
