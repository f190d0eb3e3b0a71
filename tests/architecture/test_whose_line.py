"""Every log line of work says whose work it is: a sidecar that many tenants share is read by one tenant at a time."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.repository import ROOT

SERVER = ROOT / "server" / "sidemirror_server"
ROOMS = ("critique", "goals", "memory", "models", "telemetry_in", "thinking", "turns", "work")
# Lines that are about no tenant.
OF_NOBODY = {
    "recoveries_not_learned": "the store does not answer, for all alike",
    "goal_reflections_not_republished": "the store does not answer, for all alike",
    "goal_reflections_republished": "a Redis has lost what it had of everybody",
    "work_claim_failed": "the store does not answer, for all alike",
    "price_not_known": "a model, before any question",
    "model_ready": "a model, before any question",
    "model_not_usable": "a model, before any question",
    "tokens_estimated": "a model's counts, told once",
    "scorer_failed": "the operator's own code; it is given no scope",
    "model_asked_again": "an attempt; the question's end is told with its tenant",
}


def lines_in(source: str) -> Iterator[tuple[str, str]]:
    """The event of each line that the module logs, and the source of the function around it."""
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        text = ast.unparse(function)
        for call in ast.walk(function):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
                continue
            if isinstance(call.func.value, ast.Name) and call.func.value.id == "_log":
                texts = [one.value for one in call.args if isinstance(one, ast.Constant)]
                yield str(texts[0]), text


def nameless(source: str) -> set[str]:
    return {event for event, function in lines_in(source) if "whose(" not in function and "_of(job)" not in function}


def test_every_line_of_work_names_its_tenant() -> None:
    modules = [path for room in ROOMS for path in (SERVER / room).rglob("*.py")]
    found = {event: str(path.relative_to(SERVER)) for path in modules for event in nameless(Path(path).read_text())}
    assert {event: path for event, path in found.items() if event not in OF_NOBODY} == {}


def test_a_line_without_is_seen() -> None:
    assert nameless("def f(scope):\n    _log.warning('lost', extra={'turn_id': 't'})") == {"lost"}
    assert nameless("def f(scope):\n    _log.warning('lost', extra=whose(scope))") == set()
