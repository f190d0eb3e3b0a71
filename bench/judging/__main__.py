"""`uv run python -m bench.judging draw FOLDER` draws what two people judge by `guide.md`, from the reserved part of the
recorded data, or with `--part tuning` while something is still changed; `agree` prints what they found. What is drawn
holds recorded texts and is not committed."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.judging.drawing import DRAWN, drawn, drawn_items, everything
from bench.judging.entry import Entry
from bench.judging.shares import JUDGEMENTS, read, report
from bench.split import Part
from tests.recorded import DATA


def draw(folder: Path, part: Part, count: int, most_runs: int) -> None:
    """Writes both files, of so many entries, and prints what they are drawn from."""
    found = everything(part, most_runs)
    for name, every, chosen in (
        ("nudges", found.nudges, drawn(found.nudges, count)),
        ("items", found.items, drawn_items(found.items, count)),
    ):
        path = folder / f"{name}.json"
        path.write_text(json.dumps([_shown(one) for one in chosen], indent=1, ensure_ascii=False))
        signatures = len({one.signature for one in chosen if one.signature})
        print(f"{path.name}: {len(chosen)} of {len(every)}, about {signatures} signatures")
    share = found.helped / found.repairable if found.repairable else 0.0
    print(f"{found.helped} of {found.repairable} failing calls with a known repair had an item ({share:.0%}).")


def _shown(one: Entry) -> dict[str, object]:
    """An entry as it is judged. Whether the call was repaired stands in what came after, not beside it."""
    return {name: value for name, value in one._asdict().items() if name not in ("group", "repaired")}


def agree(folder: Path) -> None:
    for name in ("nudges", "items"):
        paths = [folder / f"{name}-{judge}.jsonl" for judge in (1, 2)]
        missing = [path.name for path in paths if not path.is_file()]
        if missing:
            print(f"## {name}\n\nnot judged yet: {', '.join(missing)}\n")
            continue
        print("\n".join(report(name, read(paths[0]), read(paths[1]))) + "\n")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.judging")
    commands = parser.add_subparsers(required=True, dest="command")
    drawing = commands.add_parser("draw")
    drawing.add_argument("folder", type=Path)
    drawing.add_argument("--part", type=Part, choices=list(Part), default=Part.RESERVED)
    drawing.add_argument("--count", type=int, default=DRAWN, help="entries of each file")
    drawing.add_argument("--runs", type=int, default=0, help="look for items in so many runs of a corpus; 0: in all")
    commands.add_parser("agree").add_argument("folder", type=Path, nargs="?", default=JUDGEMENTS)
    options = parser.parse_args(arguments)
    if options.command == "agree":
        agree(options.folder)
    elif DATA.is_dir():
        draw(options.folder, options.part, options.count, options.runs)
    else:
        sys.stdout.write("skipped: no recorded data in ../shared/data\n")


if __name__ == "__main__":
    main()
