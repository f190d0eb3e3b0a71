"""The import contracts of pyproject.toml hold, and each of them notices a planted violation."""

import shutil
from pathlib import Path

import pytest

from tests.architecture.repository import ROOT, checked, run_tool


def lint(server: Path) -> tuple[int, str]:
    """Runs the contracts on a copy of the server; (return code, report)."""
    result = run_tool(
        *("lint-imports", "--no-cache", "--config", str(ROOT / "pyproject.toml")), cwd=server, path=str(server)
    )
    return result.returncode, (result.stdout + result.stderr).decode()


def test_import_contracts_hold() -> None:
    checked(run_tool("lint-imports", "--no-cache"))


@pytest.mark.parametrize(
    ("module", "imports", "contract"),
    [
        ("vocabulary/planted.py", "sidemirror_server.trace", "Rooms import downwards only"),
        ("thinking/planted.py", "sidemirror_server.turns", "Rooms import downwards only"),
        ("thinking/planted.py", "sidemirror_server.critique", "Rooms import downwards only"),
        ("trace/planted.py", "sidemirror_server.work", "Rooms import downwards only"),
        ("turns/planted.py", "sidemirror_server.settings", "Rooms import downwards only"),
        ("unlisted/planted.py", "sidemirror_server.vocabulary", "Rooms import downwards only"),
        ("operations/planted.py", "sidemirror_server.storage.sqlite", "Only assembly imports adapters"),
        ("storage/postgres/planted.py", "sidemirror_server.storage.sqlite", "Only assembly imports adapters"),
        ("turns/planted.py", "sidemirror_server.models.adapters.rules", "Only assembly imports adapters"),
        ("trace/planted.py", "sqlite3", "Drivers and SDKs only inside adapters"),
        ("models/planted.py", "anthropic", "Drivers and SDKs only inside adapters"),
        ("work/planted.py", "redis.asyncio", "Drivers and SDKs only inside adapters"),
        ("turns/planted.py", "grpc", "Only rpc sees gRPC and the wire types"),
        ("thinking/planted.py", "google.protobuf.message", "Only rpc sees gRPC and the wire types"),
        ("operations/planted.py", "sidemirror.v1.thinking_pb2", "Only rpc sees gRPC and the wire types"),
    ],
)
def test_a_planted_violation_is_found(tmp_path: Path, module: str, imports: str, contract: str) -> None:
    package = tmp_path / "sidemirror_server"
    shutil.copytree(ROOT / "server/sidemirror_server", package, ignore=shutil.ignore_patterns("__pycache__"))
    for room in ("critique", "models/adapters", "storage/postgres", "unlisted"):
        (package / room).mkdir(exist_ok=True)
        (package / room / "__init__.py").touch()
    for planted in ("settings.py", "models/adapters/rules.py"):
        (package / planted).touch()

    (package / module).write_text(f"import {imports}\n")
    returncode, report = lint(tmp_path)

    assert returncode == 1, report
    assert any(line.startswith(contract) and line.endswith("BROKEN") for line in report.splitlines()), report


@pytest.mark.parametrize(
    ("module", "imports"),
    [
        ("assembly.py", "sidemirror_server.storage.sqlite"),
        ("storage/sqlite/planted.py", "sqlite3"),
        ("models/adapters/planted.py", "anthropic"),
        ("rpc/planted.py", "grpc, google.protobuf, sidemirror.v1.thinking_pb2"),
        ("turns/planted.py", "sidemirror_server.thinking, sidemirror_server.trace"),
    ],
)
def test_what_is_allowed_passes(tmp_path: Path, module: str, imports: str) -> None:
    package = tmp_path / "sidemirror_server"
    shutil.copytree(ROOT / "server/sidemirror_server", package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "models/adapters").mkdir(exist_ok=True)
    (package / "models/adapters/__init__.py").touch()

    (package / module).write_text(f"import {imports}\n")
    returncode, report = lint(tmp_path)

    assert returncode == 0, report
