import pytest

from sidemirror_server.thinking.config import PeriodicScope, ThinkingConfig
from sidemirror_server.thinking.levels import ThinkLevel
from sidemirror_server.thinking.schedule import Decision, Reason, ScheduleFacts, decide

MEDIUM = ThinkingConfig(level=ThinkLevel.MEDIUM)
EVERY_3 = ThinkingConfig(level=ThinkLevel.MEDIUM, reflect_every=3)
EVERY_3_STEP = ThinkingConfig(level=ThinkLevel.MEDIUM, reflect_every=3, periodic_scope=PeriodicScope.STEP)


def yes(*matches: Reason) -> Decision:
    return Decision(True, matches[0], matches)


NO = Decision(False, Reason.NONE, ())


def test_the_defaults_are_the_seeds() -> None:
    assert ThinkingConfig() == ThinkingConfig(
        level=ThinkLevel.OFF,
        reflect_every=0,
        reflect_on_tool_error=True,
        reflect_on_uncertainty=True,
        periodic_scope=PeriodicScope.TURN,
    )


@pytest.mark.parametrize(
    ("config", "facts", "decision"),
    [
        (MEDIUM, ScheduleFacts(turn_count=3), NO),
        (MEDIUM, ScheduleFacts(turn_count=3, tool_errors=1), yes(Reason.TOOL_ERROR)),
        (MEDIUM, ScheduleFacts(turn_count=1, uncertain=True), yes(Reason.UNCERTAINTY)),
        (MEDIUM, ScheduleFacts(turn_count=1, stuck=True), yes(Reason.STUCK)),
        (EVERY_3, ScheduleFacts(turn_count=1), NO),
        (EVERY_3, ScheduleFacts(turn_count=2), NO),
        (EVERY_3, ScheduleFacts(turn_count=3), yes(Reason.PERIODIC)),
        (EVERY_3, ScheduleFacts(turn_count=6), yes(Reason.PERIODIC)),
        (EVERY_3, ScheduleFacts(turn_count=3, periodic_done=True), NO),
        (EVERY_3_STEP, ScheduleFacts(turn_count=3, periodic_done=True), yes(Reason.PERIODIC)),
        (
            EVERY_3,
            ScheduleFacts(turn_count=3, tool_errors=2, uncertain=True, stuck=True),
            yes(Reason.TOOL_ERROR, Reason.PERIODIC, Reason.UNCERTAINTY, Reason.STUCK),
        ),
    ],
)
def test_the_first_match_decides_and_all_are_listed(
    config: ThinkingConfig, facts: ScheduleFacts, decision: Decision
) -> None:
    assert decide(config, facts) == decision


def test_level_off_never_reflects_and_says_what_would_have_spoken_for_it() -> None:
    everything = ScheduleFacts(turn_count=3, tool_errors=1, uncertain=True, stuck=True)
    assert decide(ThinkingConfig(), ScheduleFacts(turn_count=1)) == Decision(
        False, Reason.LEVEL_OFF, (Reason.LEVEL_OFF,)
    )
    assert decide(ThinkingConfig(reflect_every=1), everything) == Decision(
        False,
        Reason.LEVEL_OFF,
        (Reason.LEVEL_OFF, Reason.TOOL_ERROR, Reason.PERIODIC, Reason.UNCERTAINTY, Reason.STUCK),
    )


def test_switched_off_rules_do_not_match() -> None:
    quiet = ThinkingConfig(level=ThinkLevel.HIGH, reflect_on_tool_error=False, reflect_on_uncertainty=False)
    assert decide(quiet, ScheduleFacts(turn_count=1, tool_errors=1, uncertain=True, stuck=True)) == NO
