"""Which model answers, and what it may cost, as the environment and the flags have it."""

from pathlib import Path

import pytest

from sidemirror_server.assembly import routes_of
from sidemirror_server.models.language_model import Purpose
from sidemirror_server.settings import SECRETS, BadSettings, Secret, Settings, load, names, sources, without_effect
from sidemirror_server.vocabulary.clock import SystemClock

KEYS = {"ANTHROPIC_API_KEY": "key-a", "OPENAI_API_KEY": "key-o"}
LOCAL = {"SIDEMIRROR_MODEL__BASE_URL": "http://127.0.0.1:11434/v1"}
OPENAI = {"SIDEMIRROR_MODEL__PROVIDER": "openai_compatible"}


@pytest.mark.parametrize(
    ("environment", "provider", "key"),
    [
        ({}, "rules", ""),
        ({"ANTHROPIC_API_KEY": ""}, "rules", ""),
        ({"OPENAI_API_KEY": "key-o"}, "rules", ""),
        (KEYS, "anthropic", "key-a"),
        ({"SIDEMIRROR_MODEL__API_KEY": "own"}, "anthropic", "own"),
        ({**KEYS, "SIDEMIRROR_MODEL__API_KEY": "own"}, "anthropic", "own"),
        ({**KEYS, "SIDEMIRROR_MODEL__PROVIDER": "rules"}, "rules", ""),
        ({**KEYS, **OPENAI}, "openai_compatible", "key-o"),
        # Somebody else's server is not sent OpenAI's key.
        ({**KEYS, **LOCAL}, "openai_compatible", ""),
        ({**KEYS, **LOCAL, **OPENAI}, "openai_compatible", ""),
        ({**KEYS, **LOCAL, "SIDEMIRROR_MODEL__PROVIDER": "anthropic"}, "anthropic", "key-a"),
    ],
)
def test_what_answers(environment: dict[str, str], provider: str, key: str) -> None:
    model = load({}, environment).model
    assert (model.provider, model.api_key.reveal()) == (provider, key)


CLAUDE_AT = {"ANTHROPIC_BASE_URL": "http://claude.test"}
OPENAI_AT = {"OPENAI_BASE_URL": "http://openai.test/v1"}
EMBEDDING = {"SIDEMIRROR_EMBEDDING__NAME": "x"}


@pytest.mark.parametrize(
    ("environment", "provider", "base_url", "key"),
    [
        ({**KEYS, **CLAUDE_AT, **OPENAI_AT}, "anthropic", "http://claude.test", "key-a"),
        ({**KEYS, **OPENAI, **CLAUDE_AT, **OPENAI_AT}, "openai_compatible", "http://openai.test/v1", "key-o"),
        # A server of one's own may want no key.
        ({**OPENAI, **OPENAI_AT}, "openai_compatible", "http://openai.test/v1", ""),
        ({"SIDEMIRROR_MODEL__API_KEY": "own", **CLAUDE_AT}, "anthropic", "http://claude.test", "own"),
        # The project's own setting wins, and another server's key is not sent there.
        ({**KEYS, **OPENAI, **OPENAI_AT, **LOCAL}, "openai_compatible", "http://127.0.0.1:11434/v1", ""),
        ({**KEYS, **OPENAI_AT, **LOCAL}, "openai_compatible", "http://127.0.0.1:11434/v1", ""),
        # They are there for other programs: nothing is sent anywhere because of them alone.
        ({**CLAUDE_AT, **OPENAI_AT}, "rules", "", ""),
        ({"OPENAI_API_KEY": "key-o", **OPENAI_AT}, "rules", "", ""),
        ({**KEYS, **CLAUDE_AT, "SIDEMIRROR_MODEL__PROVIDER": "rules"}, "rules", "", ""),
        ({**KEYS, "ANTHROPIC_BASE_URL": ""}, "anthropic", "", "key-a"),
    ],
)
def test_where_the_sdks_look_for_an_address(
    environment: dict[str, str], provider: str, base_url: str, key: str
) -> None:
    model = load({}, environment).model
    assert (model.provider, model.base_url, model.api_key.reveal()) == (provider, base_url, key)


def test_vectors_are_asked_for_where_openais_sdk_looks() -> None:
    embedding = load({}, {**KEYS, **EMBEDDING, **OPENAI_AT}).embedding
    assert (embedding.base_url, embedding.api_key.reveal()) == ("http://openai.test/v1", "key-o")
    own = {"SIDEMIRROR_EMBEDDING__BASE_URL": "http://127.0.0.1:1/v1"}
    embedding = load({}, {**KEYS, **EMBEDDING, **OPENAI_AT, **own}).embedding
    assert (embedding.base_url, embedding.api_key.reveal()) == ("http://127.0.0.1:1/v1", "")
    assert load({}, {**KEYS, **OPENAI_AT}).embedding.base_url == ""


