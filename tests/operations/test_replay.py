"""Replay against a real sidecar over gRPC: everything that is recorded arrives, once, and is answered for."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1 import thinking_pb2_grpc
from sidemirror_server.operations.episodes import BadEpisode, Episode, read_episodes
from sidemirror_server.operations.own_sidecar import own_sidecar
from sidemirror_server.operations.replay import play
from sidemirror_server.operations.replay_report import ReplayReport
from sidemirror_server.operations.target import Unreachable, dial
from tests.recorded import recordings
from tests.thinking.test_detectors_recorded import (
    holds_the_same_failing_call_three_times_in_a_row,
    outputs_of,
)

MEDIUM = pb.ThinkingConfig(level="THINK_LEVEL_MEDIUM")


def recorded(file: str) -> Path:
    return recordings() / "episodes" / f"{file}.jsonl.gz"


async def replayed(path: Path, lines: list[Episode | BadEpisode], address: str = "") -> ReplayReport:
    return await play(path, lines, MEDIUM, address, quiet=True)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("file", "every", "episodes", "turns", "sent", "left_out"),
    [
        pytest.param("tau_bench", 4, 83, 640, 4172, 0, marks=pytest.mark.slow("83 episodes more")),
        ("tau2_bench", 4, 97, 645, 4487, 294),
        pytest.param("tau_bench", 1, 332, 2476, 16265, 0, marks=pytest.mark.long),
        pytest.param("tau2_bench", 1, 386, 2597, 18877, 1212, marks=pytest.mark.long),
    ],
)
async def test_every_event_is_acknowledged(
    file: str, every: int, episodes: int, turns: int, sent: int, left_out: int
) -> None:
    path = recorded(file)

    report = await replayed(path, list(read_episodes(path))[::every])

    total = report.total
    assert (total.episodes, total.turns, total.sent, total.left_out) == (episodes, turns, sent, left_out)
    assert (total.acknowledged, total.lost, total.gaps, report.refused, report.bad_lines) == (sent, 0, 0, (), ())
    assert report.complete
    assert "ok" in total.reflections
    assert set(total.reflections) <= {"ok", "nothing", "skipped budget"}
    assert total.reasons["tool error"] > 70 / every
    assert (5 if every == 1 else 0) < sum(total.nudges.values()) < 20


async def test_what_was_acknowledged_is_on_record_once() -> None:
    path = recorded("tau_bench")
    lines = list(read_episodes(path))[::10]
    async with own_sidecar() as address, dial(address) as channel:
        report = await replayed(path, lines, address)
        stub = thinking_pb2_grpc.ThinkingServiceStub(channel)
        on_record: Counter[str] = Counter()
        async for response in stub.WatchTurns(pb.WatchTurnsRequest(follow=False)):
            if response.entry.HasField("event"):
                on_record[response.entry.event.event_id] += 1

    episodes = [line for line in lines if isinstance(line, Episode)]
    assert len(episodes) == 34
    assert report.total.acknowledged == report.total.sent == on_record.total() > 1_000
    assert set(on_record.values()) == {1}
    assert {f"{episode.episode_id}/{event.i}" for episode in episodes for event in episode.events} <= set(on_record)


@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.timeout(300)
async def test_loops_of_failing_calls_are_nudged_through_the_wire(every: int) -> None:
    path = recorded("intercode")
    sample = [line for line in list(read_episodes(path))[::every] if isinstance(line, Episode)]
    looping = [
        episode
        for episode in sample
        if holds_the_same_failing_call_three_times_in_a_row(outputs_of("intercode", episode.episode_id))
    ]

    report = await replayed(path, list(looping))

    nudged = sum(played.tally.nudges["repeated call"] > 0 for played in report.played)
    assert len(looping) == {1: 365, 10: 37}[every]
    assert nudged == len(looping)  # the goal is 95 %
    assert report.complete


async def test_the_same_file_can_be_played_again() -> None:
    path = recorded("tau_bench")
    lines = list(read_episodes(path))[:5]
    async with own_sidecar() as address:
        first = await replayed(path, lines, address)
        second = await replayed(path, lines, address)

    assert first.complete
    assert second.complete
    # What the first time taught is told the second time.
    assert first.total.reflections["ok"] <= second.total.reflections["ok"]
    assert first.total.reflections.total() == second.total.reflections.total()
    assert msgspec.structs.replace(first.total, reflections=second.total.reflections) == second.total


async def test_an_episode_that_the_sidecar_refuses_does_not_stop_the_others(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = [{"i": 0, "type": "user_message", "content": "hi"}]
    too_long = {"i": 1, "type": "llm_response", "content": "x" * (256 * 1024 + 1)}
    path = tmp_path / "episodes.jsonl"
    path.write_text(
        "\n".join(
            [
                json.dumps({"episode_id": "good", "events": events}),
                "{",
                json.dumps({"episode_id": "refused", "events": [*events, too_long]}),
                json.dumps({"episode_id": "good too", "events": events}),
            ]
        )
    )

    report = await replayed(path, list(read_episodes(path)))

    assert not report.complete
    assert [(refused.episode_id, refused.reason.split(":")[0]) for refused in report.refused] == [
        ("refused", "INVALID_ARGUMENT")
    ]
    assert "text" in report.refused[0].reason
    assert [line.number for line in report.bad_lines] == [2]
    assert (report.total.turns, report.total.sent) == (3, 9)
    assert report.total.lost in {2, 3}  # of the refused turn, its start may or may not have been called durable


async def test_where_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidemirror_server.operations.target._CONNECT_S", 0.2)

    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:1\. Is `sidemirror serve` running there\?"):
        await replayed(Path("none"), [], "127.0.0.1:1")
