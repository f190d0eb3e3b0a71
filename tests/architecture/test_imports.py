"""The import contracts of pyproject.toml hold, and each of them notices a planted violation."""

from pathlib import Path

import pytest

from tests.architecture.repository import ROOT, checked, run_tool

ROOMS = (
    *(
        "operations",
        "operations/demo",
        "http",
        "rpc",
        "telemetry_in",
        "turns",
        "thinking",
        "critique",
        "goals",
        "memory",
        *("memory/kin", "memory/trials", "memory/lessons", "memory/finding", "memory/recoveries", "memory/dreams"),
        "trace",
        "work",
        "policy",
        "vocabulary",
        "assembly",
        "settings",
    ),
    *(
        f"rpc/{room}"
        for room in ("boundary", "critique", "goals", "listening", "memory", "otlp", "sidecar", "thinking", "wire")
    ),
    *("models", "models/adapters", "models/adapters/anthropic", "models/adapters/openai_compatible"),
    *("storage", "storage/sqlite", "storage/postgres", "storage/redis"),
)
FILES = (
    "cli.py",
    "memory/record.py",
    "assembly/stores.py",
    "settings/reading.py",
    "models/adapters/rules.py",
    "storage/sql.py",
)


def empty_house(folder: Path) -> Path:
    """The server's rooms with nothing in them; returns the package."""
    package = folder / "sidemirror_server"
    for room in ("", *ROOMS):
        (package / room).mkdir()
        (package / room / "__init__.py").touch()
    for file in FILES:
        (package / file).touch()
    return package


def broken_contracts(folder: Path) -> list[str]:
    """The names of the contracts that the package in `folder` breaks; fails when they could not be checked."""
    config = str(ROOT / "pyproject.toml")
    result = run_tool("lint-imports", "--no-logo", "--no-cache", "--config", config, cwd=folder, path=str(folder))
    report = (result.stdout + result.stderr).decode()
    broken = [line.removesuffix(" BROKEN") for line in report.splitlines() if line.endswith(" BROKEN")]
    assert "Contracts: " in report, report
    assert result.returncode == (1 if broken else 0), report
    return broken


LAYERS = "Rooms import downwards only, and siblings are unaware of each other"
RPC = "Rooms of rpc import downwards only, and services ignore each other"
ADAPTERS = "Only assembly imports adapters, and adapters do not import each other"
MEMORY = "Inner rooms of memory import downwards only"
SQLITE = "sqlite3 only below storage/sqlite"
POSTGRES = "asyncpg only below storage/postgres"
REDIS = "redis only below storage/redis"
ANTHROPIC = "The SDK of Anthropic only in its adapter"
OPENAI = "The SDK of OpenAI only in its adapter"
HTTP = "HTTP clients only in what adapters of remote models share"
HTTP_SERVER = "The HTTP server only in http"
WIRE = "Only rpc, http and some commands see gRPC and the wire types"


def test_import_contracts_hold() -> None:
    checked(run_tool("lint-imports", "--no-logo", "--no-cache"))


