"""Reads settings from flags and the environment, and says where each value came from."""

import math
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from sidemirror_server.settings.table import Secret, Settings

PREFIX = "SIDEMIRROR_"


def is_measured(settings: Settings) -> bool:
    """Whether metrics are sent by OTLP or served to Prometheus."""
    return settings.metrics or bool(settings.metrics_address)


class BadSettings(Exception):
    """The settings cannot be used. The text names the setting and the reason, of several one on each line of `told`."""

    def __init__(self, *told: str, setting: str = "") -> None:
        """`setting`: its name, where whoever catches it goes by it."""
        super().__init__("; ".join(told))
        self.told = told
        self.setting = setting


class Source(msgspec.Struct, frozen=True, omit_defaults=True):
    """A setting's value and its source: `flag`, `environment` or `default`. `variable`: the environment variable that
    gave it, if not the one named after the setting."""

    name: str
    value: object
    source: str
    variable: str = ""


def load(flags: Mapping[str, str] | None = None, environment: Mapping[str, str] | None = None) -> Settings:
    """The settings from flags (by field name, nested ones with `__`), then the environment, then the defaults.

    Raises BadSettings, naming each wrong setting in the order of the table.
    """
    environment = os.environ if environment is None else environment
    given = {**_from_environment(environment), **(flags or {})}
    given.update({name: said.value for name, said in _from_others(given, environment).items()})
    settings, wrong = None, dict[str, str]()
    while settings is None:
        try:
            settings = msgspec.convert(_nested(given), Settings, strict=False, dec_hook=_decode)
        except msgspec.ValidationError as error:
            # The first one. Without it the next one is found.
            what, name = _place(str(error))
            if name not in given:
                raise BadSettings(what) from error
            wrong[name] = f"{name} ({_variable(name, flags or {}, environment)}): {_told(what, name, given.pop(name))}"
    wrong |= {
        source.name: f"{source.name} ({PREFIX}{source.name.upper()}): Expected a number, got infinity"
        for source in sources(settings, given, environment)
        if source.value == math.inf
    }
    if wrong:
        raise BadSettings(*(wrong[name] for name in names() if name in wrong))
    return settings


def _nested(given: Mapping[str, str]) -> dict[str, object]:
    """The values by group, as `Settings` has them."""
    nested: dict[str, object] = {}
    for name, value in given.items():
        *groups, last = name.split("__")
        inner = nested
        for group in groups:
            inner = inner.setdefault(group, {})  # type: ignore[assignment]  # a name is a value or a group, not both
        inner[last] = _word(name, value)
    return nested


