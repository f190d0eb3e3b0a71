"""The part of `sidemirror doctor` that checks the chosen models, prompts and packages, and the network path to
collectors and models. Asks no model anything."""

import importlib.util
import socket
import urllib.parse
from collections.abc import Iterator, Mapping

from sidemirror_server.assembly import destinations_of, refused_choices
from sidemirror_server.operations.egress import otlp_endpoint, proxy_of, shown
from sidemirror_server.operations.finding import Finding
from sidemirror_server.settings import BadSettings, Settings, is_measured, of_libraries
from sidemirror_server.vocabulary.clock import Clock

_CONNECT_S = 2.0
# The exporter's own default.
_OTLP_PORT = 4317


def check_choices(settings: Settings, clock: Clock, environment: Mapping[str, str] | None = None) -> Iterator[Finding]:
    """Findings in this order: refused settings, missing packages, telemetry, proxies."""
    environment = of_libraries(environment)
    for refused in refused_choices(settings, clock):
        yield Finding("settings", ok=False, found=refused, advice="change this setting, or install what it names")
    yield from _packages(settings)
    yield from _telemetry(settings, environment)
    yield from _proxies(settings, clock, environment)


def _packages(settings: Settings) -> Iterator[Finding]:
    """The extras without which a setting does nothing."""
    needs = (
        ("openai", ("openai",), "model__provider", settings.model.provider == "openai_compatible"),
        ("embeddings", ("openai", "numpy", "simsimd"), "embedding__name", bool(settings.embedding.name)),
        ("telemetry", ("opentelemetry.sdk", "opentelemetry.exporter.otlp"), "tracing", settings.tracing),
        ("telemetry", ("opentelemetry.sdk", "prometheus_client"), "metrics", is_measured(settings)),
        ("telemetry", ("opentelemetry.proto",), "telemetry__receive", settings.telemetry.receive),
    )
    for extra, modules, setting, chosen in needs:
        if chosen and not all(_is_installed(module) for module in modules):
            found = f"{setting} needs packages that are not installed"
            yield Finding("settings", ok=False, found=found, advice=f"install sidemirror-server[{extra}]")


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # its parent package is missing
        return False


def _telemetry(settings: Settings, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Whether the collectors of traces and metrics can be reached. A server starts without them."""
    for signal, sent in (("TRACES", settings.tracing), ("METRICS", settings.metrics)):
        if not sent:
            continue
        endpoint, _ = otlp_endpoint(signal, environment)
        protocol = _first(environment, f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
        what = signal.lower()
        if protocol not in ("", "grpc"):
            found = f"{what} are sent by gRPC, whatever OTEL_EXPORTER_OTLP_PROTOCOL says ({protocol})"
            advice = f"name the collector's port for gRPC, {_OTLP_PORT} as a rule"
            yield Finding("telemetry", ok=True, found=found, advice=advice)
        told = f"{what} go to {shown(endpoint)}"
        if _listens(endpoint):
            yield Finding("telemetry", ok=True, found=told)
        else:
            advice = "start the collector, or set OTEL_EXPORTER_OTLP_ENDPOINT to where it takes gRPC"
            yield Finding(
                "telemetry", ok=True, found=f"{told}, and nothing answers there: they are lost", advice=advice
            )


def _first(environment: Mapping[str, str], *names: str) -> str:
    return next((value for name in names if (value := environment.get(name, ""))), "")


def _listens(endpoint: str) -> bool:
    url = urllib.parse.urlsplit(endpoint if "://" in endpoint else f"//{endpoint}")
    try:
        socket.create_connection((url.hostname or "", url.port or _OTLP_PORT), _CONNECT_S).close()
    except (OSError, ValueError):
        return False
    return True


def _proxies(settings: Settings, clock: Clock, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Which addresses of models are reached through a proxy of the environment."""
    try:
        asked = {one.address for one in destinations_of(settings, clock) if one.address is not None}
    except BadSettings:  # told as a refused setting
        return
    for url in sorted(asked):
        if proxy := proxy_of(url, environment):
            host = urllib.parse.urlsplit(url).hostname or ""
            near = host == "localhost" or host.startswith("127.")
            advice = f"add {host} to NO_PROXY: a proxy elsewhere does not reach this machine's {host}" if near else ""
            yield Finding(
                "model", ok=True, found=f"questions to {shown(url)} go through the proxy {proxy}", advice=advice
            )
