"""A failure has the same category and signature through every host, whatever the host writes around it."""

import time
from pathlib import Path
from typing import Any

import pytest

from sidemirror_server.http.hooks.hosts.failure import said_by_tool
from sidemirror_server.http.hooks.hosts.happening import CallEnded
from sidemirror_server.http.hooks.table import HOSTS
from sidemirror_server.memory.kin.signature import error_signature
from sidemirror_server.trace.failure import ErrorCategory, category_of
from tests.http.hooks.players import PLAYERS, Player

# With an error word and without one, with a category and without one, and with a line as a host has it.
FAILURES = (
    "error: pathspec 'feature-x' did not match any file(s) known to git",
    "the lock of the package is held by another process",
    "cat: a.txt: No such file or directory",
    "collected 3 items\n\ntests/test_a.py F\nAssertionError: 4 is not 5",
    "Compiling\nError: nothing is known of this part",
    "Output: the build stopped here",
)
CODEX = "Chunk ID: 4f2a\nWall time: 0.0521 seconds\nProcess exited with code {code}\nOriginal token count: 9\nOutput:\n"
GEMINI = "Command: make\nDirectory: (root)\nOutput: {said}\nExit Code: {code}\nBackground PIDs: 7, 8\nSignal: 0"


def told(kind: type[Player], said: str, code: int, folder: Path) -> str:
    """What is recorded of a failing call of the host."""
    player: Any = kind(None, "s", folder)  # type: ignore[arg-type]  # nothing is sent
    payload = player.ran("make", said, code)
    happening = HOSTS[kind.host].read(payload[HOSTS[kind.host].event_field], payload)
    assert happening is not None
    assert isinstance(happening.what, CallEnded)
    return said_by_tool(kind.host, happening.what.result)


@pytest.mark.parametrize("said", FAILURES)
@pytest.mark.parametrize("kind", PLAYERS, ids=lambda kind: kind.host)
def test_a_failure_is_what_the_tool_said(kind: type[Player], said: str, tmp_path: Path) -> None:
    """Seen to fail for Claude Code and Gemini CLI when their lines are recorded too."""
    kept = told(kind, said, 1, tmp_path)
    assert kept == said
    assert category_of(kept, "shell") is category_of(said, "shell")
    assert error_signature("shell", kept) == error_signature("shell", said)


FORMS = (
    ("claude-code", "Exit code {code}\n{said}"),
    ("codex", f"{CODEX}{{said}}"),
    ("gemini-cli", GEMINI),
    ("gemini-cli", f"<untrusted_context>\n{GEMINI}\n</untrusted_context>"),
    ("cursor", "Exit code: {code}\n{said}"),
)


@pytest.mark.parametrize("said", FAILURES)
@pytest.mark.parametrize(("host", "form"), FORMS)
def test_every_form_of_a_host(host: str, form: str, said: str) -> None:
    assert said_by_tool(host, form.format(said=said, code=1)) == said


@pytest.mark.parametrize(("host", "form"), FORMS)
@pytest.mark.parametrize(
    ("code", "category"), [(124, ErrorCategory.TIMEOUT), (137, ErrorCategory.RESOURCE), (1, ErrorCategory.UNKNOWN)]
)
def test_a_status_that_says_why_stays(host: str, form: str, code: int, category: ErrorCategory) -> None:
    kept = said_by_tool(host, form.format(said="It went away", code=code))
    assert kept.startswith("It went away")
    assert category_of(kept) is category


@pytest.mark.parametrize("host", HOSTS)
def test_escape_sequences_are_left_out(host: str) -> None:
    """OpenHands' shell writes the first one; colours are what many programs write. Seen to fail when they are kept."""
    kept = said_by_tool(
        host, "\x1b[?2004lerror: pathspec 'x' \x1b[1;31mdid not match\x1b[0m any file(s) known to git\n\x1b[?2004h"
    )
    assert kept.strip() == "error: pathspec 'x' did not match any file(s) known to git"


@pytest.mark.parametrize(("host", "form"), FORMS)
@pytest.mark.parametrize("code", [1, 137])
def test_a_failure_without_output_is_its_status(host: str, form: str, code: int) -> None:
    """The same through every host, and no failure that is recognised: it could be any."""
    silent = ("", "\n", "(empty)") if host == "gemini-cli" else ("", "\n")
    for said in silent:
        assert said_by_tool(host, form.format(said=said, code=code)) == f"Exit code {code}"
    assert error_signature("shell", f"Exit code {code}") == ""


@pytest.mark.parametrize("text", ["", "Exit code 1", "fatal: no", "<untrusted_context>\n", "Output: "])
def test_what_has_nothing_else_is_left_as_it_is(text: str) -> None:
    assert [said_by_tool(host, text) for host in HOSTS] == [text] * len(HOSTS)


@pytest.mark.parametrize("part", ["\nSignal: a", "Wall time\n", "Command: " + "a" * 4_000 + "\n", "Exit code 1\n"])
def test_a_long_text_takes_no_time(part: str) -> None:
    began_s = time.monotonic()
    for host, form in FORMS:
        # As much as is kept of a text (`payload.py`).
        said_by_tool(host, form.format(said=part * (64_000 // len(part)), code=1) + "x")
    assert time.monotonic() - began_s < 2
