"""Each recorded event becomes what `server/EPISODES.md` says, and nothing that is for judges only is read."""

import gzip
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.operations.episodes import BadEpisode, Episode, read_episodes, turns_of
from tests.recorded import recordings

CONFIG = pb.ThinkingConfig(level="THINK_LEVEL_MEDIUM")


def event(i: int, kind: str, content: str = "text", **more: Any) -> dict[str, Any]:
    return {"i": i, "type": kind, "content": content, "name": "tool" if "tool" in kind else "assistant", **more}


def line(*events: dict[str, Any], **more: Any) -> str:
    return json.dumps({"episode_id": "ep", "events": events, **more})


@pytest.mark.parametrize("zipped", [False, True])
def test_a_pipe_is_read_from_its_first_byte(zipped: bool, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = line(event(0, "user_message")).encode()
    writer = threading.Thread(target=pipe.write_bytes, args=[gzip.compress(content) if zipped else content])
    writer.start()
    found = list(read_episodes(pipe))
    writer.join()
    assert [type(it) for it in found] == [Episode]


def read(folder: Path, *lines: str | bytes) -> list[Episode | BadEpisode]:
    path = folder / "episodes.jsonl"
    path.write_bytes(b"\n".join(it if isinstance(it, bytes) else it.encode() for it in lines))
    return list(read_episodes(path))


def played(folder: Path, *events: dict[str, Any], **more: Any) -> list[list[dict[str, Any]]]:
    """The turns that an episode of these events becomes, each event as JSON."""
    (episode,) = read(folder, line(*events, **more))
    assert isinstance(episode, Episode), episode
    turns = turns_of(episode, "session", CONFIG)
    return [[as_json(event) for part in turn.parts for event in part] for turn in turns]


def as_json(wire: pb.TurnEvent) -> dict[str, Any]:
    return MessageToDict(wire, preserving_proto_field_name=True)


@pytest.mark.parametrize(
    ("recorded", "said"),
    [
        (event(7, "user_message", "hi"), {"user_message": {"text": "hi"}}),
        (
            event(7, "llm_response", "so", prompt_tokens=5, completion_tokens=2),
            {"model_returned": {"text": "so", "input_tokens": "5", "output_tokens": "2"}},
        ),
        (event(7, "llm_response", "", prompt_tokens=None), {"model_returned": {}}),
        (
            event(7, "llm_response", "so", name="Expert"),
            {"model_returned": {"text": "so"}, "agent": "Expert"},
        ),
        (event(7, "final_response", "42"), {"response_drafted": {"text": "42"}}),
        (event(7, "reflection", "hm"), {"reflection_recorded": {"reflection": "hm"}}),
        (
            event(7, "tool_call", "{}", call_id="c"),
            {"tool_called": {"call_id": "c", "name": "tool", "arguments": "{}"}},
        ),
        (event(7, "tool_call", "{}"), {"tool_called": {"call_id": "call-7", "name": "tool", "arguments": "{}"}}),
        (event(7, "tool_result", "ok", call_id="c"), {"tool_returned": {"call_id": "c", "content": "ok"}}),
        (event(7, "tool_result", "ok"), {"tool_returned": {"call_id": "unreported-7", "content": "ok"}}),
        *(
            (
                event(7, "tool_error", "no", call_id="c", error_basis=basis),
                {"tool_returned": {"call_id": "c", "content": "no", "is_error": True}},
            )
            for basis in ("flag", "exitcode", "content_prefix", "pattern", "test_failure", "invalid_action", None)
        ),
        (
            event(7, "tool_error", "503", call_id="c", error_basis="injected_fault"),
            {"tool_failed": {"call_id": "c", "error": "503"}},
        ),
    ],
)
def test_an_event(tmp_path: Path, recorded: dict[str, Any], said: dict[str, Any]) -> None:
    ((_, event, _),) = played(tmp_path, recorded)

    assert event == {"event_id": "ep/7", **said}


def test_a_turn_is_a_user_message_up_to_the_next(tmp_path: Path) -> None:
    turns = played(
        tmp_path,
        event(0, "llm_response", "Hello!"),
        event(1, "user_message", "one"),
        event(2, "llm_response"),
        event(3, "user_message", "two"),
        event(4, "final_response"),
        outcome="success",
        reward=0.5,
        task={"description": "count"},
    )

    assert [[event["event_id"] for event in turn] for turn in turns] == [
        ["ep/turn-1", "ep/0", "ep/end-1"],
        ["ep/turn-2", "ep/1", "ep/2", "ep/end-2"],
        ["ep/turn-3", "ep/3", "ep/4", "ep/end-3"],
    ]
    assert turns[0][0]["turn_started"] == {
        "session_id": "session",
        "task": "count",
        "config": {"level": "THINK_LEVEL_MEDIUM"},
    }
    assert [turn[-1]["turn_finished"] for turn in turns] == [{}, {}, {"outcome": "TASK_OUTCOME_SUCCESS", "score": 0.5}]


def test_without_a_description_the_users_message_is_the_task(tmp_path: Path) -> None:
    turns = played(tmp_path, event(0, "user_message", "one"), task={"description": ""}, reward=7)

    assert turns[0][0]["turn_started"]["task"] == "one"
    assert turns[0][-1]["turn_finished"] == {}


def test_the_customers_own_tools_are_left_out(tmp_path: Path) -> None:
    (episode,) = read(
        tmp_path,
        line(
            event(0, "user_message"),
            event(1, "tool_call", actor="user"),
            event(2, "tool_error", actor="user"),
            event(3, "llm_response"),
        ),
    )
    assert isinstance(episode, Episode)
    (turn,) = turns_of(episode, "session", CONFIG)

    assert turn.left_out == 2
    assert [event.event_id for part in turn.parts for event in part] == ["ep/turn-1", "ep/0", "ep/3", "ep/end-1"]


def test_a_result_finds_its_call(tmp_path: Path) -> None:
    """Parallel calls without ids are answered in their order, tool by tool."""
    ((_, *events, _),) = played(
        tmp_path,
        event(0, "tool_call", name="a"),
        event(1, "tool_call", name="b"),
        event(2, "tool_call", name="a"),
        event(3, "tool_result", name="b"),
        event(4, "tool_result", name="a"),
        event(5, "tool_error", name="a"),
        event(6, "tool_result", name="a"),
    )

    answered = [event["tool_returned"]["call_id"] for event in events[3:]]
    assert answered == ["call-1", "call-0", "call-2", "unreported-6"]


def test_it_listens_after_each_run_of_outcomes(tmp_path: Path) -> None:
    (episode,) = read(
        tmp_path,
        line(
            event(0, "user_message"),
            event(1, "tool_call", call_id="a"),
            event(2, "tool_call", call_id="b"),
            event(3, "tool_result", call_id="a"),
            event(4, "tool_error", call_id="b"),
            event(5, "tool_call", call_id="c"),
            event(6, "tool_result", call_id="c"),
            event(7, "final_response"),
        ),
    )
    assert isinstance(episode, Episode)
    (turn,) = turns_of(episode, "session", CONFIG)

    assert [len(part) for part in turn.parts] == [1, 5, 2, 1, 1]


def test_lines_are_read_zipped_or_not(tmp_path: Path) -> None:
    text = line(event(0, "user_message")) + "\n\n" + line(event(0, "user_message"), episode_id="ep2") + "\n"
    (tmp_path / "plain").write_text(text)
    (tmp_path / "zipped").write_bytes(gzip.compress(text.encode()))

    for name in ("plain", "zipped"):
        read = list(read_episodes(tmp_path / name))
        assert [episode.episode_id for episode in read if isinstance(episode, Episode)] == ["ep", "ep2"]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("{", "truncated"),
        ("[]", "array"),
        (line(event(0, "user_message"), episode_id=""), "episode_id"),
        (line(event(0, "user_message"), episode_id="x" * 101), "episode_id"),
        (line(event(0, "user_message"), episode_id="a\nb"), "episode_id"),
        (line(event(0, "thought")), "'thought'"),
        (line({"i": 0, "type": "user_message"}), "`content`"),
        (line(event(0, "user_message", content=None)), "$.events[0].content"),  # type: ignore[arg-type]
        (line(event(3, "user_message"), event(3, "llm_response")), "i = 3"),
        (b'{"episode_id": "\xff"}', "UTF-8"),
    ],
)
def test_a_bad_line_is_told_in_its_place(tmp_path: Path, bad: str | bytes, reason: str) -> None:
    first, second, third = read(tmp_path, line(), bad, line())

    assert isinstance(first, Episode)
    assert isinstance(third, Episode)
    assert isinstance(second, BadEpisode)
    assert second.number == 2
    assert reason.lower() in second.reason.lower()


