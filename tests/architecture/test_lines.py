"""`tools/lines` sees a circle of imports, and the server has none."""

import itertools
import shutil
import subprocess
from pathlib import Path

from tests.architecture.repository import ROOT, run_tool

TOOL = ROOT / "tools" / "lines"


def test_the_server_has_no_circle() -> None:
    done = run_tool("tools/lines")
    assert done.returncode == 0, done.stdout.decode()
    assert b"vocabulary" in done.stdout


def test_a_circle_is_seen(tmp_path: Path) -> None:
    """Across rooms too, and where the import is inside a function. What has none is counted."""
    room = tmp_path / "server" / "sidemirror_server" / "room"
    room.mkdir(parents=True)
    (tmp_path / "tools").mkdir()
    shutil.copy(TOOL, tmp_path / "tools")
    (room / "__init__.py").write_text("")
    (room.parent / "one.py").write_text("from sidemirror_server.room import two\n\n\ndef f(): ...\n")
    (room / "two.py").write_text("def g():\n    from sidemirror_server.room.three import h\n    h()\n")
    (room / "three.py").write_text("\n\nh = 1\n")
    done = subprocess.run([str(tmp_path / "tools" / "lines")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split() for line in done.stdout.splitlines()[1:]] == [
        [".", "1", "2", "0", "room", "1"],
        ["room", "2", "4", "1"],
        ["all", "3", "6", "2"],
    ]
    (room / "three.py").write_text("from sidemirror_server import one\n")
    done = subprocess.run([str(tmp_path / "tools" / "lines")], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    circle = done.stdout.splitlines()[-1].removeprefix("circle: ").split(" -> ")
    assert set(itertools.pairwise(circle)) == {
        ("one", "room.two"),
        ("room.two", "room.three"),
        ("room.three", "one"),
    }
