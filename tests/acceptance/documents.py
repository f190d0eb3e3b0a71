"""The README and the pages of docs/ as a reader has them: headings, blocks to run, blocks of what comes out, tables."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


class Block(NamedTuple):
    """A fenced block: its language and its text."""

    language: str
    text: str


def section(heading: str) -> str:
    """The text below a heading of the first or second level. The heading stands in one of the pages, and once."""
    (found,) = [text for page in _pages() for title, text in _sections(page) if title == heading]
    return found


def blocks(heading: str) -> list[Block]:
    """The fenced blocks below a heading, in their order."""
    return [Block(*found) for found in re.findall(r"^```(\w+)\n(.*?)^```$", section(heading), re.MULTILINE | re.DOTALL)]


def table(heading: str, first_column: str) -> list[list[str]]:
    """The rows of the table below a heading whose first column is called so; cells without their backquotes."""
    lines = section(heading).splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(f"| {first_column} |"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([re.sub(r"^`([^`]*)`$", r"\1", cell.strip()) for cell in line.strip("|").split("|")])
    return rows


def _pages() -> list[str]:
    return [README, *(page.read_text() for page in sorted((ROOT / "docs").glob("*.md")))]


def _sections(page: str) -> list[tuple[str, str]]:
    parts = re.split(r"^##? (.+)$", page, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))
