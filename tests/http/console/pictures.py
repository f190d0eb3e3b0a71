"""Makes the pictures of `docs/console.md` anew: `uv run python -m tests.http.console.pictures`."""

import tempfile
from pathlib import Path
from urllib.parse import quote

from tests.architecture.repository import ROOT
from tests.http.chromium import chromium
from tests.http.console.filled import TASK, Filled, fill
from tests.http.console.looking import go, opened
from tests.http.sidecars import door

_FOLDER = ROOT / "docs/console"
_WIDE, _NARROW = (1600, 1000), (360, 800)


def pictures(filled: Filled) -> dict[str, tuple[str, str, tuple[int, int]]]:
    """By its name: the place, what is awaited there, and the size in CSS pixels."""
    recovery = f"/recoveries/{quote(filled.signature, safe='')}"
    return {
        "turns": ("/turns", TASK, _WIDE),
        "turn": (f"/turns/{filled.turn_id}", "recognised as", _WIDE),
        "lesson": (f"/lessons/{filled.lesson_id}", "Where it was shown", _WIDE),
        "recoveries": ("/recoveries", filled.signature, _WIDE),
        "recovery": (recovery, "told, after a draw", _WIDE),
        "now": ("/now", "all well", _WIDE),
        "turn-narrow": (f"/turns/{filled.turn_id}", "recognised as", _NARROW),
        "turns-narrow": ("/turns", TASK, _NARROW),
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, door(Path(folder)) as server, chromium() as browser:
        filled = fill(server)
        page = opened(browser, server)
        for name, (place, text, (width, height)) in pictures(filled).items():
            page.looks(width, height=height)
            go(page, place, text)
            (_FOLDER / f"{name}.png").write_bytes(page.picture())


if __name__ == "__main__":
    main()
