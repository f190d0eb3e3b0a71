"""The sidecar is killed after it has told a session something: what was wrong of that is silenced all the same."""

from pathlib import Path
from typing import NamedTuple

import pytest

from sidemirror_server.http.hooks.sentences import NOTHING_TO_SILENCE, SILENCED
from sidemirror_server.memory.recoveries.starter import LABEL
from tests.clients.harness import free_port
from tests.faults.process import Process
from tests.http.hooks.players import ClaudeCode

pytestmark = pytest.mark.slow("processes are killed, and come back")

# One in ten is told nothing, so that what advice does can be seen.
SESSIONS = 8


class Place(NamedTuple):
    """The door of a sidecar in a process."""

    folder: Path
    http_port: int


def hears(door: Place, session: str) -> bool:
    """Whether an agent is told a look-up when its statement fails."""
    player = ClaudeCode(door, session, door.folder)
    player.asks("Sum the orders")
    failed = player.runs('sqlite3 shop.db "SELECT total FROM orders"', "Error: in prepare, no such column: total", 1)
    return f"{LABEL} `.schema`" in player.heard(failed)


async def test_what_was_told_last_is_silenced_after_a_kill(tmp_path: Path) -> None:
    """Seen to fail when a conversation remembers by itself what it was told."""
    door = Place(tmp_path, free_port())
    settings = {"http_address": f"127.0.0.1:{door.http_port}", "advice__starter_pack": "true"}
    async with Process(tmp_path, settings) as process:
        told = [session for session in map(str, range(SESSIONS)) if hears(door, session)]
        assert told
        process.kill()
        await process.start()
        stranger, player = (ClaudeCode(door, one, tmp_path) for one in ("stranger", told[-1]))
        assert stranger.heard(stranger.asks("sidemirror advice was wrong")) == NOTHING_TO_SILENCE
        assert player.heard(player.asks("sidemirror advice was wrong")) == SILENCED
        process.kill()
        await process.start()
        assert not any(hears(door, f"later {number}") for number in range(SESSIONS))
