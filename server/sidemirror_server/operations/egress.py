"""`sidemirror doctor --egress`: every address that this sidecar connects to by its settings, and what goes there.

The addresses of models come from the models that `assembly/` makes. Every module of the server that can open a
connection is named in `CONNECTS` with the function that tells its addresses (`tests/operations/test_egress.py`).
"""

import ipaddress
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping

import msgspec

from sidemirror_server.assembly import Destination, destinations_of
from sidemirror_server.models.language_model import Purpose
from sidemirror_server.settings import BadSettings, Settings, Source, load, of_libraries, sources
from sidemirror_server.vocabulary.clock import SystemClock

# The exporters' own default.
OTLP = "http://localhost:4317"
_UNKNOWN = "not known: the installed package decides"
# The store of this name is our own.
_QDRANT = "qdrant"
_REDACTED = "secrets that are recognised where texts enter (docs/operations.md, Secrets in texts); nothing else"
_EVIDENCE = "the task and the last tool results with their errors"

# By purpose: what a question holds, and what triggers it.
_ASKED: Mapping[Purpose, tuple[str, str]] = {
    Purpose.MID_TURN_REFLECTION: (
        "the user's question, the last 3 tool results and the last error",
        "a failing call, a loop, an uncertainty or the n-th turn at a level above OFF; Reflect",
    ),
    Purpose.CRITIQUE: (f"{_EVIDENCE}, and the answer", "Critique; critique_mode of a turn"),
    Purpose.REVISION: (f"{_EVIDENCE}, the answer, and what was found wrong with it", "Revise"),
    Purpose.COMPARISON: (f"{_EVIDENCE}, and two answers", "Revise"),
    Purpose.TRACE_EVALUATION: ("the task, all steps and the answer of a trace", "EvaluateTrace"),
    Purpose.DEBATE: (f"{_EVIDENCE}, the answer, and arguments about it", "Debate"),
    Purpose.GOAL_REFLECTION: (
        "a goal's objective, its last tasks' outputs and its errors",
        "ReportGoal, in the background",
    ),
    Purpose.MEMORY_REFLECTION: ("an episode: task, goal, events and error", "GenerateReflection"),
    Purpose.LEARNING: (
        "a turn's task, events and error",
        "a turn with a failure, a loop, a revision or a correction ends, in the background; SIDEMIRROR_LEARN__MODEL=on",
    ),
    Purpose.DREAMING: ("memories that are alike, with their tasks", "new memories, in the background; Dream"),
    Purpose.MEMORY_EMBEDDING: (
        "memories with their tasks; the texts that memories are searched by",
        "new memories, in the background; QueryReflections, BuildMemoryContext, and lessons for turns",
    ),
}


class Exit(msgspec.Struct, frozen=True):
    """An address that the sidecar connects to, without user, password and query.

    `leaves_machine`: whether the address or the proxy is another machine's; True where that is not known. `setting`:
    what chose the address. `has_texts`: whether `sent` has texts of agents. `proxy`: what the connection passes on its
    way; empty: nothing.
    """

    address: str
    leaves_machine: bool
    what: str
    setting: str
    has_texts: bool
    sent: str
    redacted: str
    when: str
    off: str
    purposes: tuple[str, ...] = ()
    proxy: str = ""


class Surroundings(msgspec.Struct, frozen=True):
    """What decides where a sidecar connects to: its settings, where each came from, and the libraries' environment."""

    settings: Settings
    sources: Mapping[str, Source]
    environment: Mapping[str, str]

    def chose(self, name: str, otherwise: str) -> str:
        """The flag or the variable that gave this setting; `otherwise` if none did."""
        source = self.sources[name]
        if source.source == "flag":
            return f"--{name.replace('_', '-')}"
        return source.variable or f"SIDEMIRROR_{name.upper()}" if source.source == "environment" else otherwise


def exits(flags: Mapping[str, str], environment: Mapping[str, str] | None = None) -> tuple[Exit, ...]:
    """Every address that a sidecar with these settings connects to. Raises BadSettings."""
    settings = load(flags, environment)
    given = {source.name: source for source in sources(settings, flags, environment)}
    around = Surroundings(settings, given, of_libraries(environment))
    return tuple(found for tell in dict.fromkeys(CONNECTS.values()) for found in tell(around))


