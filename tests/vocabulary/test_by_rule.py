"""What the rules say in lessons is known as that, and other words are left alone."""

import pytest

from sidemirror_server.models.adapters.rules.advice import advice
from sidemirror_server.models.adapters.rules.dream import dream_answer
from sidemirror_server.models.adapters.rules.memory_reflection import memory_reflection_answer
from sidemirror_server.models.evidence import Evidence, EvidenceStep
from sidemirror_server.trace.failure import ErrorCategory
from sidemirror_server.vocabulary.by_rule import RuleKind, RuleWords, quotes_user, rule_words
from sidemirror_server.vocabulary.ids import EventId
from tests.models.evidence import call, evidence, failure, result

RESTATED, QUOTED = (RuleWords(kind) for kind in (RuleKind.RESTATED, RuleKind.QUOTED))
GENERAL = RuleWords(RuleKind.GENERAL)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("`search` failed: its error says “no such table: users”, a not found failure.", RESTATED),
        ("`a` failed; a later call of it worked. `a` was called 4 times with the same arguments.", RESTATED),
        ("Do not call `a` with the same arguments again: use its last result, or change one argument.", RESTATED),
        ("Do not call `a` with the same arguments again: change one argument, or use another source.", RESTATED),
        ("`mysql` failed with a validation failure; a later call of it worked.", RESTATED),
        ("A call failed.", RESTATED),
        ("The last calls alternate between `a` and `b` without anything new.", RESTATED),
        ("`fetch` failed: its error says “503”, a network failure; a later call of it worked.", RESTATED),
        ("`bash` failed: its error says “timed out”, a timeout failure; a later call of it worked.", RESTATED),
        ("The user corrected the agent: “use the staging host”.", QUOTED),
        ("The user corrected the agent: “use the staging host”. `sql` failed: its error says “no”.", QUOTED),
        (
            "There is no table `Users`: list or look up what exists before calling `sql` again.",
            RuleWords(RuleKind.NAMED, "users"),
        ),
        (
            "There is no table `Users`: list or look up what exists before running `sqlite3` again.",
            RuleWords(RuleKind.NAMED, "users"),
        ),
        ("There is no table `users`: the warehouse calls it `people`.", None),
        ("`search` failed: its error says “no such table: users”, a not found failure. The table is `people`.", None),
        ("The task failed because of “the refund is over the limit”.", None),
        ("Wait for the tide.", None),
        ("", None),
    ],
)
def test_what_a_text_says(text: str, said: RuleWords | None) -> None:
    assert rule_words(text) == said
    assert quotes_user(text) is (said == QUOTED)


MISSING = (
    *("no such table: users", "unknown column 'a'", "bash: jq: command not found", "No module named 'pandas'"),
    *("Unknown tool: find", "unexpected keyword argument 'limit'", "cat: /none: No such file or directory"),
    *("unrecognized option '-z'", "has no attribute 'strip'", "name 'df' is not defined", "no field named 'x'"),
)


@pytest.mark.parametrize("arguments", ["", "git checkout develop"])
@pytest.mark.parametrize("tool", ["`sql`", "`Bash`", "`send_mail`", "the tool"])
@pytest.mark.parametrize("error", [*MISSING, "field 'total' is required", "it is broken"])
@pytest.mark.parametrize("category", [one.value for one in ErrorCategory])
def test_every_advice_of_the_rules_is_known(category: str, error: str, tool: str, arguments: str) -> None:
    """Seen to fail with a pattern taken away."""
    said = advice(category, tool, error, arguments)
    words = rule_words(said)
    assert (words is None) is (not said), said
    if words is not None:
        assert words.kind in (RuleKind.GENERAL, RuleKind.NAMED)


def test_every_lesson_of_the_rules_about_calls_is_known() -> None:
    for error in (*MISSING, "timed out", "too many requests"):
        for more in ((), (call("e3"), result("e4", "e3")), (call("e3"), call("e5"))):
            answer = memory_reflection_answer(
                evidence(call("e1"), failure("e2", "e1", error, category="timeout"), *more)
            )
            assert rule_words(answer.reflection) == RESTATED or not (answer.reflection or answer.strategy)
            assert not answer.strategy or rule_words(answer.strategy) is not None
    loop = [step for number in range(4) for step in (call(f"c{number}"), result(f"r{number}", f"c{number}"))]
    answer = memory_reflection_answer(evidence(*loop))
    assert (rule_words(answer.reflection), rule_words(answer.strategy or "")) == (RESTATED, RESTATED)


def test_a_call_that_failed_and_then_worked_is_no_lesson_by_itself() -> None:
    steps = (call("e1"), failure("e2", "e1", "KeyError: 'ACME'", category="logic"), call("e3"), result("e4", "e3"))
    assert memory_reflection_answer(evidence(*steps)).reflection == ""
    assert memory_reflection_answer(evidence(*steps[:2])).reflection


def test_a_dream_of_the_rules_is_known() -> None:
    steps = [EvidenceStep(EventId(f"m{number}"), "memory", "", "sql", "x", category="timeout") for number in range(3)]
    answer = dream_answer(Evidence(steps=tuple(steps)))
    assert (rule_words(answer.lesson), rule_words(answer.strategy or "")) == (RESTATED, GENERAL)
