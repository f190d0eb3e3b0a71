"""Reflective memory in the environment: the names of the seed reflection-engine-v2 are aliases of ours."""

import pytest

from sidemirror_server.settings import BadSettings, Memory, load, sources


def test_defaults() -> None:
    """Seed reflection-engine-v2, "Environment Variables"."""
    assert load({}, {}).memory == Memory(True, "full", 0.0, "labelled", "")


@pytest.mark.parametrize(
    ("environment", "enabled", "mode"),
    [
        ({"REFLECTIVE_MEMORY_ENABLED": "True"}, True, "full"),
        ({"REFLECTIVE_MEMORY_ENABLED": "False"}, False, "full"),
        ({"REFLECTIVE_MEMORY_ENABLED": "0", "REFLECTIVE_MEMORY_MODE": "lite"}, False, "lite"),
        ({"REFLECTIVE_MEMORY_MODE": "FULL"}, True, "full"),
        ({"REFLECTIVE_MEMORY_ENABLED": "", "REFLECTIVE_MEMORY_MODE": ""}, True, "full"),
        ({"REFLECTIVE_MEMORY_ENABLED": "False", "SIDEMIRROR_MEMORY__ENABLED": "true"}, True, "full"),
        ({"REFLECTIVE_MEMORY_MODE": "lite", "SIDEMIRROR_MEMORY__MODE": "full"}, True, "full"),
    ],
)
def test_the_seeds_names(environment: dict[str, str], enabled: bool, mode: str) -> None:
    memory = load({}, environment).memory
    assert (memory.enabled, memory.mode) == (enabled, mode)


def test_the_model_of_the_seed() -> None:
    settings = load({}, {"RAE_LLM_MODEL_DEFAULT": "claude-haiku-5-5", "ANTHROPIC_API_KEY": "key"})
    assert settings.model.name == "claude-haiku-5-5"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("REFLECTIVE_MEMORY_MODE", "half"),
        ("REFLECTIVE_MEMORY_ENABLED", "perhaps"),
        ("SIDEMIRROR_MEMORY__MIN_STORE_IMPORTANCE", "1.1"),
        ("SIDEMIRROR_MEMORY__MIN_STORE_IMPORTANCE", "-0.1"),
        ("SIDEMIRROR_MEMORY__TRUST_POLICY", "blind"),
    ],
)
def test_what_is_refused(name: str, value: str) -> None:
    with pytest.raises(BadSettings, match="memory__"):
        load({}, {name: value})


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        (
            {"REFLECTIVE_MEMORY_MODE": "light"},
            "memory__mode (REFLECTIVE_MEMORY_MODE): Expected full or lite, got 'light'",
        ),
        (
            {"REFLECTIVE_MEMORY_ENABLED": "x"},
            "memory__enabled (REFLECTIVE_MEMORY_ENABLED): Expected true or false, got 'x'",
        ),
        (
            {"SIDEMIRROR_MEMORY__MODE": "light"},
            "memory__mode (SIDEMIRROR_MEMORY__MODE): Expected full or lite, got 'light'",
        ),
        (
            {"SIDEMIRROR_MEMORY__MODE": "x", "REFLECTIVE_MEMORY_MODE": "lite"},
            "memory__mode (SIDEMIRROR_MEMORY__MODE): Expected full or lite, got 'x'",
        ),
        (
            {"SIDEMIRROR_PURPOSES__DREAMING__EFFORT": "x"},
            "purposes__dreaming__effort (SIDEMIRROR_PURPOSES__DREAMING__EFFORT): Expected low, medium or high, got 'x'",
        ),
        (
            {"SIDEMIRROR_MEMORY__TRUST_POLICY": "x"},
            "memory__trust_policy (SIDEMIRROR_MEMORY__TRUST_POLICY): Expected labelled or corroborated, got 'x'",
        ),
        (
            {"SIDEMIRROR_DATABASE_CONNECTIONS": "101"},
            "database_connections (SIDEMIRROR_DATABASE_CONNECTIONS): Expected a whole number, at most 100, got '101'",
        ),
        (
            {"SIDEMIRROR_MEMORY__MIN_STORE_IMPORTANCE": "-1"},
            (
                "memory__min_store_importance (SIDEMIRROR_MEMORY__MIN_STORE_IMPORTANCE): "
                "Expected a number, at least 0, got '-1'"
            ),
        ),
    ],
)
def test_it_is_told_by_the_name_that_was_given_and_with_what_may_be(environment: dict[str, str], told: str) -> None:
    with pytest.raises(BadSettings) as caught:
        load({}, environment)
    assert str(caught.value) == told


def test_an_alias_is_the_environments() -> None:
    environment = {"REFLECTIVE_MEMORY_MODE": "lite"}
    told = {source.name: source for source in sources(load({}, environment), {}, environment)}
    assert (told["memory__mode"].value, told["memory__mode"].source) == ("lite", "environment")
    assert told["memory__enabled"].source == "default"