def test_where_a_value_came_from() -> None:
    def told(environment: dict[str, str], **flags: str) -> dict[str, tuple[str, str]]:
        found = sources(load(flags, environment), flags, environment)
        return {source.name: (source.source, source.variable) for source in found if source.source != "default"}

    assert told({**KEYS, **CLAUDE_AT}) == {
        "model__provider": ("environment", "ANTHROPIC_API_KEY"),
        "model__base_url": ("environment", "ANTHROPIC_BASE_URL"),
        "model__api_key": ("environment", "ANTHROPIC_API_KEY"),
    }
    assert told({**KEYS, **OPENAI_AT}, model__provider="openai_compatible") == {
        "model__provider": ("flag", ""),
        "model__base_url": ("environment", "OPENAI_BASE_URL"),
        "model__api_key": ("environment", "OPENAI_API_KEY"),
    }
    assert told({**EMBEDDING, **OPENAI_AT, "REFLECTIVE_MEMORY_MODE": "LITE"}) == {
        "embedding__name": ("environment", ""),
        "embedding__base_url": ("environment", "OPENAI_BASE_URL"),
        "memory__mode": ("environment", "REFLECTIVE_MEMORY_MODE"),
    }


def test_an_address_that_is_none_is_named_by_the_variable_that_has_it() -> None:
    with pytest.raises(BadSettings, match=r"^model__base_url \(ANTHROPIC_BASE_URL\): Expected a URL that begins with"):
        load({}, {**KEYS, "ANTHROPIC_BASE_URL": "claude.test"})


def test_a_flag_counts_before_the_environment() -> None:
    assert load({"model__provider": "rules"}, KEYS).model.provider == "rules"
    assert load({"model__base_url": "http://localhost:1/v1"}, KEYS).model.provider == "openai_compatible"


@pytest.mark.parametrize(
    ("environment", "model"),
    [
        ({}, "rules-8"),
        (KEYS, "claude-haiku-5-5"),
        ({**KEYS, **OPENAI}, "gpt-5-mini"),
        ({**KEYS, "RAE_LLM_MODEL_DEFAULT": "claude-opus-5-5"}, "claude-opus-5-5"),
        ({**KEYS, "RAE_LLM_MODEL_DEFAULT": "x", "SIDEMIRROR_MODEL__NAME": "claude-sonnet-5-5"}, "claude-sonnet-5-5"),
        ({**KEYS, "SIDEMIRROR_PURPOSES__MID_TURN_REFLECTION__MODEL": "claude-opus-5-5"}, "claude-opus-5-5"),
        ({**LOCAL, "SIDEMIRROR_MODEL__NAME": "qwen3:4b"}, "qwen3:4b"),
    ],
)
def test_which_model(environment: dict[str, str], model: str) -> None:
    routes = routes_of(load({}, environment), SystemClock())
    assert routes[Purpose.MID_TURN_REFLECTION].provider.model.name == model


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        (LOCAL, "SIDEMIRROR_MODEL__NAME): openai_compatible needs the name of a model"),
        ({"SIDEMIRROR_MODEL__PROVIDER": "anthropic"}, "ANTHROPIC_API_KEY): there is no API key for anthropic"),
        (OPENAI, "model__api_key (SIDEMIRROR_MODEL__API_KEY or OPENAI_API_KEY): there is no API key for openai"),
        ({"ANTHROPIC_API_KEY": "two words"}, "the API key for anthropic has characters that no key has"),
        (
            {"SIDEMIRROR_MODEL__BASE_URL": "http://:80/v1", "SIDEMIRROR_MODEL__NAME": "x"},
            "model__base_url (SIDEMIRROR_MODEL__BASE_URL or OPENAI_BASE_URL): the base URL for openai is not an http",
        ),
        ({"SIDEMIRROR_MODEL__PROVIDER": "gpt"}, "there is no 'gpt'; there are rules, anthropic, openai_compatible"),
    ],
)
def test_a_model_that_cannot_be(environment: dict[str, str], told: str) -> None:
    with pytest.raises(BadSettings) as caught:
        routes_of(load({}, environment), SystemClock())
    assert told in str(caught.value)