def _models(around: Surroundings) -> Iterator[Exit]:
    for one in destinations_of(around.settings, SystemClock()):
        asked = [_ASKED[purpose] for purpose in one.purposes]
        address = _UNKNOWN if one.address is None else shown(one.address)
        proxy = "" if one.address is None else proxy_of(one.address, around.environment)
        yield Exit(
            address=address,
            leaves_machine=_is_elsewhere(address, proxy),
            what=f"model {one.provider} {one.model}",
            setting=around.chose(one.setting, _chooser(around, one)),
            has_texts=True,
            sent="; ".join(dict.fromkeys(sent for sent, _ in asked)),
            redacted=_REDACTED,
            when="; ".join(dict.fromkeys(when for _, when in asked)),
            off=_off(one),
            purposes=tuple(purpose.value for purpose in one.purposes),
            proxy=proxy,
        )


def _chooser(around: Surroundings, one: Destination) -> str:
    """What chose the provider, and so its public address, where no setting names an address."""
    chosen = "embedding__name" if Purpose.MEMORY_EMBEDDING in one.purposes else "model__provider"
    return f"{around.chose(chosen, '')}, at {one.provider}'s public address"


def _off(one: Destination) -> str:
    embeds = Purpose.MEMORY_EMBEDDING in one.purposes
    return "unset SIDEMIRROR_EMBEDDING__NAME" if embeds else "SIDEMIRROR_MODEL__PROVIDER=rules"


def _scorer(around: Surroundings) -> Iterator[Exit]:
    """An installed package's code, which is handed texts and may do anything with them."""
    if around.settings.memory.scorer:
        yield Exit(
            address=_UNKNOWN,
            leaves_machine=True,
            what=f"scorer {around.settings.memory.scorer}",
            setting=around.chose("memory__scorer", ""),
            has_texts=True,
            sent="reflections and strategies, with the episodes that they are made from",
            redacted=_REDACTED,
            when="GenerateReflection",
            off="unset SIDEMIRROR_MEMORY__SCORER",
        )


def _custom_store(around: Surroundings) -> Iterator[Exit]:
    """An installed package's code, which is handed records and may keep them anywhere."""
    if around.settings.store not in ("", _QDRANT):
        yield Exit(
            address=_UNKNOWN,
            leaves_machine=True,
            what=f"store {around.settings.store}",
            setting=around.chose("store", ""),
            has_texts=True,
            sent="the records of the ports that the package offers, and questions to the memory if it searches",
            redacted=_REDACTED,
            when="every call that stores or reads them",
            off="unset SIDEMIRROR_STORE",
        )


def _qdrant(around: Surroundings) -> Iterator[Exit]:
    if around.settings.store == _QDRANT:
        address = shown(around.settings.store_url.reveal())
        proxy = proxy_of(address, around.environment)
        yield Exit(
            address=address,
            leaves_machine=_is_elsewhere(address, proxy),
            what="Qdrant",
            setting=around.chose("store_url", ""),
            has_texts=False,
            sent="vectors of memories and of questions, with ids of tenants, projects and memories; no texts",
            redacted="",
            when="memories are embedded, erased, or asked for by vector",
            off="unset SIDEMIRROR_STORE",
            proxy=proxy,
        )


def _postgres(around: Surroundings) -> Iterator[Exit]:
    yield from _store(
        around,
        ("database_url", around.settings.database_url.reveal(), "Postgres"),
        "everything that is recorded: events, directives, critiques, goals, memories and their vectors",
        "every call that stores or reads",
    )
    yield from _store(
        around,
        ("database_listen_url", around.settings.database_listen_url.reveal(), "Postgres, to be woken"),
        "as by database_url: the connection that hears of other sidecars' appends is used for everything",
        "somebody watches",
    )


def _redis(around: Surroundings) -> Iterator[Exit]:
    yield from _store(
        around,
        ("redis_url", around.settings.redis_url.reveal(), "Redis"),
        "the objective and the lesson of each finished goal",
        "a goal's reflection is made, read or published again",
    )


# What the URL of a store begins with.
_BEGINS = {
    "database_url": ("postgresql://", "postgres://"),
    "database_listen_url": ("postgresql://", "postgres://"),
    "redis_url": ("redis://", "rediss://", "unix://"),
}


def _store(around: Surroundings, which: tuple[str, str, str], sent: str, when: str) -> Iterator[Exit]:
    setting, url, what = which
    begins = _BEGINS[setting]
    if url and not url.startswith(begins):
        expected = f"{', '.join(begins[:-1])} or {begins[-1]}"
        raise BadSettings(f"{setting} (SIDEMIRROR_{setting.upper()}): Expected a URL that begins with {expected}")
    for address in _hosts(url, around.environment) if url else ():
        yield Exit(
            address=address,
            leaves_machine=_is_elsewhere(address),
            what=what,
            setting=around.chose(setting, ""),
            has_texts=True,
            sent=sent,
            redacted=_REDACTED,
            when=when,
            off=f"unset SIDEMIRROR_{setting.upper()}",
        )