def unknown_names(environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Variables with our prefix that are not settings, sorted by name; most are misspelt."""
    known = {f"{PREFIX}{name.upper()}" for name in names()}
    given = os.environ if environment is None else environment
    return tuple(sorted(name for name in given if name.startswith(PREFIX) and name not in known | OTHERS))


def nearest(name: str) -> str:
    """The variable that a misspelt one most likely means; empty when none is similar."""
    import difflib  # loaded for a misspelt name only

    if f"{name}_FILE" in OTHERS:
        return f"{name}_FILE"
    # Compared without the prefix, which makes any two names similar.
    known = [setting.upper() for setting in names()] + sorted(other.removeprefix(PREFIX) for other in OTHERS)
    close = difflib.get_close_matches(name.removeprefix(PREFIX), known, n=1)
    return f"{PREFIX}{close[0]}" if close else ""


class Idle(NamedTuple):
    """A setting that was given and does nothing, as its environment variable. `needs`: the variable without which it
    does nothing; empty where policies decide in its place."""

    variable: str
    needs: str = ""

    @property
    def why(self) -> str:
        """The reason, as it follows on `does nothing`."""
        return f"without {self.needs}" if self.needs else _BY_POLICY


def without_effect(
    settings: Settings, flags: Mapping[str, str], environment: Mapping[str, str] | None = None
) -> tuple[Idle, ...]:
    """Settings that were given but do nothing."""
    environment = os.environ if environment is None else environment
    given = {
        source.name
        for source in sources(settings, flags, environment)
        if source.source != "default" and source.value not in ("", None, Secret())
    }
    needed = {"model__name": "model__provider"} if settings.model.provider == "rules" else {}
    if not settings.database_url:
        needed["database_listen_url"] = "database_url"
    if not settings.store:
        needed["store_url"] = "store"
    if not settings.access_file:
        needed |= dict.fromkeys((name for name in names() if name.startswith("limits__agent_")), "access_file")
    elif not settings.limits.agent_bytes_per_second:
        needed["limits__agent_waiting_bytes"] = "limits__agent_bytes_per_second"
    if not settings.embedding.name:
        needed |= dict.fromkeys((name for name in names() if name.startswith("embedding__")), "embedding__name")
    found = {name: f"{PREFIX}{other.upper()}" for name, other in needed.items() if other not in given}
    if settings.database_url:
        found |= {name: "" for name in names() if name.startswith("retention__")}
    return tuple(Idle(_variable(name, flags, environment), needs) for name, needs in found.items() if name in given)


_BY_POLICY = "in a shared store, where `sidemirror policy set` decides what is removed"


def _variable(name: str, flags: Mapping[str, str], environment: Mapping[str, str]) -> str:
    """The environment variable that gave this setting, or else the variable with the setting's name."""
    other = _from_others({**_from_environment(environment), **flags}, environment).get(name)
    return f"{PREFIX}{name.upper()}" if other is None else other.variable


# Variables that clients read and the server ignores.
_AS_CLIENT = {
    "token": "SIDEMIRROR_TOKEN_FILE",
    "ca": "SIDEMIRROR_CA_FILE",
    "certificate": "SIDEMIRROR_CLIENT_CERTIFICATE_FILE",
    "key": "SIDEMIRROR_CLIENT_KEY_FILE",
}
OTHERS = set(_AS_CLIENT.values())


class AsClient(msgspec.Struct, frozen=True):
    """The files that a command presents to the sidecar that it calls: its token, the certificate authorities that it
    trusts (which turn TLS on), its client certificate and its key. Empty: none."""

    token: str = ""
    ca: str = ""
    certificate: str = ""
    key: str = ""


def as_client(environment: Mapping[str, str] | None = None) -> AsClient:
    """Reads the variables that clients of every language read."""
    given = os.environ if environment is None else environment
    return AsClient(**{field: given.get(name, "") for field, name in _AS_CLIENT.items()})


def config_folder(home: Path, environment: Mapping[str, str] | None = None) -> Path:
    """The folder in which programs of the user have their configuration (XDG Base Directory Specification)."""
    given = os.environ if environment is None else environment
    return Path(given.get("XDG_CONFIG_HOME") or home / ".config")


def of_libraries(environment: Mapping[str, str] | None = None) -> Mapping[str, str]:
    """The environment for libraries that read it directly: OpenTelemetry's SDK and the models' HTTP clients."""
    return os.environ if environment is None else environment


def sources(
    settings: Settings, flags: Mapping[str, str], environment: Mapping[str, str] | None = None
) -> Iterator[Source]:
    """Every setting with its value and its source, in the order of definition."""
    environment = os.environ if environment is None else environment
    given = _from_environment(environment)
    others = _from_others({**given, **flags}, environment)
    for name in names():
        value: object = settings
        for part in name.split("__"):
            value = getattr(value, part)
        if name in others:
            yield Source(name, value, "environment", others[name].variable)
        else:
            yield Source(name, value, "flag" if name in flags else "environment" if name in given else "default")


@cache
def names(kind: type[msgspec.Struct] = Settings) -> tuple[str, ...]:
    """The names of all settings, nested ones with `__`, in the order of definition."""
    found: list[str] = []
    for name, inner in get_type_hints(kind).items():
        if isinstance(inner, type) and issubclass(inner, msgspec.Struct):
            found.extend(f"{name}__{rest}" for rest in names(inner))
        else:
            found.append(name)
    return tuple(found)


def quieten_grpc() -> None:
    """Limits gRPC's log to errors, unless the environment says otherwise. gRPC would log each failed TLS handshake, so
    anybody who reaches the port could fill the disk. Call this before gRPC is used."""
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")


# Settings that may not be given as flags.
SECRETS = ("model__api_key", "embedding__api_key")


# The seeds' names of settings (docs/decisions/departures-from-the-seeds.md).
_ALIASES = {
    "model__name": "RAE_LLM_MODEL_DEFAULT",
    "memory__enabled": "REFLECTIVE_MEMORY_ENABLED",
    "memory__mode": "REFLECTIVE_MEMORY_MODE",
}


class _Said(msgspec.Struct, frozen=True):
    """A setting's value from a variable of another name, such as ANTHROPIC_API_KEY."""

    value: str
    variable: str


# The variables in which the providers' SDKs look for an address and a key.
_BASE_URLS = {"anthropic": "ANTHROPIC_BASE_URL", "openai_compatible": "OPENAI_BASE_URL"}
_KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai_compatible": "OPENAI_API_KEY"}


def _from_others(given: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, _Said]:
    """Values of settings that were not given, from the variables of providers' SDKs and the seeds' names."""
    told: dict[str, _Said] = {}

    def tell(name: str, variable: str) -> None:
        if value := environment.get(variable, ""):
            told[name] = _Said(value, variable)

    provider, base_url = given.get("model__provider", ""), given.get("model__base_url", "")
    if not provider:
        told |= _chosen(base_url, given.get("model__api_key", ""), environment)
        provider = told["model__provider"].value if told else ""
    if provider in _KEYS:
        tell("model__base_url", _BASE_URLS[provider])
        # OPENAI_API_KEY is not sent to a server that a setting of ours names.
        if provider == "anthropic" or not base_url:
            tell("model__api_key", _KEYS[provider])
    if given.get("embedding__name") and not given.get("embedding__base_url"):
        tell("embedding__base_url", _BASE_URLS["openai_compatible"])
        tell("embedding__api_key", _KEYS["openai_compatible"])
    for name, alias in _ALIASES.items():
        tell(name, alias)
        if name in told and name.startswith("memory__"):
            told[name] = _Said(told[name].value.strip(), alias)
    return {name: said for name, said in told.items() if said.value and not given.get(name)}


def _chosen(base_url: str, api_key: str, environment: Mapping[str, str]) -> dict[str, _Said]:
    """The provider that an address or a key chooses. The SDKs' addresses choose none: other programs use them too, and
    nothing is sent anywhere because of them alone."""
    for value, variable, provider in (
        (base_url, f"{PREFIX}MODEL__BASE_URL", "openai_compatible"),
        (api_key, f"{PREFIX}MODEL__API_KEY", "anthropic"),
        (environment.get(_KEYS["anthropic"], ""), _KEYS["anthropic"], "anthropic"),
    ):
        if value:
            return {"model__provider": _Said(provider, variable)}
    return {}


def _from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    given = {name.removeprefix(PREFIX).lower(): value for name, value in environment.items() if name.startswith(PREFIX)}
    return {name: value for name, value in given.items() if name in names()}


def _decode(kind: type, value: object) -> object:
    if kind is Path and isinstance(value, str):
        if not value:
            # An empty path would be the current directory.
            raise ValueError("Expected the path of a folder, got nothing")
        return Path(value)
    if kind is Secret and isinstance(value, str):
        return Secret(value)
    raise NotImplementedError(kind)


# The types that msgspec's errors name, and the words for people.
_PLAINLY = {
    "`float`": "a number",
    "`int`": "a whole number",
    "`bool`": "true or false",
    "`float | null`": "a number, or null",
    "`int | null`": "a whole number, or null",
    "`str` of length >= 1": "1 to 128 characters",
    "`str` of length <= 128": "1 to 128 characters",
}
# The form that a text's pattern requires, by the last part of the setting's name.
_FORMS = {
    "socket_mode": "a mode in octal, such as 0660",
    "tenant_id": "one id in printable characters, without * for many",
    "project_id": "one id in printable characters, without * for many",
    "base_url": "a URL that begins with http:// or https://",
}
_BOUND = re.compile(r"`(int|float)` (>=|<=) (.+)")


# The most characters of a wrong value that are shown.
_SHOWN_CHARS = 40


def _place(error: str) -> tuple[str, str]:
    """What msgspec's error says, and the name of the setting, which is there as a path such as
    `$.limits.message_bytes`; empty if none is."""
    what, _, place = error.partition(" - at `$.")
    return what, place.rstrip("`").replace(".", "__")


def _told(what: str, name: str, value: str) -> str:
    """What msgspec says of a setting, in the words of people, with its value: not that of a URL, which may hold a
    password."""
    what = what.partition(", got ")[0]
    expected = what.removeprefix("Expected ")
    if expected.startswith("`str` matching regex"):
        what = f"Expected {_FORMS.get(name.rpartition('__')[2], 'printable characters')}"
    elif expected in _PLAINLY:
        what = f"Expected {_PLAINLY[expected]}"
    elif bound := _BOUND.fullmatch(expected):
        kind, side, limit = bound.groups()
        what = f"Expected {_PLAINLY[f'`{kind}`']}, at {'least' if side == '>=' else 'most'} {limit.removesuffix('.0')}"
    elif choices := _choices(name):
        what = f"Expected {', '.join(choices[:-1])} or {choices[-1]}"
    return what if name.endswith("_url") else f"{what}, got {_shown(value)}"


def _shown(value: str) -> str:
    """A value in quotes, cut and without recognised secrets, which somebody may have given to the wrong setting."""
    from sidemirror_server.vocabulary.text import enter  # loaded for a wrong setting only

    safe = enter(value)
    return repr(safe if len(safe) <= _SHOWN_CHARS else f"{safe[:_SHOWN_CHARS]}…") if value else "nothing"


# What the contract's names of a setting's words begin with.
_OF_CONTRACT = {"defaults__level": "think_level_", "defaults__critique_mode": "critique_mode_"}


def _word(name: str, value: str) -> str:
    """The value as given; of a setting that takes one of several words in lower case, without what the contract's name
    begins with."""
    return value.lower().removeprefix(_OF_CONTRACT.get(name, "")) if _choices(name) else value


@cache
def _choices(name: str) -> list[str]:
    """The values of a setting that takes one of a fixed list; empty for any other setting."""
    kind: Any = Settings
    for part in name.split("__"):
        kind = get_type_hints(kind)[part]
    kinds = (kind, *get_args(kind))  # the type may be `Literal[…] | None`
    return [value for each in kinds if get_origin(each) is Literal for value in get_args(each)]
