"""Each `sidemirror` command that a page shows is one that the command line takes, and each role has a page on the front
page of the site. What commands print is in the tests of their pages."""

import argparse
import re
import shlex
from collections.abc import Iterator

import pytest

from sidemirror_server.cli import command_line
from tests.architecture.repository import ROOT
from tests.architecture.test_documents import pages

PARSER = command_line()
# Who finds a page of theirs on the front page.
ROLES = {
    "Python": "clients/python/README.md",
    "Go": "clients/go/README.md",
    "TypeScript": "clients/typescript/README.md",
    "Java": "clients/java/README.md",
    "Rust": "clients/rust/README.md",
    "coding agent": "docs/hooks.md",
    "OpenTelemetry": "docs/telemetry.md",
    "running it for others": "deploy/README.md",
    "called at night": "deploy/alerts.md",
}
# Pages about what was.
_PAST = ("CHANGELOG.md", "docs/decisions/", "tests/")
# What a reader puts his own in place of; and what is said to an agent, not typed.
_FOR = {"~/shop": ".", "HOST": "codex", " X ": " 2 "}
_NO_COMMANDS = ("advice was wrong", "turns VERB", "memory VERB")
_FENCED = re.compile(r"^ *```\w*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`((?:uv run )?sidemirror [^`]+)`")
_COMMAND = re.compile(r"(?<![\w/.@-])sidemirror ([a-z].*)")
_ENDS = re.compile(r"[|&;<>)#]+")


def commands() -> list[str]:
    """Their names."""
    (found,) = (one for one in PARSER._actions if isinstance(one, argparse._SubParsersAction))
    return list(found.choices)


def shown() -> Iterator[tuple[str, str, bool]]:
    """The commands of each page, and whether they stand in a block, where they are whole; prose also names them."""
    for page in pages():
        name, text = str(page.relative_to(ROOT)), page.read_text("utf-8")
        if name.startswith(_PAST):
            continue
        blocks = "\n".join(_FENCED.findall(text)).replace("\\\n", " ").splitlines()
        lines = [(line, True) for line in blocks]
        lines += [(said, False) for said in _INLINE.findall(_FENCED.sub("", text).replace("\n", " "))]
        for line, is_whole in lines:
            found = _COMMAND.search(line)
            if found is not None and found[1].split()[0] in commands() and found[1] not in _NO_COMMANDS:
                yield name, found[1], is_whole


def typed(command: str) -> list[str]:
    """Its arguments, as a shell would split them."""
    for name, own in _FOR.items():
        command = command.replace(name, own)
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        arguments = list(lexer)
    except ValueError:  # a quotation that began before it
        return typed(command.partition(")")[0])
    return arguments[: next((at for at, word in enumerate(arguments) if _ENDS.fullmatch(word)), len(arguments))]


def refused(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What the command line has against it; empty if nothing."""
    try:
        _, unknown = PARSER.parse_known_args(typed(command))
    except SystemExit:
        return capsys.readouterr().err.splitlines()[-1]
    return f"unknown: {unknown}" if unknown else ""


def test_each_command_of_a_page_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    found = list(shown())
    assert len(found) > 100
    against = [(page, one, is_whole, refused(one, capsys)) for page, one, is_whole in found]
    assert [one for *one, is_whole, why in against if why and (is_whole or "required" not in why)] == []


def test_a_command_that_is_none_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    assert refused("turns list --since-when yesterday", capsys)
    assert refused("advice of lessons", capsys)
    assert not refused("turns list --scope '~/shop' | head # the first", capsys)


@pytest.mark.parametrize(("role", "page"), ROLES.items())
def test_a_role_finds_its_page(role: str, page: str) -> None:
    """By one click from the front page, where its row also says what it has after five minutes."""
    rows = [line for line in (ROOT / "docs/site/front.txt").read_text("utf-8").splitlines() if line.startswith("| ")]
    (row,) = (line for line in rows if role in line and f"({page})" in line)
    assert len(row.strip("|").split("|")) == 3
    # It shows what to type before it explains.
    assert "```" in "".join((ROOT / page).read_text("utf-8").splitlines(keepends=True)[:45])
