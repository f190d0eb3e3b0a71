"""`uv run python -m bench [--quick] [--row NAME …] [--json]`: the figures of decision 041, as a table."""

import argparse
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import uvloop

from bench import hot, memory, peers, start, store, streams
from bench.figures import FULL, QUICK, Figure, Scale
from bench.processes import Servers

Row = Callable[[Servers, Scale], Awaitable[list[Figure]]]
ROWS: dict[str, Row] = {
    "unary": hot.unary,
    "run-turn": streams.run_turn,
    "directive": hot.directive,
    "durable-write": store.durable_write,
    "writers": store.writers,
    "start": start.start,
    "watches": streams.watches,
    "memory-search": memory.search,
    "memory-beside": memory.beside,
    "memory-peers": peers.peers,
}


async def measure(names: list[str], scale: Scale, folder: Path | None = None) -> list[Figure]:
    figures: list[Figure] = []
    for name in names:
        with tempfile.TemporaryDirectory(dir=folder) as own, Servers(Path(own)) as servers:
            measured = await ROWS[name](servers, scale)
        # Each row as it comes: a run takes minutes.
        print(*map(told, measured), sep="\n", file=sys.stderr, flush=True)
        figures += measured
    return figures


def table(figures: list[Figure]) -> str:
    lines = ["| what | goal | figure | | |", "|---|---|---|---|---|"]
    return "\n".join([*lines, *map(told, figures)])


def told(figure: Figure) -> str:
    goal = f"{'≤' if figure.at_most else '≥'} {figure.goal:g}{figure.unit}"
    if not figure.is_measured:
        return f"| {figure.what} | {goal} | | not measured | {figure.detail} |"
    met = "met" if figure.met else "**missed**"
    return f"| {figure.what} | {goal} | {figure.value:.3g}{figure.unit} | {met} | {figure.detail} |"


def as_json(figure: Figure) -> dict[str, object]:
    measured = figure.is_measured
    return {**figure._asdict(), "value": figure.value if measured else None, "met": figure.met if measured else None}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Sidemirror against a bare grpc.aio server.")
    parser.add_argument("--quick", action="store_true", help="every row once and short: does it run, not how fast")
    parser.add_argument("--memories", type=int, metavar="N", help="how many memories are searched (default: 100,000)")
    parser.add_argument("--peer-memories", type=int, metavar="N", help="the same beside others (default: 10,000)")
    parser.add_argument("--rounds", type=int, metavar="N", help="how often everything is measured in turn")
    parser.add_argument("--searches", type=int, metavar="N", help="how many questions are asked of the memories")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="filled memories stay there for later runs")
    parser.add_argument("--row", action="append", choices=list(ROWS), help="this row only; may be repeated")
    parser.add_argument("--folder", type=Path, help="where servers keep data: decides which disk is measured")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    scale = QUICK if options.quick else FULL
    scale = scale._replace(
        memories=options.memories or scale.memories,
        peer_memories=options.peer_memories or scale.peer_memories,
        rounds=options.rounds or scale.rounds,
        searches=options.searches or scale.searches,
        kept=options.keep,
    )
    figures = uvloop.run(measure(options.row or list(ROWS), scale, options.folder))
    if options.json:
        print(json.dumps([as_json(figure) for figure in figures], indent=2))
    else:
        print(table(figures))


if __name__ == "__main__":
    main()
