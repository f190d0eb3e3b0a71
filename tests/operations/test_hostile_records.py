"""Whatever stands in the record, no command prints what a terminal obeys, and no text makes a line of its own."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from sidemirror_server.cli import main
from sidemirror_server.operations import exit_codes
from tests.operations.hostile_records import TEXTS, Hostile
from tests.operations.test_outages import READ

COMMANDS = {
    **{name: arguments for name, arguments in READ.items() if name != "turns why"},
    "watch": ("watch", "--no-follow"),
    "usage by project": ("usage", "--by", "project"),
    "turns show": ("turns", "show", TEXTS[0]),
    "turns why of a turn": ("turns", "why", TEXTS[0]),
    "turns why of a lesson": ("turns", "why", "--lesson", TEXTS[0]),
    "turns why of both": ("turns", "why", TEXTS[0], "--lesson", TEXTS[0]),
}
# Those of them that print no JSON, or none of a store that does not answer, or print it to be piped.
WITHOUT_JSON = {"usage by project", "goals retry", "memory review", "memory export", "policy show", "advice show"}


# Of a store that does not answer, `usage` ends with this code.
CODES = dict.fromkeys(("usage", "usage by project"), exit_codes.UNAVAILABLE)


pytestmark = pytest.mark.slow("200 texts in each field of what each command asks for")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with ThreadPoolExecutor(4) as threads:
        server = grpc.server(threads, handlers=[Hostile()], options=[("grpc.max_metadata_size", 1 << 20)])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        yield f"127.0.0.1:{port}"
        server.stop(0).wait()


def test_the_texts_are_what_they_should_be() -> None:
    assert len(set(TEXTS)) == len(TEXTS) == 200
    assert sum(len(text.encode()) >= 240 * 1024 for text in TEXTS) >= 3


# An export is data: each line goes into an import as it is.
@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "memory export"])
def test_nothing_that_a_terminal_obeys(command: str, address: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = main([*COMMANDS[command], "--address", address])
    told = "".join(capsys.readouterr())
    assert (code, bool(told.strip())) == (CODES.get(command, 0), True)
    assert {char for char in told if not char.isprintable() and char != "\n"} == set()


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in WITHOUT_JSON])
def test_json_neither(command: str, address: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([*COMMANDS[command], "--json", "--address", address])
    told = capsys.readouterr().out
    assert {char for char in told if not char.isprintable() and char != "\n"} == set()
    for text in told.splitlines() if command == "watch" else [told]:
        json.loads(text)


def test_each_turn_is_a_line_that_ends(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["turns", "list", "-n", "200", "--address", address]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 200
    assert all(line.startswith("2023-11-") for line in lines)


def test_why_answers_for_each(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["turns", "why", "--at", "10:42", "--address", address]) == 0
    told = capsys.readouterr().out
    assert {char for char in told if not char.isprintable() and char != "\n"} == set()
    lines = told.splitlines()
    assert sum(line.startswith("2023-11-") for line in lines) == 200
    assert all(line.startswith(("2023-11-", "  ")) for line in lines)
    assert max(map(len, lines)) < 40_000
