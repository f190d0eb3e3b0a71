"""Every row of the benchmark still runs, and says what it should. Its figures mean nothing here."""

import asyncio
from pathlib import Path

import pytest

from bench.__main__ import ROWS, measure, table
from bench.figures import QUICK, Figure

TINY = QUICK._replace(rounds=1, calls=400, stream_s=0.2, writes=5, starts=1, watches=100, memories=300, searches=8)
FIGURES = {
    "unary": 8,
    "run-turn": 2,
    "directive": 1,
    "durable-write": 2,
    "writers": 1,
    "start": 2,
    "watches": 1,
    "memory-search": 3,
    "memory-beside": 1,
}


def test_the_rows_are_those_of_the_design() -> None:
    assert set(ROWS) == set(FIGURES)


@pytest.mark.parametrize("row", list(FIGURES))
def test_a_row_runs(row: str, tmp_path: Path) -> None:
    figures = asyncio.run(measure([row], TINY, tmp_path))

    assert len(figures) == FIGURES[row]
    assert all(figure.value > 0 for figure in figures)


def test_the_table_says_which_goals_are_met() -> None:
    figures = [Figure("small", 1.0, 1.0, True, "×", "a"), Figure("large", 0.5, 0.6, False, "×", "b")]

    assert table(figures).splitlines()[2:] == [
        "| small | ≤ 1× | 1× | met | a |",
        "| large | ≥ 0.6× | 0.5× | **missed** | b |",
    ]
