"""Makes the pictures of `docs/console.md` anew: `uv run python -m tests.http.console.pictures`."""

import tempfile
from pathlib import Path
from urllib.parse import quote

from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from tests.architecture.repository import ROOT
from tests.http.chromium import chromium
from tests.http.console.filled import LESSON, TASK, Filled, fill
from tests.http.console.looking import go, opened
from tests.http.sidecars import door
from tests.memory.talk import memories
from tests.wire.calls import TIMEOUT_S, called, failed, finished, returned
from tests.wire.sidecar import SidecarThread, thinking
from tests.wire.waiting import until

_FOLDER = ROOT / "docs/console"
_WIDE, _NARROW = (1600, 1000), (360, 800)


def pictures(filled: Filled) -> dict[str, tuple[str, str, tuple[int, int]]]:
    """By its name: the place, what is awaited there, and the size in CSS pixels. Names with `dark` are taken so."""
    recovery = f"/recoveries/{quote(filled.signature, safe='')}"
    return {
        "turns": ("/turns", TASK, _WIDE),
        "turn": (f"/turns/{filled.turn_id}", "recognised as", _WIDE),
        "lesson": (f"/lessons/{filled.lesson_id}", "Where it was shown", _WIDE),
        "recoveries": ("/recoveries", filled.signature, _WIDE),
        "recovery": (recovery, "told, after a draw", _WIDE),
        "lessons": ("/lessons", LESSON, _WIDE),
        "now": ("/now", "all well", _WIDE),
        "turn-dark": (f"/turns/{filled.turn_id}", "recognised as", _WIDE),
        "turn-narrow": (f"/turns/{filled.turn_id}", "recognised as", _NARROW),
        "turns-narrow": ("/turns", TASK, _NARROW),
    }


def fail(server: SidecarThread) -> None:
    """Failures of some kinds more: for one there are enough tries to tell what repairs it."""
    with thinking(server) as stub, memories(server) as memory:
        for number in range(6):
            events = [
                *(called("sql", "SELECT total FROM invoices", "a"), failed("no such column: total", "a")),
                *(called("sql", "DESCRIBE invoices", "b"), returned("total_eur, customer", "b")),
                *(called("sql", "SELECT total_eur FROM invoices", "c"), returned("1,200", "c"), finished(outcome=1)),
            ]
            _turn(stub, f"invoices-{number}", "Sum the open invoices", events)
        for tool, error in (("fetch", "HTTP 429 Too Many Requests"), ("shell", "permission denied: ./build.sh")):
            for number in range(3):
                first, second = called(tool, '{"page": "prices"}', "a"), called(tool, '{"page": "prices"}', "b")
                events = [first, failed(error, "a"), second, returned("ok", "b"), finished(outcome=1)]
                _turn(stub, f"{tool}-{number}", "Build the page of prices", events)
        request = memory_pb.ListRecoveriesRequest(signature="sql|not_found|missing_column")
        until(lambda: any(one.observation_count == 6 for one in _found(memory, request)))


def _found(
    memory: ReflectiveMemoryServiceStub, request: memory_pb.ListRecoveriesRequest
) -> list[memory_pb.SignatureRecoveries]:
    return list(memory.ListRecoveries(request, timeout=TIMEOUT_S).signatures)


def _turn(stub: ThinkingServiceStub, turn_id: str, task: str, events: list[pb.TurnEvent]) -> None:
    stub.StartTurn(pb.StartTurnRequest(turn_id=turn_id, session_id=turn_id, task=task), timeout=TIMEOUT_S)
    stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=events), timeout=TIMEOUT_S)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, door(Path(folder)) as server, chromium() as browser:
        fail(server)
        filled = fill(server)
        page = opened(browser, server)
        for name, (place, text, (width, height)) in pictures(filled).items():
            page.looks(width, height=height, dark="dark" in name)
            go(page, place, text)
            (_FOLDER / f"{name}.png").write_bytes(page.picture())


if __name__ == "__main__":
    main()
