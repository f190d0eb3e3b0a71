"""One word has one meaning: no public class name stands in two modules of the server."""

import ast
from collections import defaultdict
from pathlib import Path

from tests.architecture.repository import ROOT

SERVER = ROOT / "server" / "sidemirror_server"


def doubled(folder: Path) -> dict[str, list[str]]:
    """Public class names that more than one module below the folder defines, with these modules."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for file in sorted(folder.rglob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(str(file.relative_to(folder)))
    return {name: modules for name, modules in found.items() if len(modules) > 1}


def test_each_public_class_name_is_in_one_module() -> None:
    assert doubled(SERVER) == {}


def test_a_doubled_name_is_found(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("class Verdict: ...\nclass _Own: ...\n")
    (tmp_path / "two.py").write_text("class Verdict: ...\nclass _Own: ...\n")
    assert doubled(tmp_path) == {"Verdict": ["one.py", "two.py"]}
