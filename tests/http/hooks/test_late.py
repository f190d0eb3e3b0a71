"""Hooks whose host does not wait for the answer any more: they are recorded, and their words come with the next one."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sidemirror_server.assembly.http_door import HttpDoor
from sidemirror_server.http.hooks import conversation, serving
from sidemirror_server.http.hooks.calls import Calls
from sidemirror_server.http.hooks.conversation import Conversation
from sidemirror_server.http.hooks.sentences import CHECK, CHECKED, LATE, MARK
from sidemirror_server.vocabulary.arbiter import OF_FAILURE
from tests.http.hooks.learned import BAD, FAILURE, tell_at_once
from tests.http.hooks.players import ClaudeCode, Codex, Player
from tests.http.hooks.recorded_turns import SETTINGS, WRONG, told, turns
from tests.http.sidecars import door
from tests.wire.sidecar import SidecarThread
from tests.wire.waiting import until

NO_REPOSITORY = "fatal: not a git repository (or any of the parent directories): .git"
SHORT = {"sidemirror-timeout-ms": "500"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    with pytest.MonkeyPatch.context() as patched:
        tell_at_once(patched)
        with door(tmp_path_factory.mktemp("late"), {**SETTINGS, "advice__starter_pack": "true"}) as running:
            yield running


def late(player: Player, patched: pytest.MonkeyPatch, module: Any, name: str, payload: dict[str, Any]) -> None:
    """Sends a hook that gets no further than this function, until its host has given up."""
    go_on = threading.Event()
    function = getattr(module, name)

    def held(*arguments: Any) -> Any:
        go_on.wait(60)
        return function(*arguments)

    with patched.context() as during:
        during.setattr(module, name, held)
        during.setattr(player, "_headers", SHORT)
        assert player.sends(payload) == {}
    go_on.set()


def test_a_late_prompt_begins_its_turn(
    server: SidecarThread, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to fail, with a turn that has no task, when a late hook is given up."""
    player = ClaudeCode(server, "prompt", repository)
    late(player, monkeypatch, serving, "project_of", player.asked("Task"))
    player.runs("true")
    player.answers("Done.", again=True)
    assert [told(turn) for turn in turns(server, repository)] == [("Task", "FINISHED", 5)]


def test_late_advice_comes_with_the_next_call(
    server: SidecarThread, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to fail when words count as told that came too late."""
    player = Codex(server, "advice", repository)
    player.asks("Look at the log")
    # The starter pack has a row for this.
    late(player, monkeypatch, conversation, "failed_in", player.ran("git log", NO_REPOSITORY, 1))
    assert player.heard(player.runs("true", "fine")).startswith(f"[{OF_FAILURE}]")
    assert player.heard(player.runs("true", "fine")) == ""
    assert turns(server, repository)[-1].tool_error_count == 1


def test_an_answer_that_is_sent_back_too_late_ends_its_turn(
    server: SidecarThread, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to fail when nobody looks whether the host waits."""
    go_on = threading.Event()
    prompts = []
    answered = Conversation.answered

    async def held(*arguments: Any, **named: Any) -> str:
        prompt = await answered(*arguments, **named)
        prompts.append(prompt)
        await asyncio.to_thread(go_on.wait, 60)
        return prompt

    player = Codex(server, "answer", repository)
    player.asks("Switch to feature-x and run the tests")
    player.runs(BAD, FAILURE, 1)
    monkeypatch.setattr(Conversation, "answered", held)
    monkeypatch.setattr(player, "_headers", {"sidemirror-timeout-ms": "2000"})
    assert player.answers(WRONG) == {}
    go_on.set()
    until(lambda: told(turns(server, repository)[0])[1] == "FINISHED")
    assert prompts[0].startswith(MARK)


def test_check_counts_the_late_hooks_of_its_host(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with door(repository.parent / "own") as server:

        def heard(kind: type[Player]) -> str:
            player = kind(server, "counts", repository)
            return player.heard(player.asks(CHECK))

        player = ClaudeCode(server, "counted", repository)
        late(player, monkeypatch, serving, "project_of", player.asked("Task"))
        player.runs("true")
        assert heard(ClaudeCode) == f"{CHECKED} Answered too late: 1 of the last 2 hooks."
        assert LATE.search(heard(ClaudeCode))
        assert heard(Codex) == CHECKED


def test_late_hooks_are_few_and_end_with_the_sidecar(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before what they need is closed. Seen to fail when `close` ends nothing, and when no number is looked at."""
    ended: list[str] = []
    ended_with_the_door: list[str] = []
    stop = HttpDoor.stop

    async def stopped(of: HttpDoor, grace_s: float) -> None:
        await stop(of, grace_s)
        ended_with_the_door.extend(ended)

    begun: list[str] = []

    async def for_ever(_: Calls, request: Any) -> Any:
        begun.append(request.task)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(request.task)

    monkeypatch.setattr(Calls, "start_turn", for_ever)
    monkeypatch.setattr(HttpDoor, "stop", stopped)
    monkeypatch.setattr(serving, "_MOST_LATE", 2)
    with door(repository.parent / "own") as server:
        for number in range(3):
            player = ClaudeCode(server, f"s{number}", repository)
            player._headers = SHORT
            assert player.asks(f"Task {number}") == {}
        until(lambda: len(begun) == 3)
        until(lambda: ended == ["Task 2"])
    assert sorted(ended_with_the_door) == ["Task 0", "Task 1", "Task 2"]