def _telemetry(around: Surroundings) -> Iterator[Exit]:
    """Traces and metrics by OTLP. Metrics for Prometheus are fetched: nothing connects to it."""
    for signal, name, on in (
        ("TRACES", "tracing", around.settings.tracing),
        ("METRICS", "metrics", around.settings.metrics),
    ):
        if on:
            endpoint, variable = otlp_endpoint(signal, around.environment)
            proxy = _grpc_proxy(endpoint, around.environment)
            yield Exit(
                address=shown(endpoint),
                leaves_machine=_is_elsewhere(endpoint, proxy),
                what=f"{signal.lower()} by OTLP",
                setting=variable or f"{around.chose(name, '')}, at the exporter's default",
                has_texts=False,
                sent="names of calls, models and errors, times, counts and costs; no texts",
                redacted="",
                when="every call" if signal == "TRACES" else "once a minute (OTEL_METRIC_EXPORT_INTERVAL)",
                off=f"SIDEMIRROR_{name.upper()}=false",
                proxy=proxy,
            )


# Modules that can open connections, by the beginnings of their names, with what tells their addresses.
CONNECTS: Mapping[str, Callable[[Surroundings], Iterator[Exit]]] = {
    "sidemirror_server.models.adapters": _models,
    "sidemirror_server.assembly.memory": _scorer,
    "sidemirror_server.assembly.custom_stores": _custom_store,
    "sidemirror_server.storage.qdrant": _qdrant,
    "sidemirror_server.storage.postgres": _postgres,
    "sidemirror_server.storage.redis": _redis,
    "sidemirror_server.operations.telemetry": _telemetry,
}


def otlp_endpoint(signal: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """Where the exporter of this signal (TRACES, METRICS) sends to, and the variable that says so; empty: none does."""
    for variable in (f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"):
        if value := environment.get(variable, ""):
            return value, variable
    return OTLP, ""


def proxy_of(url: str, environment: Mapping[str, str]) -> str:
    """The proxy that the models' HTTP clients use for this URL, without user and password; empty: none."""
    scheme = urllib.parse.urlsplit(url).scheme
    return _proxy(url, environment, (f"{scheme}_proxy", f"{scheme.upper()}_PROXY", "all_proxy", "ALL_PROXY"))


def _grpc_proxy(endpoint: str, environment: Mapping[str, str]) -> str:
    """The same for gRPC's own client (its document "environment_variables")."""
    return _proxy(endpoint, environment, ("grpc_proxy", "https_proxy", "http_proxy"))


def _proxy(url: str, environment: Mapping[str, str], names: tuple[str, ...]) -> str:
    proxy = next((value for name in names if (value := environment.get(name, ""))), "")
    bypassed = {"no": environment.get("no_proxy", "") or environment.get("NO_PROXY", "")}
    # typeshed declares this function for macOS and Windows only.
    if not proxy or urllib.request.proxy_bypass_environment(_host(url), bypassed):  # type: ignore[attr-defined,unused-ignore]
        return ""
    return shown(proxy)


def shown(url: str) -> str:
    """The URL without user, password, query and fragment."""
    scheme, slashes, rest = url.partition("://") if "://" in url else ("", "", url)
    return f"{scheme}{slashes}{rest.partition('?')[0].partition('#')[0].rpartition('@')[2]}"


def _hosts(url: str, environment: Mapping[str, str]) -> list[str]:
    """The addresses of a store's URL, of which Postgres may have several. A Unix socket is `unix:` and its path."""
    parts = urllib.parse.urlsplit(url)
    query = urllib.parse.parse_qs(parts.query)
    if parts.scheme == "unix":
        return [f"unix:{parts.path}"]
    # What Postgres' clients look for where the URL has no host.
    otherwise = environment.get("PGHOST", "") or "localhost"
    named = parts.netloc.rpartition("@")[2] or ",".join(query.get("host", [otherwise]))
    return [f"unix:{host}" if host.startswith("/") else f"{parts.scheme}://{host}" for host in named.split(",")]


def _host(url: str) -> str:
    try:
        return urllib.parse.urlsplit(url if "://" in url else f"//{url}").hostname or ""
    except ValueError:
        return ""


def _is_elsewhere(address: str, proxy: str = "") -> bool:
    """Whether the address, or the proxy if there is one, is another machine's or may be."""
    if proxy and _is_elsewhere(proxy):
        return True
    host = _host(address)
    if address.startswith("unix:") or host == "localhost":
        return False
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return True
