"""What `server/ARCHITECTURE.md`, `CONTRIBUTING.md` and the decisions name is where they say: every file, every function
in it, every method of a class."""

import ast
import re
from pathlib import Path

from tests.architecture.repository import ROOT

PAGE = (ROOT / "server" / "ARCHITECTURE.md").read_text(encoding="utf-8")
PAGES = {
    file: (ROOT / file).read_text(encoding="utf-8")
    for file in (
        "server/ARCHITECTURE.md",
        "CONTRIBUTING.md",
        *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs" / "decisions").glob("*.md")),
    )
}
SERVER = ROOT / "server" / "sidemirror_server"

_QUOTED = re.compile(r"`([^`\n]+)`")
_PATH = re.compile(r"[\w./-]+(?:/|\.(?:py|proto|toml|md|sql))")
_METHOD = re.compile(r"_?[A-Z]\w+\.\w+")


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def names_in(file: Path) -> set[str]:
    """Functions and classes of a module, and `Class.method` for each method."""
    found: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            methods = [part for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)]
            found.update({node.name}, (f"{node.name}.{method.name}" for method in methods))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
    return found


def place_of(path: str) -> Path | None:
    """Paths are below the server unless they start elsewhere; a bare name may be a file of any room, or a test."""
    name = path.rstrip("/")
    bare = [] if "/" in name else [*sorted(SERVER.rglob(name)), *sorted((ROOT / "tests").rglob(name))]
    return next((place for place in (SERVER / path, ROOT / path, *bare) if place.exists()), None)


def test_every_path_is_there() -> None:
    paths = {(page, quoted.partition(":")[0]) for page, text in PAGES.items() for quoted in _QUOTED.findall(text)}
    paths = {(page, path) for page, path in paths if _PATH.fullmatch(path)}
    assert len(paths) > 100
    assert {(page, path) for page, path in paths if place_of(path) is None} == set()


def test_every_name_is_in_its_file() -> None:
    quoted = [words for text in PAGES.values() for words in _QUOTED.findall(text)]
    named = [words.split(":") for words in quoted if re.fullmatch(r"[\w/]+\.py:\w+", words)]
    methods = {name for file in SERVER.rglob("*.py") for name in names_in(file)}
    assert len(named) > 5
    for path, name in named:
        file = place_of(path)
        assert file is not None, path
        assert any(known == name or known.endswith(f".{name}") for known in names_in(file)), f"{path}:{name}"
    told = {words for words in _QUOTED.findall(section("One turn, file by file")) if _METHOD.fullmatch(words)}
    assert {"Boundary.bidi_stream", "LiveTurn.record", "_TurnStream.compose"} <= told
    # `TurnLog.append` is a port's.
    assert told <= methods


def test_files_of_a_room_are_in_it() -> None:
    """Those that a room's own section names, and it may name inner rooms in bold."""
    _, *parts = re.split(r"^(?:### |\*\*)`([\w/]+/)`.*$", section("The rooms"), flags=re.MULTILINE)
    told = dict(zip(parts[::2], parts[1::2], strict=True))
    assert told.keys() >= {"vocabulary/", "thinking/", "turns/", "rpc/", "memory/kin/"}
    for room, files in told.items():
        for name in re.findall(r"`(\w+\.(?:py|lua))`", files):
            assert list((SERVER / room).rglob(name)), f"{room} holds no {name}"


def test_every_room_has_its_row_and_its_section() -> None:
    told = section("The rooms")
    rows = "".join(line.split("|")[1] for line in told.splitlines() if line.startswith("| `"))
    rooms = {folder.name for folder in SERVER.iterdir() if folder.is_dir() and folder.name != "__pycache__"}
    assert {room for room in rooms if f"`{room}/`" not in rows} == set()
    assert {room for room in rooms if f"\n### `{room}/`\n" not in told} == set()