def test_a_name_that_nobody_is_asked_by() -> None:
    """A model or an embedding model is chosen by one setting; without it the others do nothing."""
    base_url = {"SIDEMIRROR_EMBEDDING__BASE_URL": "http://127.0.0.1:1/v1"}
    told = {
        **base_url,
        "SIDEMIRROR_EMBEDDING__USD_PER_MTOK": "0",
        "SIDEMIRROR_EMBEDDING__API_KEY": "",
        "RAE_LLM_MODEL_DEFAULT": "x",
    }
    assert without_effect(load({}, told), {}, told) == (
        ("RAE_LLM_MODEL_DEFAULT", "SIDEMIRROR_MODEL__PROVIDER"),
        ("SIDEMIRROR_EMBEDDING__BASE_URL", "SIDEMIRROR_EMBEDDING__NAME"),
        ("SIDEMIRROR_EMBEDDING__USD_PER_MTOK", "SIDEMIRROR_EMBEDDING__NAME"),
    )
    flags = {"model__name": "x"}
    (needs,) = without_effect(load(flags, {}), flags, {})
    assert needs == ("SIDEMIRROR_MODEL__NAME", "SIDEMIRROR_MODEL__PROVIDER")
    assert needs.why == "without SIDEMIRROR_MODEL__PROVIDER"
    shared = {"SIDEMIRROR_DATABASE_URL": "postgresql://x@y/z", "SIDEMIRROR_RETENTION__TRACE_DAYS": "7"}
    (told_of,) = without_effect(load({}, shared), {}, shared)
    assert told_of == ("SIDEMIRROR_RETENTION__TRACE_DAYS", "")
    assert "sidemirror policy set" in told_of.why
    waiting = {"SIDEMIRROR_ACCESS_FILE": "/access.json", "SIDEMIRROR_LIMITS__AGENT_WAITING_BYTES": "1024"}
    assert without_effect(load({}, waiting), {}, waiting) == (
        ("SIDEMIRROR_LIMITS__AGENT_WAITING_BYTES", "SIDEMIRROR_LIMITS__AGENT_BYTES_PER_SECOND"),
    )
    paced = {**waiting, "SIDEMIRROR_LIMITS__AGENT_BYTES_PER_SECOND": "1024"}
    assert without_effect(load({}, paced), {}, paced) == ()
    for chosen in ({**base_url, "SIDEMIRROR_EMBEDDING__NAME": "x"}, {**KEYS, "RAE_LLM_MODEL_DEFAULT": "x"}, {}):
        assert without_effect(load({}, chosen), {}, chosen) == ()
    # Who chooses the rules knows that they are no language model.
    rules = {"SIDEMIRROR_MODEL__PROVIDER": "rules", "SIDEMIRROR_MODEL__NAME": "x"}
    assert without_effect(load({}, rules), {}, rules) == ()


def test_the_caps_by_default() -> None:
    settings = load({}, {})
    assert settings.spend.usd_per_day == 5.0
    assert settings.purposes.dreaming.usd_per_day == 0.5
    assert settings.purposes.mid_turn_reflection.usd_per_day is None


def test_a_cap_can_be_lifted_and_another_setting_lifts_none() -> None:
    told = {"SIDEMIRROR_SPEND__USD_PER_DAY": "null", "SIDEMIRROR_PURPOSES__DREAMING__EFFORT": "low"}
    settings = load({}, told)
    assert settings.spend.usd_per_day is None
    assert settings.purposes.dreaming.usd_per_day == 0.5


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SPEND__USD_PER_DAY", "-1"),
        ("PURPOSES__DREAMING__EFFORT", "extreme"),
        ("MODEL__CONCURRENCY", "0"),
        ("MODEL__BASE_URL", "notaurl"),
    ],
)
def test_a_value_that_cannot_be_is_named(name: str, value: str) -> None:
    with pytest.raises(BadSettings, match=f"SIDEMIRROR_{name}"):
        load({}, {f"SIDEMIRROR_{name}": value})


def test_a_key_never_prints() -> None:
    settings = load({}, KEYS)
    shown = {source.name: (str(source.value), source.source) for source in sources(settings, {}, KEYS)}
    assert shown["model__api_key"] == ("[secret]", "environment")
    assert shown["model__provider"] == ("anthropic", "environment")
    assert "key-a" not in repr(settings)
    assert (str(Secret()), bool(Secret()), Secret("a") == Secret("a")) == ("", False, True)


def test_secrets_are_settings() -> None:
    assert set(SECRETS) <= set(names())
    assert isinstance(Settings().model.api_key, Secret)


def test_another_package_may_offer_a_provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "parrot.py").write_text(
        "class Parrot:\n"
        "    provider = 'parrot'\n"
        "    def __init__(self, name, api_key, base_url):\n"
        "        self.name, self.given = name, (api_key, base_url)\n"
    )
    (tmp_path / "parrot-1.0.dist-info").mkdir()
    (tmp_path / "parrot-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: parrot\nVersion: 1.0\n")
    (tmp_path / "parrot-1.0.dist-info/entry_points.txt").write_text("[sidemirror.models]\nparrot = parrot:Parrot\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    told = {"SIDEMIRROR_MODEL__PROVIDER": "parrot", "SIDEMIRROR_MODEL__API_KEY": "own"}
    with pytest.raises(BadSettings, match="parrot needs the name of a model"):
        routes_of(load({}, told), SystemClock())
    provider = routes_of(load({"model__name": "polly"}, told), SystemClock())[Purpose.MID_TURN_REFLECTION].provider
    assert (provider.model.provider, provider.model.name) == ("parrot", "polly")
    assert vars(provider.model)["given"] == ("own", None)
    assert provider.prices is not None, "it is paid for like any other"
    with pytest.raises(BadSettings, match="there are rules, anthropic, openai_compatible, parrot"):
        routes_of(load({"model__provider": "cockatoo"}, told), SystemClock())
