"""Every screen of the console over a store that recorded episodes were replayed into."""

from collections.abc import Iterator

import pytest

from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.cli import main
from tests.http.chromium import Browser
from tests.http.console.looking import go, opened, overflow, shows
from tests.http.sidecars import door
from tests.memory.talk import memories
from tests.recorded import recordings
from tests.wire.sidecar import SidecarThread, thinking
from tests.wire.waiting import until

pytestmark = pytest.mark.slow("recorded episodes are replayed, and a browser is started")
EPISODES = 30


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    file = recordings() / "episodes" / "intercode.jsonl.gz"
    with door(tmp_path_factory.mktemp("recorded"), {"limits__http_requests_per_second": "1000"}) as running:
        assert main(["replay", str(file), "--limit", str(EPISODES), "--address", running.address]) == 0
        yield running


def test_every_screen_shows_what_was_recorded(server: SidecarThread, browser: Browser) -> None:
    with thinking(server) as stub, memories(server) as memory:
        until(lambda: len(memory.ListRecoveries(memory_pb.ListRecoveriesRequest(), timeout=60).signatures) > 0)
        turns = stub.ListTurns(pb.ListTurnsRequest(page_size=4), timeout=60).turns
        signatures = memory.ListRecoveries(memory_pb.ListRecoveriesRequest(page_size=3), timeout=60).signatures
        lessons = memory.ListReflections(memory_pb.ListReflectionsRequest(page_size=3), timeout=60).memories
    page = opened(browser, server)
    for width in (360, 1600):
        page.looks(width)
        go(page, "/turns", "Turns")
        page.until(f"document.querySelectorAll('tbody tr').length === {EPISODES}")
        for place in ("/lessons", "/recoveries", "/now"):
            go(page, place)
            assert (place, width, overflow(page)) == (place, width, 0)
        for turn in turns:
            go(page, f"/turns/{turn.turn_id}", "turn started")
            page.until("document.querySelectorAll('.entry').length > 2")
            assert (turn.turn_id, width, overflow(page)) == (turn.turn_id, width, 0)
        for one in signatures:
            page.value(f"void (location.hash = '/recoveries/' + encodeURIComponent({one.signature!r}))")
            shows(page, "Without advice")
            assert (one.signature, width, overflow(page)) == (one.signature, width, 0)
        for lesson in lessons:
            go(page, f"/lessons/{lesson.id}", "Versions")
            assert (lesson.id, width, overflow(page)) == (lesson.id, width, 0)
    assert page.told() == []
