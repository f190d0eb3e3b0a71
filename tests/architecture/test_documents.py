"""Links between the repository's documents lead somewhere, every page of docs/ can be reached from the README, and the
tests that the threat model names exist."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.repository import ROOT, checked, run_tool

_FENCED = re.compile(r"^(```+|~~~+).*?^\1\s*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
_HEADING = re.compile(r"^#{1,6} (.+?) *$", re.MULTILINE)


def pages() -> list[Path]:
    """Every page that is, or is about to be, in the repository."""
    listed = checked(run_tool("git", "ls-files", "--cached", "--others", "--exclude-standard", "--", "*.md"))
    return [ROOT / name for name in listed.decode().splitlines() if (ROOT / name).is_file()]


def links_of(page: Path) -> Iterator[tuple[str, str]]:
    """Path and anchor of each link to somewhere in the repository; an empty path is the page itself."""
    prose = _CODE.sub("", _FENCED.sub("", page.read_text(encoding="utf-8")))
    for link in _LINK.findall(prose):
        if "://" not in link and not link.startswith("mailto:"):
            path, _, anchor = link.partition("#")
            yield path, anchor


def anchors_of(page: Path) -> set[str]:
    """What GitHub makes of the headings: a second one of the same words ends in -1, and so on."""
    found: set[str] = set()
    for heading in _HEADING.findall(_FENCED.sub("", page.read_text(encoding="utf-8"))):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        copies = [name, *(f"{name}-{number}" for number in range(1, len(found) + 1))]
        found.add(next(copy for copy in copies if copy not in found))
    return found


def broken(page: Path, root: Path = ROOT) -> list[str]:
    """The links of a page that lead nowhere, or out of `root`."""
    found = []
    for path, anchor in links_of(page):
        target = (page.parent / path).resolve() if path else page
        inside = target.is_relative_to(root) and target.exists()
        if not inside or (anchor and (target.suffix != ".md" or anchor not in anchors_of(target))):
            found.append(f"{path}#{anchor}" if anchor else path)
    return found


def test_every_link_leads_somewhere() -> None:
    found = {str(page.relative_to(ROOT)): broken(page) for page in pages()}
    assert sum(len(list(links_of(page))) for page in pages()) > 50
    assert {name: links for name, links in found.items() if links} == {}


def test_every_page_of_docs_is_reached_from_the_readme() -> None:
    reached = {ROOT / "README.md"}
    waiting = list(reached)
    while waiting:
        page = waiting.pop()
        targets = {(page.parent / path).resolve() for path, _ in links_of(page) if path.endswith(".md")}
        fresh = {target for target in targets if target.is_file()} - reached
        reached |= fresh
        waiting += fresh
    docs = {page for page in pages() if page.is_relative_to(ROOT / "docs")}
    assert len(docs) > 5
    assert {str(page.relative_to(ROOT)) for page in docs - reached} == set()


def missing_tests(text: str) -> list[str]:
    """Of the `file::test` in a text, those whose file has no such test."""
    found = []
    for file, name in _TEST.findall(text):
        path = ROOT / file
        tree = ast.parse(path.read_text(encoding="utf-8")) if path.is_file() else ast.Module([], [])
        tests = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        if name not in tests:
            found.append(f"{file}::{name}")
    return found


def test_each_threat_names_tests_that_exist_and_the_residual_risk() -> None:
    page = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
    threats = page.split("\n## ")[1:]
    assert len(threats) == 10
    for threat in threats:
        assert _TEST.search(threat), threat.partition("\n")[0]
        assert "**Residual risk:**" in threat, threat.partition("\n")[0]
    assert missing_tests(page) == []
    assert page.count("::") == len(_TEST.findall(page)) + 1, "the form of it, at the top"


def test_a_test_that_is_gone_is_found() -> None:
    here = "tests/architecture/test_documents.py"
    gone = [f"{here}::test_gone", "tests/gone.py::test_every_link_leads_somewhere"]
    assert missing_tests(f"`{here}::test_every_link_leads_somewhere` `{gone[0]}`, `{gone[1]}`") == gone


def test_a_link_to_nothing_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One\n# One\n[a](#one-1) [b](#two) [c](gone.md) `[d](code.md)`\n```\n[e](code.md)\n```\n")
    assert anchors_of(page) == {"one", "one-1"}
    assert broken(page, tmp_path) == ["#two", "gone.md"]
