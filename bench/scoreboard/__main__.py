"""`uv run python -m bench.scoreboard [--quick] [--only MEASURE …] [--who CONTENDER …]`: measures for us and for peers.

uv fetches each peer with what `bench/peer` pins, into an environment that ends with the run; no model and no key is
asked, and nothing but the loopback interface is used besides. `--out FILE` keeps the figures as JSON, cell by
cell; of a file that is there already, only what is measured again is replaced. `--twice FOLDER` runs the whole two
times, into two new files of the folder, and prints what differs. `--table FILE`
prints the tables of such a file, `--plots FILE FOLDER` draws its figures, and `--compare FILE FILE` prints what differs
between two.
"""

import argparse
import contextlib
import os
import platform
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bench.embedders import serving
from bench.environments import Unavailable
from bench.scoreboard import finding, keeping, learning
from bench.scoreboard.plots import plots
from bench.scoreboard.results import Cell, Results, differences, read, table, with_earlier, write
from bench.scoreboard.rows import FULL, MEASURES, QUICK, ROWS, Found, Scale
from bench.scoreboard.running import CONTENDERS, Ended, Place, Refused

_MEASURED: dict[str, Callable[[Place, Scale], Iterator[Found]]] = {
    "retrieval": finding.retrieval,
    "lost": keeping.lost,
    "growth": keeping.growth,
    "foreign": finding.foreign,
    "erasure": keeping.erasure,
    "poison": finding.poison,
    "repair": learning.repair,
    "harm": learning.harm,
    "cost": learning.cost,
}


def measured(place: Place, contender: str, measure: str, scale: Scale) -> Iterator[Cell]:
    """The cells of a contender in a measure; those that it has no figure for say why."""
    found, why = set[str](), ""
    try:
        for one in _MEASURED[measure](place, scale):
            found.add(one.row)
            yield Cell(one.row, contender, one.value, one.detail)
    except Refused as error:
        why = str(error)
    except Ended as error:
        why = f"failed: {(str(error).strip().splitlines() or ['ended'])[-1][:200]}".replace("|", "/")
    if why:
        yield from _without(contender, measure, why, found)


def _without(contender: str, measure: str, why: str, found: set[str] | None = None) -> Iterator[Cell]:
    for name, row in ROWS.items():
        if row.measure == measure and name not in (found or ()):
            yield Cell(name, contender, None, why)


def run(measures: list[str], contenders: list[str], scale: Scale, folder: Path) -> Iterator[Cell]:
    """Every measure of every contender, one measure after the other. What cannot be had on this machine has cells that
    say so."""
    with contextlib.ExitStack() as stack:
        url, no_model = "", ""
        try:
            url = stack.enter_context(serving(folder))
        except Unavailable as error:
            no_model = str(error)
        places, missing = dict[str, Place](), dict[str, str]()
        for name in contenders:
            try:
                if no_model and CONTENDERS[name].needs_model:
                    raise Unavailable(no_model)
                places[name] = Place(CONTENDERS[name], folder / name, url)
            except Unavailable as error:
                missing[name] = f"not run: {error}"
        for measure in measures:
            for name in contenders:
                if name in missing:
                    yield from _without(name, measure, missing[name])
                elif measure in CONTENDERS[name].measures:
                    print(f"{measure}: {name}", file=sys.stderr, flush=True)
                    yield from measured(places[name], name, measure, scale)


def whole(measures: list[str], contenders: list[str], scale: Scale, out: Path | None) -> Results:
    """One run, kept in `out` cell by cell; says how long it took."""
    began_s = time.monotonic()
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
    results = Results(
        datetime.now(UTC).date().isoformat(), f"{platform.machine()}, {os.cpu_count()} cores",
        scale.kept == QUICK.kept, {name: CONTENDERS[name].told for name in contenders}, (),
    )  # fmt: skip
    if out is not None and out.exists():
        results = with_earlier(results, read(out), measures, contenders)
    with tempfile.TemporaryDirectory() as folder:
        for cell in run(measures, contenders, scale, Path(folder)):
            results = msgspec.structs.replace(results, cells=(*results.cells, cell))
            if out is not None:
                write(results, out)
    print(f"took {(time.monotonic() - began_s) / 60:.0f} min", file=sys.stderr, flush=True)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.scoreboard")
    parser.add_argument("--quick", action="store_true", help="a few of each, to see that it runs")
    parser.add_argument("--only", nargs="+", choices=list(MEASURES), default=list(MEASURES), help="these measures")
    parser.add_argument("--who", nargs="+", choices=list(CONTENDERS), default=list(CONTENDERS), help="these contenders")
    parser.add_argument("--out", type=Path, help="a JSON file that keeps the figures; others' cells in it stay")
    parser.add_argument("--twice", type=Path, metavar="FOLDER", help="two runs, and what differs between them")
    parser.add_argument("--procedures", type=Path, metavar="CLONE", help="a clone of github.com/qpiai/Proced_mem_bench")
    parser.add_argument("--table", type=Path, help="prints the tables of such a file, and measures nothing")
    parser.add_argument("--plots", type=Path, nargs=2, metavar=("FILE", "FOLDER"), help="draws such a file's figures")
    parser.add_argument("--compare", type=Path, nargs=2, help="prints what differs between two such files")
    given = parser.parse_args()
    if given.table is not None:
        print(table(read(given.table)))
        return
    if given.plots is not None:
        file, folder = given.plots
        for measure, drawn in plots(read(file)).items():
            (folder / f"scoreboard-{measure}.svg").write_text(drawn, "utf-8")
        return
    if given.compare is not None:
        print(differences(*map(read, given.compare)))
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # contenders end with the run
    scale = (QUICK if given.quick else FULL)._replace(procedures=given.procedures)
    if given.twice is None:
        print(table(whole(given.only, given.who, scale, given.out)))
        return
    files = [given.twice / f"{name}.json" for name in ("first", "second")]
    for file in files:
        file.unlink(missing_ok=True)
    first, second = (whole(given.only, given.who, scale, file) for file in files)
    print(table(first), differences(first, second), sep="\n\n")


if __name__ == "__main__":
    main()
