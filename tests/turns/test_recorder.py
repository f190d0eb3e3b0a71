"""Turns of several projects: their appends are made side by side, and one that fails holds up none of the others."""

from pathlib import Path

import pytest

from sidemirror_server.trace.event import ThinkingWish, TurnStarted, UserMessage
from sidemirror_server.trace.log import Batch
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.vocabulary.errors import StoreUnavailable
from sidemirror_server.vocabulary.ids import SessionId, TurnId
from sidemirror_server.vocabulary.scope import Scope
from tests.turns.house import House, event, house

SCOPES = tuple(Scope("acme", f"p{number}") for number in range(8))


async def turns_of(there: House) -> list[LiveTurn]:
    """A turn of each project, which is durable."""
    turns = []
    for scope in SCOPES:
        started = TurnStarted(SessionId("s"), wish=ThinkingWish(level="low"))
        turn = await there.conductor.start(
            scope, TurnId("t"), event("start", started), started, is_new=False, wait_for_store=False
        )
        await there.recorder.wait_durable(turn, turn.state.last_sequence)
        turns.append(turn)
    return turns


class Appends:
    """How many appends were under way at once, and of how many projects; those of `refused` fail."""

    def __init__(self, there: House, refused: frozenset[Scope] = frozenset()) -> None:
        self.most, self.refused = 0, refused
        self._running = 0
        self._append = there.log.append

    async def append(self, scope: Scope, batches: tuple[Batch, ...]) -> None:
        self._running += 1
        self.most = max(self.most, self._running)
        try:
            if scope in self.refused:
                raise StoreUnavailable(store="of this project")
            await self._append(scope, batches)
        finally:
            self._running -= 1


@pytest.mark.parametrize("appends", [1, 3, 64])
async def test_so_many_appends_are_made_side_by_side(
    appends: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house(tmp_path, appends=appends) as there:
        turns = await turns_of(there)
        counted = Appends(there)
        monkeypatch.setattr(there.log, "append", counted.append)
        for turn in turns:
            there.report(turn, UserMessage("go on"))
        await there.recorder.drain()
        assert counted.most == min(appends, len(SCOPES))
        assert [turn.durable for turn in turns] == [turn.state.last_sequence for turn in turns]


async def test_a_project_whose_append_fails_holds_up_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with house(tmp_path, appends=3) as there:
        turns = await turns_of(there)
        failing = Appends(there, frozenset(SCOPES[:2]))
        monkeypatch.setattr(there.log, "append", failing.append)
        for turn in turns:
            there.report(turn, UserMessage("go on"))
        for turn in turns[2:]:
            await there.recorder.wait_durable(turn, turn.state.last_sequence)
        assert all(turn.durable < turn.state.last_sequence for turn in turns[:2])
        failing.refused = frozenset()
        await there.recorder.drain()
        assert [turn.durable for turn in turns] == [turn.state.last_sequence for turn in turns]
