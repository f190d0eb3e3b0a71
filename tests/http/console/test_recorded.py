"""Every screen of the console over a store that recorded episodes were replayed into: at both widths, in both colours,
and by axe's rules. Where the recordings are not, as on a build machine, it is skipped and says so."""

from collections.abc import Iterator

import pytest

from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.cli import main
from tests.http.chromium import Browser
from tests.http.console.looking import go, looked_at, opened, shows
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
    go(page, "/turns", "Turns")
    page.until(f"document.querySelectorAll('tbody tr').length === {EPISODES}")
    looked_at(page)
    for place in ("/lessons", "/recoveries", "/now"):
        go(page, place)
        looked_at(page)
    for turn in turns:
        go(page, f"/turns/{turn.turn_id}", "turn started")
        page.until("document.querySelectorAll('.entry').length > 2")
        looked_at(page)
    for one in signatures:
        page.value(f"void (location.hash = '/recoveries/' + encodeURIComponent({one.signature!r}))")
        shows(page, "Without advice")
        looked_at(page)
    for lesson in lessons:
        go(page, f"/lessons/{lesson.id}", "Versions")
        looked_at(page)
    assert page.told() == []
