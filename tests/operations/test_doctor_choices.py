"""What `sidemirror doctor` says of models, prompts, packages, telemetry and proxies that the settings choose."""

import importlib.util
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.operations.test_doctor import found, wrong


def told(folder: Path, environment: dict[str, str], **flags: Any) -> list[tuple[str, str]]:
    """Of telemetry and models: what was found, and what to change."""
    findings = found(folder, environment=environment, **flags).findings
    return [(one.found, one.advice) for one in findings if one.subject in ("telemetry", "model")]


@pytest.mark.parametrize(
    ("flags", "begins"),
    [
        ({"model__provider": "antropic"}, "model__provider (SIDEMIRROR_MODEL__PROVIDER): there is no 'antropic'"),
        ({"model__base_url": "http://127.0.0.1:1/v1"}, "model__name (SIDEMIRROR_MODEL__NAME): openai_compatible needs"),
        ({"memory__scorer": "nobody's"}, "memory__scorer (SIDEMIRROR_MEMORY__SCORER): there is no "),
        ({"store": "nobody's"}, "store (SIDEMIRROR_STORE): there is no "),
        ({"store_url": "x"}, "SIDEMIRROR_STORE_URL does nothing without SIDEMIRROR_STORE"),
        ({"prompts_dir": "/nowhere"}, "prompts_dir (SIDEMIRROR_PROMPTS_DIR): /nowhere is not a folder"),
        ({"model__provider": "openai_compatible"}, "model__api_key (SIDEMIRROR_MODEL__API_KEY or OPENAI_API_KEY): "),
        ({"embedding__name": "x"}, "embedding__api_key (SIDEMIRROR_EMBEDDING__API_KEY or OPENAI_API_KEY): "),
        ({"embedding__concurrency": "8"}, "SIDEMIRROR_EMBEDDING__CONCURRENCY does nothing without SIDEMIRROR_EMBED"),
    ],
)
def test_what_serve_would_refuse_or_could_not_use(flags: dict[str, str], begins: str, tmp_path: Path) -> None:
    (finding,) = wrong(tmp_path, **flags)
    assert finding.found.startswith(begins)
    assert finding.advice


@pytest.mark.parametrize(
    ("flags", "extra"),
    [
        ({"model__provider": "openai_compatible", "model__base_url": "http://x/v1", "model__name": "x"}, "openai"),
        ({"embedding__name": "x", "embedding__base_url": "http://x/v1"}, "embeddings"),
        ({"metrics": "true"}, "telemetry"),
        ({"tracing": "true"}, "telemetry"),
    ],
)
def test_packages_that_are_missing(
    flags: dict[str, str], extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert [one.advice for one in wrong(tmp_path, **flags)] == [f"install sidemirror-server[{extra}]"]


def test_a_collector_that_is_there_and_one_that_is_not(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as collector:
        endpoint = f"http://127.0.0.1:{collector.getsockname()[1]}"
        there = told(tmp_path, {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}, tracing="true")
    assert there == [(f"traces go to {endpoint}", "")]
    ((gone, advice),) = told(tmp_path, {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://127.0.0.1:1"}, metrics="true")
    assert gone == "metrics go to http://127.0.0.1:1, and nothing answers there: they are lost"
    assert advice.startswith("start the collector, or set OTEL_EXPORTER_OTLP_ENDPOINT")


def test_another_protocol_than_grpc(tmp_path: Path) -> None:
    environment = {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}
    first, _ = told(tmp_path, environment, tracing="true")
    assert first[0] == "traces are sent by gRPC, whatever OTEL_EXPORTER_OTLP_PROTOCOL says (http/protobuf)"


def test_a_proxy_in_the_way(tmp_path: Path) -> None:
    """It is named without its password, and not where it is passed by."""
    local = {"model__base_url": "http://127.0.0.1:11434/v1", "model__name": "x"}
    environment = {"HTTP_PROXY": "http://me:hunter2@proxy:3128"}
    ((said, advice),) = told(tmp_path, environment, **local)
    assert said == "questions to http://127.0.0.1:11434/v1 go through the proxy http://proxy:3128"
    assert advice.startswith("add 127.0.0.1 to NO_PROXY")
    assert told(tmp_path, {**environment, "NO_PROXY": "localhost,127.0.0.1"}, **local) == []
    remote = {"ANTHROPIC_API_KEY": "sk-x", "https_proxy": "http://proxy:3128"}
    assert told(tmp_path, remote) == [
        ("questions to https://api.anthropic.com go through the proxy http://proxy:3128", "")
    ]
