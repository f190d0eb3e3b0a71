"""Every row of the benchmark still runs, and says what it should. Its figures mean nothing here."""

import asyncio
from pathlib import Path

import pytest

from bench.__main__ import ROWS, as_json, measure, table
from bench.figures import QUICK, Figure
from sidemirror_server.storage.sqlite.database import FILE_NAME

pytestmark = pytest.mark.slow("every row of the benchmark, for a moment each")

TINY = QUICK._replace(rounds=1, calls=600, stream_s=0.2, writes=5, starts=1, watches=100, memories=300, searches=8,
                      peer_memories=200)  # fmt: skip
FIGURES = {
    "unary": 8,
    "run-turn": 2,
    "directive": 1,
    "durable-write": 2,
    "writers": 1,
    "start": 2,
    "watches": 1,
    "memory-search": 4,
    "memory-beside": 1,
    "memory-peers": 5,
}


def test_the_rows_are_those_of_the_design() -> None:
    assert set(ROWS) == set(FIGURES)


@pytest.mark.parametrize("row", [row for row in FIGURES if row != "memory-peers"])
def test_a_row_runs(row: str, tmp_path: Path) -> None:
    figures = asyncio.run(measure([row], TINY, tmp_path))

    assert len(figures) == FIGURES[row]
    assert all(figure.value > 0 for figure in figures)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_row_of_peers_runs(tmp_path: Path) -> None:
    """Their environments are fetched from a package index."""
    figures = asyncio.run(measure(["memory-peers"], TINY, tmp_path))

    assert len(figures) == FIGURES["memory-peers"]
    assert all(figure.value > 0 if figure.is_measured else figure.detail for figure in figures)


def test_a_peer_that_cannot_be_had_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen to fail when `peers` lets Unavailable through: there was no table at all."""
    monkeypatch.setattr("bench.environments.shutil.which", lambda _name: None)

    figures = asyncio.run(measure(["memory-peers"], TINY, tmp_path))

    assert [(figure.is_measured, figure.detail) for figure in figures] == [(False, "uv is not there")] * 5
    assert "| ≥ 8× | | not measured | uv is not there |" in table(figures)
    assert {as_json(figure)["met"] for figure in figures} == {None}


def test_memories_that_are_kept_are_filled_once(tmp_path: Path) -> None:
    scale = TINY._replace(kept=tmp_path / "kept")
    asyncio.run(measure(["memory-search"], scale, tmp_path))
    filled = (tmp_path / "kept" / "memories-300" / FILE_NAME).stat()

    asyncio.run(measure(["memory-search"], scale, tmp_path))

    assert (tmp_path / "kept" / "memories-300" / FILE_NAME).stat().st_size == filled.st_size


def test_the_table_says_which_goals_are_met() -> None:
    figures = [Figure("small", 1.0, 1.0, True, "×", "a"), Figure("large", 0.5, 0.6, False, "×", "b")]

    assert table(figures).splitlines()[2:] == [
        "| small | ≤ 1× | 1× | met | a |",
        "| large | ≥ 0.6× | 0.5× | **missed** | b |",
    ]
