"""What is checked in under generated/ is what the protos make today."""

from pathlib import Path

from tests.architecture.repository import ROOT, checked, run_tool


def contents(folder: Path) -> dict[str, bytes]:
    sources = [path for path in folder.rglob("*_pb2*.py*") if path.parent.name != "__pycache__"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sources}


def test_generated_code_is_fresh(tmp_path: Path) -> None:
    checked(run_tool("buf", "generate", "--output", str(tmp_path)))

    made, kept = contents(tmp_path / "generated/python"), contents(ROOT / "generated/python")

    assert made, "nothing was generated"
    assert sorted(kept) == sorted(made), "run tools/generate"
    stale = sorted(name for name, content in made.items() if kept[name] != content)
    assert stale == [], "run tools/generate"
