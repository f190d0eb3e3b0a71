"""The limits that the console says in words are the server's."""

import re

import pytest

from sidemirror_server.memory.record import MOST_EPISODES
from sidemirror_server.memory.recoveries.moves import MOST_A_DAY
from tests.architecture.repository import ROOT


@pytest.mark.parametrize(
    ("file", "name", "limit"),
    [("words.ts", "MOST_EPISODES", MOST_EPISODES), ("recovery.tsx", "MOST_A_DAY", MOST_A_DAY)],
)
def test_the_console_says_the_servers_limit(file: str, name: str, limit: int) -> None:
    """Seen to fail with another number on either side."""
    source = (ROOT / "console" / "src" / file).read_text(encoding="utf-8")
    assert re.findall(rf"^const {name} = ([\d_]+);$", source, re.MULTILINE) == [str(limit)]
