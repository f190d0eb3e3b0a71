"""One word has one meaning: no public class name stands in two modules of the server, and the glossary in
`server/ARCHITECTURE.md` lists each noun once, with an owner that exists."""

import ast
import re
from collections import defaultdict
from pathlib import Path

from tests.architecture.repository import ROOT

SERVER = ROOT / "server" / "sidemirror_server"
_ROW = re.compile(r"\| (?P<noun>[^|*]+) \| (?P<meaning>[^|]+) \| (?P<owner>[^|]+) \|")


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


def faults_of(page: str) -> list[str]:
    """What is wrong with a page's glossary: nouns that stand twice, owners that are no file or folder."""
    rows = [_ROW.fullmatch(line) for line in page.partition("\n## Glossary\n")[2].partition("\n## ")[0].splitlines()]
    nouns = [(row["noun"], re.findall(r"`([^`]+)`", row["owner"])) for row in rows if row and row["noun"] != "noun"]
    names = [noun for noun, _ in nouns]
    doubled_nouns = [f"{noun}: twice" for noun in sorted({name for name in names if names.count(name) > 1})]
    owners = [(noun, path) for noun, paths in nouns for path in paths or ["(none)"]]
    return doubled_nouns + [
        f"{noun}: {path}" for noun, path in owners if not any((root / path).exists() for root in (SERVER, ROOT))
    ]


def test_the_glossary_has_each_noun_once_and_its_owner() -> None:
    page = (ROOT / "server" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert len(_ROW.findall(page.partition("\n## Glossary\n")[2].partition("\n## ")[0])) > 80
    assert faults_of(page) == []


def test_a_fault_of_the_glossary_is_found() -> None:
    page = "\n## Glossary\n\n| turn | one answer | `turns/live.py` |\n| turn | a move | `turns/gone.py` |\n"
    assert faults_of(page) == ["turn: twice", "turn: turns/gone.py"]
