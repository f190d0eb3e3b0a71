"""The pages keep to the style of `docs/site/prose.toml`: no boasting, no filler, sentences that are read once."""

import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from markdown_it import MarkdownIt

from tests.architecture.repository import ROOT
from tests.architecture.test_documents import pages

STYLE: dict[str, Any] = tomllib.loads((ROOT / "docs/site/prose.toml").read_text("utf-8"))
# Lists of what others say or of what was done, and no prose of ours.
_NO_PROSE = {"CHANGELOG.md", "tests/once_more.md"}
_SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+")


def paragraphs(text: str) -> Iterator[tuple[str, bool]]:
    """The prose of a page, a paragraph, heading or table's cell at a time, without its code; and whether it is a cell,
    which may be a list."""
    in_table = False
    for token in MarkdownIt().enable("table").parse(text):
        if token.type in ("table_open", "table_close"):
            in_table = token.type == "table_open"
        elif token.type == "inline":
            said = {"softbreak": " ", "hardbreak": " ", "code_inline": "x"}
            yield "".join(said.get(one.type, one.content) for one in token.children or ()), in_table


def found_in(text: str) -> list[str]:
    """What the style has against a page."""
    most, found = STYLE["most_words_of_a_sentence"], []
    for paragraph, is_cell in paragraphs(text):
        found += [
            f"{word!r} ({instead}): {paragraph[:80]}"
            for word, instead in STYLE["instead"].items()
            if re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", paragraph, re.IGNORECASE)
        ]
        sentences = () if is_cell else _SENTENCE_END.split(paragraph)
        found += [f"over {most} words: {one[:120]}" for one in sentences if len(one.split()) > most]
    return found


def test_the_pages_keep_to_the_style() -> None:
    found = {
        name: said
        for page in pages()
        if (name := str(page.relative_to(ROOT))) not in _NO_PROSE and (said := found_in(page.read_text("utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("It simply works.", 1),
        ("`simply` is a name, and oversimply a word.", 0),
        ("| a | In order to go |\n|---|---|\n| leverage | b |", 2),
        ("```\nplease\n```", 0),
        (f"{'word ' * 60}end.", 1),
        (f"{'word ' * 30}end. {'word ' * 30}end.", 0),
    ],
)
def test_the_style_is_seen(text: str, count: int) -> None:
    assert len(found_in(text)) == count