@pytest.mark.parametrize(
    ("module", "imports", "contract"),
    [
        ("vocabulary/planted.py", "sidemirror_server.trace", LAYERS),
        ("thinking/planted.py", "sidemirror_server.turns", LAYERS),
        ("thinking/planted.py", "sidemirror_server.critique", LAYERS),
        ("goals/planted.py", "sidemirror_server.memory", LAYERS),
        ("trace/planted.py", "sidemirror_server.work", LAYERS),
        ("models/planted.py", "sidemirror_server.trace", LAYERS),
        ("policy/planted.py", "sidemirror_server.models", LAYERS),
        ("turns/planted.py", "sidemirror_server.settings", LAYERS),
        ("turns/planted.py", "sidemirror_server.telemetry_in", LAYERS),
        ("telemetry_in/planted.py", "sidemirror_server.rpc.boundary", LAYERS),
        ("telemetry_in/planted.py", "google.protobuf.message", WIRE),
        ("rpc/otlp/planted.py", "sidemirror_server.rpc.listening", RPC),
        ("storage/sqlite/planted.py", "sidemirror_server.rpc", LAYERS),
        ("storage/sqlite/planted.py", "sidemirror_server.turns", LAYERS),
        ("unlisted.py", "os", LAYERS),
        ("rpc/critique/planted.py", "sidemirror_server.rpc.thinking", RPC),
        ("rpc/memory/planted.py", "sidemirror_server.rpc.listening", RPC),
        ("rpc/listening/planted.py", "sidemirror_server.rpc.sidecar", RPC),
        ("rpc/boundary/planted.py", "sidemirror_server.rpc.goals", RPC),
        ("rpc/wire/planted.py", "sidemirror_server.rpc.boundary", RPC),
        ("rpc/unlisted.py", "os", RPC),
        ("operations/planted.py", "sidemirror_server.storage.sqlite", ADAPTERS),
        ("rpc/boundary/planted.py", "sidemirror_server.storage.sqlite", ADAPTERS),
        ("storage/postgres/planted.py", "sidemirror_server.storage.sqlite", ADAPTERS),
        ("rpc/boundary/planted.py", "sidemirror_server.storage.sql", ADAPTERS),
        ("turns/planted.py", "sidemirror_server.models.adapters.rules", ADAPTERS),
        ("models/planted.py", "sidemirror_server.models.adapters.rules", ADAPTERS),
        ("memory/kin/planted.py", "sidemirror_server.memory.finding", MEMORY),
        ("memory/trials/planted.py", "sidemirror_server.memory.kin", MEMORY),
        ("memory/lessons/planted.py", "sidemirror_server.memory.finding", MEMORY),
        ("memory/finding/planted.py", "sidemirror_server.memory.dreams.dreams", MEMORY),
        ("memory/recoveries/planted.py", "sidemirror_server.memory.lessons", MEMORY),
        ("memory/record.py", "sidemirror_server.memory.trials.trials", MEMORY),
        ("memory/unlisted.py", "os", MEMORY),
        ("trace/planted.py", "sqlite3", SQLITE),
        ("storage/postgres/planted.py", "sqlite3", SQLITE),
        ("storage/sqlite/planted.py", "asyncpg", POSTGRES),
        ("storage/redis/planted.py", "asyncpg", POSTGRES),
        ("storage/postgres/planted.py", "redis", REDIS),
        ("models/planted.py", "anthropic", ANTHROPIC),
        ("models/adapters/openai_compatible/planted.py", "anthropic", ANTHROPIC),
        ("models/planted.py", "openai.types", OPENAI),
        ("models/adapters/anthropic/planted.py", "openai", OPENAI),
        ("models/planted.py", "httpx2", HTTP),
        ("work/planted.py", "redis.asyncio", REDIS),
        ("assembly/stores.py", "asyncpg", POSTGRES),
        ("http/planted.py", "sidemirror_server.settings", LAYERS),
        ("rpc/boundary/planted.py", "sidemirror_server.http", LAYERS),
        ("assembly/stores.py", "uvicorn", HTTP_SERVER),
        ("turns/planted.py", "grpc.aio", WIRE),
        ("thinking/planted.py", "google.protobuf.message", WIRE),
        ("assembly/stores.py", "sidemirror.v1.thinking_pb2", WIRE),
        ("operations/planted.py", "sqlite3", SQLITE),
    ],
)
def test_a_planted_violation_is_found(tmp_path: Path, module: str, imports: str, contract: str) -> None:
    (empty_house(tmp_path) / module).write_text(f"import {imports}\n")

    assert broken_contracts(tmp_path) == [contract]


@pytest.mark.parametrize(
    ("module", "imports"),
    [
        ("assembly/stores.py", "sidemirror_server.storage.sqlite, sidemirror_server.models.adapters.rules"),
        ("storage/sqlite/planted.py", "sqlite3, sidemirror_server.memory, sidemirror_server.storage.sql"),
        ("models/adapters/anthropic/planted.py", "anthropic, httpx2"),
        ("models/adapters/openai_compatible/planted.py", "openai"),
        ("storage/postgres/planted.py", "asyncpg"),
        ("storage/redis/planted.py", "redis.asyncio"),
        ("memory/dreams/planted.py", "sidemirror_server.memory.lessons, sidemirror_server.memory.finding"),
        ("memory/recoveries/planted.py", "sidemirror_server.memory.kin, sidemirror_server.memory.trials"),
        ("rpc/boundary/planted.py", "grpc, google.protobuf, sidemirror.v1.thinking_pb2, sidemirror_server.turns"),
        ("rpc/goals/planted.py", "sidemirror_server.rpc.boundary, sidemirror_server.rpc.wire"),
        ("turns/planted.py", "sidemirror_server.thinking, sidemirror_server.memory, sidemirror_server.trace"),
        ("operations/planted.py", "grpc, sidemirror.v1.thinking_pb2"),
        ("http/planted.py", "grpc, uvicorn.config, sidemirror_server.rpc"),
        ("operations/demo/planted.py", "sqlite3"),
    ],
)
def test_what_is_allowed_passes(tmp_path: Path, module: str, imports: str) -> None:
    (empty_house(tmp_path) / module).write_text(f"import {imports}\n")

    assert broken_contracts(tmp_path) == []
