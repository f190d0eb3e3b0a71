"""The part of `sidemirror doctor` that checks the chosen models, prompts and packages, and the network path to
collectors and models. Asks no model anything."""

import importlib.util
import socket
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping

from sidemirror_server.assembly import refused_choices
from sidemirror_server.operations.finding import Finding
from sidemirror_server.settings import Settings, is_measured, of_libraries
from sidemirror_server.vocabulary.clock import Clock

_CONNECT_S = 2.0
# The exporter's own default.
_OTLP = "http://localhost:4317"
_OTLP_PORT = 4317
# The providers' public addresses, used without a base URL.
_PROVIDERS = {"anthropic": "https://api.anthropic.com", "openai_compatible": "https://api.openai.com/v1"}


def check_choices(settings: Settings, clock: Clock, environment: Mapping[str, str] | None = None) -> Iterator[Finding]:
    """Findings in this order: refused settings, missing packages, telemetry, proxies."""
    environment = of_libraries(environment)
    for refused in refused_choices(settings, clock):
        yield Finding("settings", ok=False, found=refused, advice="change this setting, or install what it names")
    yield from _packages(settings)
    yield from _telemetry(settings, environment)
    yield from _proxies(settings, environment)


def _packages(settings: Settings) -> Iterator[Finding]:
    """The extras without which a setting does nothing."""
    needs = (
        ("openai", ("openai",), "model__provider", settings.model.provider == "openai_compatible"),
        ("embeddings", ("openai", "numpy", "simsimd"), "embedding__name", bool(settings.embedding.name)),
        ("telemetry", ("opentelemetry.sdk", "opentelemetry.exporter.otlp"), "tracing", settings.tracing),
        ("telemetry", ("opentelemetry.sdk", "prometheus_client"), "metrics", is_measured(settings)),
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
        endpoint = _first(environment, f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT") or _OTLP
        protocol = _first(environment, f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
        what = signal.lower()
        if protocol not in ("", "grpc"):
            found = f"{what} are sent by gRPC, whatever OTEL_EXPORTER_OTLP_PROTOCOL says ({protocol})"
            advice = f"name the collector's port for gRPC, {_OTLP_PORT} as a rule"
            yield Finding("telemetry", ok=True, found=found, advice=advice)
        told = f"{what} go to {_shown(endpoint)}"
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


def _proxies(settings: Settings, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Which addresses of models are reached through a proxy of the environment."""
    asked = {
        settings.model.base_url or _PROVIDERS.get(settings.model.provider, ""),
        (settings.embedding.base_url or _PROVIDERS["openai_compatible"]) if settings.embedding.name else "",
    }
    bypassed = {"no": _first(environment, "no_proxy", "NO_PROXY")}
    for url in sorted(asked - {""}):
        scheme, host = urllib.parse.urlsplit(url).scheme, urllib.parse.urlsplit(url).hostname or ""
        names = (f"{scheme}_proxy", f"{scheme.upper()}_PROXY", "all_proxy", "ALL_PROXY")
        proxy = _first(environment, *names)
        # typeshed declares this function for macOS and Windows only.
        if not proxy or urllib.request.proxy_bypass_environment(host, bypassed):  # type: ignore[attr-defined,unused-ignore]
            continue
        near = host == "localhost" or host.startswith("127.")
        advice = f"add {host} to NO_PROXY: a proxy elsewhere does not reach this machine's {host}" if near else ""
        found = f"questions to {_shown(url)} go through the proxy {_shown(proxy)}"
        yield Finding("model", ok=True, found=found, advice=advice)


def _shown(url: str) -> str:
    """The URL without user and password."""
    scheme, slashes, rest = url.rpartition("://")
    return f"{scheme}{slashes}{rest.rpartition('@')[2]}"
