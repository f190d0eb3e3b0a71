"""Every knob of the server, with its unit, its default and the reason for it. The only reader of the environment.

A setting is given as a flag of `sidemirror serve` (`--data-dir`), in the environment (`SIDEMIRROR_DATA_DIR`, nested
ones with two underscores: `SIDEMIRROR_LIMITS__MESSAGE_BYTES`), or not at all; the first of these that says something
counts.

msgspec checks the values: it is in the process anyway, where pydantic-settings alone would add half of what the whole
server takes to start (measured: 186 ms against 13 ms, over a bare grpc.aio server of 90 ms).
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, get_type_hints

import msgspec
from msgspec import Meta

PREFIX = "SIDEMIRROR_"

Bytes = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(ge=0)]
Count = Annotated[int, Meta(ge=0)]
ScopeName = Annotated[str, Meta(min_length=1, max_length=128)]


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the server accepts. Defaults: design section 11, unless it says otherwise."""

    # Largest request, in bytes. gRPC's own default, which clients share.
    message_bytes: Bytes = 4 * 1024 * 1024
    # Events that one turn may have.
    events_per_turn: Annotated[int, Meta(ge=1)] = 10_000
    # Streams (and calls) at once on one connection. Also what keeps one client from starving the others
    # (research page reliability-and-security, fact 8).
    streams_per_connection: Annotated[int, Meta(ge=1)] = 100
    # Seconds after which a RunTurn stream on which the agent sends nothing is ended.
    idle_stream_s: Seconds = 600.0
    # Bytes of events that wait in memory while the store is away. Chosen here: minutes of a busy agent, and a quarter
    # of what a sidecar is usually given.
    backlog_bytes: Bytes = 64 * 1024 * 1024


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a server is told before it starts."""

    # Where to listen: host:port, or unix:/path for a Unix socket alone. Only loopback, since calls carry no identity
    # yet.
    address: str = "127.0.0.1:50051"
    # A Unix socket to listen on as well, as a path; none when empty.
    socket: str = ""
    # The folder of the embedded store. Made with mode 0700 when it is missing.
    data_dir: Path = Path("sidemirror-data")
    # The scope of calls that name none.
    tenant_id: ScopeName = "default"
    project_id: ScopeName = "default"
    # Refuse every other scope.
    pin_scope: bool = False
    # Answer server reflection (grpcurl, buf curl). On for loopback and sockets, which is all there is.
    reflection: bool = True
    # One span for each call, to wherever OTEL_EXPORTER_OTLP_ENDPOINT says. Needs the extra `telemetry`.
    tracing: bool = False
    # Seconds between heartbeats on a stream that says nothing else (design section 5).
    heartbeat_s: Annotated[float, Meta(gt=0)] = 20.0
    # Seconds after which an open turn that nothing was heard of is abandoned (design section 5: 30 minutes).
    abandon_after_s: Seconds = 1800.0
    # Seconds that running calls get when the server is told to stop. Chosen here: what Kubernetes' default of 30 s
    # leaves room for three times over.
    grace_s: Seconds = 10.0
    # debug, info, warning or error.
    log_level: Annotated[str, Meta(pattern="^(debug|info|warning|error)$")] = "info"
    limits: Limits = Limits()


class BadSettings(Exception):
    """The settings cannot be used; says which one and why."""


class Source(msgspec.Struct, frozen=True):
    """Where a setting's value came from: `flag`, `environment` or `default`."""

    name: str
    value: object
    source: str


def load(flags: Mapping[str, str] | None = None, environment: Mapping[str, str] | None = None) -> Settings:
    """The settings from flags (by field name, nested ones with `__`), then the environment, then the defaults.

    Raises BadSettings, naming the setting.
    """
    given = {**_from_environment(os.environ if environment is None else environment), **(flags or {})}
    nested: dict[str, object] = {}
    for name, value in given.items():
        group, _, rest = name.partition("__")
        if rest:
            inner = nested.setdefault(group, {})
            if isinstance(inner, dict):
                inner[rest] = value
        else:
            nested[name] = value
    try:
        return msgspec.convert(nested, Settings, strict=False, dec_hook=_decode)
    except msgspec.ValidationError as error:
        raise BadSettings(_told(str(error))) from error


def unknown_names(environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Names in the environment that look like settings and are none: most likely misspelt."""
    known = {f"{PREFIX}{name.upper()}" for name in names()}
    given = os.environ if environment is None else environment
    return tuple(sorted(name for name in given if name.startswith(PREFIX) and name not in known | OTHERS))


# Names that clients read; the server leaves them alone.
OTHERS = {"SIDEMIRROR_TOKEN_FILE"}


def sources(
    settings: Settings, flags: Mapping[str, str], environment: Mapping[str, str] | None = None
) -> Iterator[Source]:
    """Every setting with its value and where that came from, in the order of their definition."""
    given = _from_environment(os.environ if environment is None else environment)
    for name in names():
        group, _, rest = name.partition("__")
        value = getattr(getattr(settings, group), rest) if rest else getattr(settings, name)
        yield Source(name, value, "flag" if name in flags else "environment" if name in given else "default")


def names() -> tuple[str, ...]:
    """The names of all settings, nested ones with `__`, in the order of their definition."""
    found: list[str] = []
    for name, kind in get_type_hints(Settings).items():
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            found.extend(f"{name}__{inner}" for inner in kind.__struct_fields__)
        else:
            found.append(name)
    return tuple(found)


def _from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    given = {name.removeprefix(PREFIX).lower(): value for name, value in environment.items() if name.startswith(PREFIX)}
    return {name: value for name, value in given.items() if name in names()}


def _decode(kind: type, value: object) -> object:
    if kind is Path and isinstance(value, str):
        return Path(value)
    raise NotImplementedError(kind)


def _told(error: str) -> str:
    """msgspec names the place as `$.limits.message_bytes`; people know it as a setting's name."""
    what, _, place = error.partition(" - at `$.")
    name = place.rstrip("`").replace(".", "__")
    return f"{name} ({PREFIX}{name.upper()}): {what}" if name else error
