"""The types of the Python client, as those who use it have them checked: by mypy and by pyright, strictly."""

import ast
import dataclasses
import inspect
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sidemirror_client
from sidemirror_client import Goal, Problem, SyncTurn, Turn, Undelivered, connect, connect_sync
from sidemirror_client.turn import Started

pytestmark = [pytest.mark.slow("two type checkers look at the client"), pytest.mark.timeout(300)]
PROGRAM = Path(__file__).with_name("every_public_name.py")
# Of a turn, what its client and its adapters call.
_INTERNAL = {"begin", "drop", "forked", "give_up", "leave", "report_in_passing", "until_delivered"}


def public_names() -> set[str]:
    """What the package exports, and what its classes and functions have."""
    found = set(sidemirror_client.__all__)
    for instance in (connect("127.0.0.1:1"), connect_sync("127.0.0.1:1")):
        found |= {name for name in dir(instance) if not name.startswith("_")}
    for kind in (Turn, SyncTurn):
        found |= {name for name in dir(kind) if not name.startswith("_")} - _INTERNAL | {"id", "agent"}
    for fields in (Problem, Undelivered):
        found |= {field.name for field in dataclasses.fields(fields)}
    for named in (Goal, Started):
        found |= set(named.__annotations__)
    return found | set(inspect.signature(connect).parameters)


def used_names() -> set[str]:
    """What the program names: as an attribute, an argument, a key or by itself."""
    found = set[str]()
    for node in ast.walk(ast.parse(PROGRAM.read_text())):
        match node:
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.keyword(arg=str(name)):
                found.add(name)
            case ast.Constant(value=str(name)):
                found.add(name)
    return found


def test_the_program_uses_every_public_name() -> None:
    """Seen to fail with a field of a problem that the program does not read."""
    assert public_names() - used_names() == set()


def test_mypy(tmp_path: Path) -> None:
    """Seen to fail when `begin_turn` takes no `context`."""
    checked = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(PROGRAM)]
    ran = subprocess.run(checked, capture_output=True, text=True, check=False, cwd=PROGRAM.parents[2])
    assert ran.returncode == 0, ran.stdout


def test_pyright(tmp_path: Path) -> None:
    """pyright itself takes its program from npm; basedpyright is the same checker as a wheel. Seen to fail with
    an argument that a message does not have."""
    command = shutil.which("basedpyright", path=Path(sys.executable).parent)
    if command is None:
        if os.environ.get("CI"):
            pytest.fail("basedpyright is not installed")
        pytest.skip("basedpyright is not installed: uv sync --group frameworks")
    project = tmp_path / "pyrightconfig.json"
    project.write_text(json.dumps({"include": [str(PROGRAM)], "typeCheckingMode": "strict"}))
    checked = [command, "--project", str(project), "--pythonpath", sys.executable]
    ran = subprocess.run(checked, capture_output=True, text=True, check=False, cwd=PROGRAM.parents[2])
    assert ran.returncode == 0, ran.stdout