def test_a_file_that_is_cut_off_is_told_where(tmp_path: Path) -> None:
    lines = "\n".join(line(event(0, "user_message", str(n) * 50), episode_id=f"ep{n}") for n in range(5_000))
    (tmp_path / "cut").write_bytes(gzip.compress(lines.encode())[:-2_000])

    read = list(read_episodes(tmp_path / "cut"))

    assert isinstance(read[-1], BadEpisode)
    assert read[-1].number == len(read)
    assert all(isinstance(episode, Episode) for episode in read[:-1])


def test_what_is_for_judges_only_is_never_sent(tmp_path: Path) -> None:
    """Each recorded episode, with a mark in all that the sidecar must not see: the mark is in none of its events."""
    mark = "JUDGES-ONLY"
    checked = 0
    with gzip.open(recordings() / "episodes" / "tau2_bench.jsonl.gz", "rt") as rows:
        for row in list(rows)[::10]:
            episode = json.loads(row)
            episode["labels"] = {"gold": mark}
            episode["task"]["goal_hidden_from_agent"] = mark
            (read_back,) = read(tmp_path, json.dumps(episode))
            assert isinstance(read_back, Episode)
            for turn in turns_of(read_back, "session", CONFIG):
                sent = b"".join(event.SerializeToString() for part in turn.parts for event in part)
                assert mark.encode() not in sent
                checked += 1
    assert checked > 100
