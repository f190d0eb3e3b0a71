"""Every log line of work says whose work it is: a sidecar that many tenants share is read by one tenant at a time."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.repository import ROOT

SERVER = ROOT / "server" / "sidemirror_server"
ROOMS = ("critique", "goals", "http", "memory", "models", "rpc", "telemetry_in", "thinking", "turns", "work")
# Lines that are about no tenant.
OF_NOBODY = {
    "recoveries_not_learned": "the store does not answer, for all alike",
    "recoveries_learned_again": "the end of that",
    "work_claimed_again": "the end of what it is for all",
    "turns_recorded_again": "the store answers again, for all alike",
    "goal_reflections_looked_at_again": "the store answers again, for all alike",
    "call_refused": "a caller without a good token; else `_abort` of the boundary gives the scope",
    "goal_reflections_not_republished": "the store does not answer, for all alike",
    "goal_reflections_republished": "a Redis has lost what it had of everybody",
    "work_claim_failed": "the store does not answer, for all alike",
    "price_not_known": "a model, before any question",
    "model_ready": "a model, before any question",
    "model_not_usable": "a model, before any question",
    "tokens_estimated": "a model's counts, told once",
    "scorer_failed": "the operator's own code; it is given no scope",
    "model_asked_again": "an attempt; the question's end is told with its tenant",
    "server_stopped": "the process",
    "certificate_changed": "a listener",
    "certificate_not_read": "a listener",
    "console_pages_not_read": "the console of all",
    "console_pages_not_written": "the console of all",
    "agent_held_back": "a token, which it names; its calls may be of several projects",
    "agent_not_held_back": "a token, which it names",
    "calls_not_refused": "a caller without a good token",
    "more_calls_refused": "several callers: it names their tokens",
    "more_calls_failed": "several callers",
    "hook_late": "a host, which is no caller of ours yet: it names the token",
    "hook_not_served": "a host whose request may not even be read",
    "hook_too_long": "a host whose request is not read",
}


def lines_in(source: str) -> Iterator[tuple[str, str]]:
    """The event of each line that the module logs, by itself or as an outage, and the source of what it tells: what is
    assigned to the names in it, too."""
    module = ast.parse(source)
    events = dict(_outages(module))
    for function in ast.walk(module):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for call in ast.walk(function):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
                continue
            of = ast.unparse(call.func.value)
            if of == "_log" and call.func.attr in ("debug", "info", "warning", "error", "log"):
                texts = [str(one.value) for one in call.args if isinstance(one, ast.Constant)]
                if texts:
                    yield texts[0], _told(function, call)
            elif of in events and call.func.attr in ("failed", "worked"):
                yield events[of][call.func.attr == "worked"], _told(function, call)


def _outages(module: ast.Module) -> Iterator[tuple[str, tuple[str, str]]]:
    """What the module's outages are assigned to, each with the events of its two lines."""
    for one in ast.walk(module):
        if not isinstance(one, ast.Assign) or not isinstance(one.value, ast.Call):
            continue
        if ast.unparse(one.value.func) == "Outage":
            failed, worked = [ast.literal_eval(text) for text in one.value.args if isinstance(text, ast.Constant)]
            yield ast.unparse(one.targets[0]), (failed, worked)


def _told(function: ast.AST, call: ast.Call) -> str:
    names = {one.id for argument in (*call.args, *call.keywords) for one in ast.walk(argument)
             if isinstance(one, ast.Name)}  # fmt: skip
    assigned = [
        ast.unparse(one.value)
        for one in ast.walk(function)
        if isinstance(one, ast.Assign) and {ast.unparse(target) for target in one.targets} & names
    ]
    return " ".join((ast.unparse(call), *assigned))


def nameless(source: str) -> set[str]:
    named = ("whose(", "_of(job)", "'tenant_id'")
    return {event for event, told in lines_in(source) if not any(one in told for one in named)}


def test_every_line_of_work_names_its_tenant() -> None:
    modules = [path for room in ROOMS for path in (SERVER / room).rglob("*.py")]
    found = {event: str(path.relative_to(SERVER)) for path in modules for event in nameless(Path(path).read_text())}
    assert {event: path for event, path in found.items() if event not in OF_NOBODY} == {}


def test_a_line_without_is_seen() -> None:
    assert nameless("def f(scope):\n    _log.warning('lost', extra={'turn_id': 't'})") == {"lost"}
    assert nameless("def f(scope):\n    _log.warning('lost', extra=whose(scope))") == set()
    two = "def f(scope):\n    told = whose(scope)\n    _log.warning('a', extra=told)\n    _log.warning('b', extra={})"
    assert nameless(two) == {"b"}


def test_a_line_of_an_outage_without_is_seen() -> None:
    made = "class A:\n    def __init__(self):\n        self._outage = Outage(_log, 'away', 'back', clock)\n"
    one = f"{made}    def f(self, scope):\n        self._outage.failed(whose(scope))\n        self._outage.worked()"
    assert nameless(one) == {"back"}
