"""Settings that take one of several words."""

import pytest

from sidemirror_server.settings import BadSettings, load


@pytest.mark.parametrize("value", ["medium", "MEDIUM", "Medium", "THINK_LEVEL_MEDIUM", "think_level_medium"])
def test_a_level_in_any_case_and_by_the_contracts_name(value: str) -> None:
    """Seen to fail for all but the first."""
    assert load({}, {"SIDEMIRROR_DEFAULTS__LEVEL": value}).defaults.level == "medium"
    assert load({"defaults__level": value}, {}).defaults.level == "medium"


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("defaults__critique_mode", "CRITIQUE_MODE_GATED", "gated"),
        ("defaults__critique_mode", "Always", "always"),
        ("purposes__dreaming__effort", "HIGH", "high"),
        ("learn__model", "On", "on"),
        ("advice__mode", "Shadow", "shadow"),
        ("memory__mode", "LITE", "lite"),
        ("memory__trust_policy", "Corroborated", "corroborated"),
        ("log_level", "DEBUG", "debug"),
    ],
)
def test_every_word_in_any_case(name: str, value: str, word: str) -> None:
    found: object = load({name: value}, {})
    for part in name.split("__"):
        found = getattr(found, part)
    assert found == word


@pytest.mark.parametrize("value", ["", "MEDIUM_", "CRITIQUE_MODE_MEDIUM", "THINK_LEVEL_"])
def test_another_word_is_refused(value: str) -> None:
    with pytest.raises(BadSettings, match=r"DEFAULTS__LEVEL\): Expected off, low, medium or high"):
        load({}, {"SIDEMIRROR_DEFAULTS__LEVEL": value})
