"""The name of an RPC gives its file: `rpc/<service>/<rpc in snake case>.py` holds its handler and no other."""

import ast
import importlib
import inspect
import re
from functools import partial
from types import FunctionType
from typing import Any

import pytest

from sidemirror_server.rpc.boundary.services import Rpc
from tests.architecture.repository import ROOT
from tests.architecture.tables import SERVED

RPC = ROOT / "server" / "sidemirror_server" / "rpc"
# Each service's room has the name of its .proto file, or the short form that all rooms use.
SHORT = {"goal_reflection": "goals", "reflective_memory": "memory"}
METHODS = [(service, method) for service in SERVED for method in service.contract.methods]


def room_of(contract: Any) -> str:
    stem: str = contract.file.name.rpartition("/")[2].removesuffix(".proto")
    return SHORT.get(stem, stem)


def file_of(rpc: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", rpc).lower()


def misplaced(room: str, name: str, rpc: Rpc) -> str:
    """What is wrong with the place of an RPC's handler; empty when nothing is."""
    expected = f"sidemirror_server.rpc.{room}.{file_of(name)}"
    handler = rpc.serve.func if isinstance(rpc.serve, partial) else rpc.serve
    if not isinstance(handler, FunctionType):
        return f"{name} is served by {handler!r}, which is no function"
    if (handler.__module__, handler.__name__) != (expected, file_of(name)):
        return f"{name} is served by {handler.__module__}.{handler.__name__}"
    module = importlib.import_module(expected)
    public = {
        name
        for name, value in vars(module).items()
        if isinstance(value, FunctionType) and value.__module__ == expected and not name.startswith("_")
    }
    return "" if public == {file_of(name)} else f"{expected} holds {', '.join(sorted(public - {file_of(name)}))} too"


@pytest.mark.parametrize(("service", "method"), METHODS, ids=lambda item: getattr(item, "name", ""))
def test_the_name_of_an_rpc_gives_its_file(service: Any, method: Any) -> None:
    assert misplaced(room_of(service.contract), method.name, service.rpcs[method.name]) == ""


@pytest.mark.parametrize(("service", "method"), METHODS, ids=lambda item: getattr(item, "name", ""))
def test_what_is_registered_takes_the_request_and_the_call(service: Any, method: Any) -> None:
    """mypy sees of a partial what it was given, and not what is left to be given."""
    serve = service.rpcs[method.name].serve
    names = ["requests", "begin"] if method.client_streaming else ["request", "call"]
    assert list(inspect.signature(serve).parameters) == names
    assert inspect.iscoroutinefunction(serve) is not method.server_streaming


def test_a_handler_elsewhere_is_found() -> None:
    get, list_ = (next(s.rpcs[name] for s, m in METHODS if m.name == name) for name in ("GetSession", "ListSessions"))
    assert misplaced("thinking", "GetSession", get) == ""
    assert misplaced("thinking", "GetSession", list_) == (
        "GetSession is served by sidemirror_server.rpc.thinking.list_sessions.list_sessions"
    )
    assert misplaced("critique", "GetSession", get) == (
        "GetSession is served by sidemirror_server.rpc.thinking.get_session.get_session"
    )


def test_a_second_handler_in_a_file_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("sidemirror_server.rpc.thinking.get_session")
    planted = FunctionType((lambda: None).__code__, {"__name__": module.__name__}, "planted")
    planted.__module__ = module.__name__
    monkeypatch.setattr(module, "planted", planted, raising=False)
    get = next(service.rpcs["GetSession"] for service, method in METHODS if method.name == "GetSession")
    assert misplaced("thinking", "GetSession", get) == f"{module.__name__} holds planted too"


def test_what_stands_beside_the_handlers_says_what_it_is_for() -> None:
    """ruff leaves these rooms out (D103), because a handler's module says it."""
    handlers = {(room_of(service.contract), file_of(method.name)) for service, method in METHODS}
    silent = [
        f"{room}/{file.name}:{node.name}"
        for room in sorted({room for room, _ in handlers})
        for file in sorted((RPC / room).glob("*.py"))
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if not node.name.startswith("_") and (room, node.name) not in handlers and not ast.get_docstring(node)
    ]
    assert silent == []


def test_all_rpcs_were_looked_at() -> None:
    assert len(METHODS) > 50
