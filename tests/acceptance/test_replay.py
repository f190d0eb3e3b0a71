"""`replay`, as whoever runs it sees it."""

import json
from pathlib import Path

import pytest

from tests.acceptance.product import run, serving

GOOD = {
    "episode_id": "good",
    "agent": {"domain": "shop"},
    "outcome": "failure",
    "events": [
        {"i": 0, "type": "user_message", "content": "hi"},
        *(
            event
            for i in range(1, 7, 2)
            for event in (
                {"i": i, "type": "tool_call", "name": "look", "content": "{}"},
                {"i": i + 1, "type": "tool_error", "name": "look", "content": "no such file: x"},
            )
        ),
    ],
}


@pytest.fixture
def episodes(tmp_path: Path) -> Path:
    path = tmp_path / "episodes.jsonl"
    path.write_text(json.dumps(GOOD) + "\n")
    return path


def test_it_prints_what_was_decided(episodes: Path, tmp_path: Path) -> None:
    told = run("replay", str(episodes), cwd=tmp_path)

    assert (told.returncode, told.stderr) == (0, "")
    rows = {cells[:-2]: cells[-1] for cells in (tuple(line.split()) for line in told.stdout.splitlines()) if cells[2:]}
    assert rows["events", "sent"] == rows["acknowledged", "as", "durable"] == "9"
    assert rows["lost",] == "0"
    # Of "no such file: x" there is nothing to say; then the call is repeated.
    assert rows["reflections:", "ok"] == "1"
    assert rows["because", "of:", "tool", "error"] == "3"
    assert rows["nudges:", "repeated", "call"] == "1"
    assert rows["outcome:", "failure"] == "1"
    assert list(tmp_path.iterdir()) == [episodes]


def test_as_json(episodes: Path) -> None:
    told = run("replay", str(episodes), "--json")

    result = json.loads(told.stdout)
    assert (told.returncode, told.stderr) == (0, "")
    assert result["complete"] is True
    assert result["total"] == result["domains"]["shop"]
    assert result["total"]["nudges"] == {"repeated call": 1}
    assert result["total"]["lost"] == 0


def test_the_level_counts(episodes: Path) -> None:
    total = json.loads(run("replay", str(episodes), "--json", "--level", "off").stdout)["total"]

    assert total["reflections"] == {}
    assert total["nudges"] == {"repeated call": 1}


def test_bad_lines_are_told_and_the_others_played(episodes: Path) -> None:
    episodes.write_text(f'{{"episode_id": 7}}\n{json.dumps(GOOD)}\nnonsense\n')

    told = run("replay", str(episodes))

    assert told.returncode == 65
    assert [line.partition(": ")[2].partition(":")[0] for line in told.stderr.splitlines()] == [
        "episodes.jsonl, line 1",
        "episodes.jsonl, line 3",
    ]
    assert "events sent" in told.stdout


def test_against_a_running_sidecar(episodes: Path, tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        told = run("replay", str(episodes), SIDEMIRROR_ADDRESS=server.address)
        assert told.returncode == 0
        assert f"through {server.address}:" in told.stdout


def test_without_a_file_or_a_sidecar(episodes: Path, tmp_path: Path) -> None:
    missing = run("replay", str(tmp_path / "none"))
    assert (missing.returncode, missing.stderr) == (66, f"sidemirror: {tmp_path / 'none'}: No such file or directory\n")

    unreachable = run("replay", str(episodes), "--address", "127.0.0.1:1")
    assert unreachable.returncode == 69
    assert unreachable.stderr.startswith("sidemirror: nothing can be reached at 127.0.0.1:1.")


def test_its_own_sidecar_gets_nothing_of_what_the_environment_names_for_others(episodes: Path) -> None:
    """Seen to fail: its own sidecar speaks no TLS and asks for no token."""
    files = {"SIDEMIRROR_CA_FILE": "/nowhere", "SIDEMIRROR_TOKEN_FILE": "/nowhere"}
    told = run("replay", str(episodes), cwd=None, **files)
    assert (told.returncode, told.stderr) == (0, "")
