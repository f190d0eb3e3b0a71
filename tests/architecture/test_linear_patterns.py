"""No text makes a regular expression of ours take more than linear time: agents and tools choose the texts.

Seen to fail on the mask of paths of `trace/failure.py` when it began within a run of letters: a line of 16,000 took
three seconds and more, and half of it a quarter.
"""

import importlib
import re
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from sidemirror_server.memory.recoveries.asked import Asked
from sidemirror_server.memory.recoveries.changed import change
from sidemirror_server.memory.recoveries.observation import CameFrom
from sidemirror_server.models.adapters.rules import pointing
from sidemirror_server.vocabulary.redaction import secret_spans

ROOMS = "sidemirror_server"
RULES = ("advice", "arithmetic", "comparison", "critique", "findings", "response", "support")
POINTING = sorted(path.stem for path in Path(pointing.__path__[0]).glob("[a-z]*.py"))
MODULES = [
    *(f"models.adapters.rules.{name}" for name in RULES),
    *(f"models.adapters.rules.pointing.{name}" for name in POINTING),
    "trace.failure",
    "memory.kin.signature",
    "memory.kin.given",
    "memory.kin.signature_details",
    "memory.kin.links",
    *(f"memory.recoveries.{name}" for name in ("changed", "dates", "forms", "signed")),
]
PIECES = (
    *(
        " ",
        "\n",
        " \n",
        "\t",
        "0",
        "1,",
        "1.",
        "9 ",
        "-1",
        "a",
        "A",
        "Ab ",
        "aB_",
        "a.",
        "/",
        "\\",
        "'",
        '"',
        "` ",
        "(",
        "{",
    ),
    *(
        "<",
        "= ",
        "1+",
        "1 - 1",
        "-",
        "~.",
        "_",
        "“a",
        "a,",
        "’",
        "A'",
        "#",
        "0a-",
        "a-0",
        "sk-",
        "sk-a",
        "?",
        "a? ",
        ">",
    ),
    *(
        "is been now also ",
        "has been now ",
        "error ",
        "Error\n",
        " answer: ",
        "the final answer",
        "https://",
        "a:",
        "``",
    ),
    *(
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----",
        "password: ",
        "password is ",
        "secret for a b ",
        "token for x ",
        "key",
    ),
    *(
        "api_key for a ",
        "bearer ",
        "://",
        "://a:",
        "authorization: ",
        "cookie: a",
        "eyJ",
        "eyJa.",
        "AKIA",
        "4111",
        "ghp_a",
    ),
    # Long runs of letters and digits, what stands before them, and tokens that lines cut.
    *(
        "ghp_0a" + "a" * 20 + " ",
        "ghp_0a" + "a" * 20 + "\n",
        "0a" * 9 + "\n",
        "a0" * 9 + '"\n',
        "0a" * 9 + "\\n",
        "a-" * 9 + " ",
        "glc_0a+" + "a" * 16 + "/",
        "a" * 16 + "/",
        "a" * 16 + "+",
        "SG." + "a" * 16 + ".",
        "dp.pt.a" * 3 + " ",
        "sig=" + "a0" * 8,
        "hooks.slack.com/" + "a0" * 8 + "/",
        "M" + "a" * 23 + ".aaaaaa.",
        "00000000:AA" + "a" * 8,
        "0Q~" + "a" * 16 + "~",
        "access_token$production$",
        "curl -u a:",
        "curl -u a:b ",
        "mysql -pa",
        " -u -u -p -a ",
        "--password ",
        "login a password ",
        "pwd=",
        "DB_PASS=",
        "db_pass ",
        "password\\n",
        "password, value",
        "create user identified by '",
        "set password for a password '",
        "grant ",
        "ENV DB_PASS ",
        "auth=Aa0",
    ),
)
SIZE = 8_000
# Below this nothing is told: a linear pass takes a fraction of it, what takes time with the square ten times as much.
SLOW_S = 0.03
# Twice the text may take twice the time; four times it takes with the square.
MOST_GROWTH = 3.2


def patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Every compiled pattern of the modules, those in tuples too."""
    for name in MODULES:
        for variable, value in vars(importlib.import_module(f"{ROOMS}.{name}")).items():
            parts = value if isinstance(value, tuple) else (value,)
            for place, part in enumerate(parts):
                pattern = part[0] if isinstance(part, tuple) and part else part
                if isinstance(pattern, re.Pattern):
                    yield f"{name}.{variable}[{place}]", pattern


PATTERNS = dict(patterns())


def growth(read: Callable[[str], object], piece: str) -> str:
    """What is wrong with the time that `read` takes for a text of this piece; empty when nothing is."""

    def took_s(size: int) -> float:
        text = (piece * size)[: size - 1] + "!"
        begun_s = time.thread_time()
        read(text)
        return time.thread_time() - begun_s

    if took_s(SIZE) < SLOW_S:
        return ""
    half_s = whole_s = 0.0
    # A machine that does something else can make one of them slow, and not all of three; nor three times.
    for _ in range(3):
        half_s, whole_s = (min(took_s(size) for _ in range(3)) for size in (SIZE // 2, SIZE))
        if whole_s < SLOW_S or whole_s < MOST_GROWTH * half_s:
            return ""
    return f"{piece!r}: {half_s:.3f} s, and {whole_s:.3f} s for twice the text"


def grows(read: Callable[[str], object]) -> list[str]:
    return [told for piece in PIECES if (told := growth(read, piece))]


def test_the_patterns_are_found() -> None:
    assert len(PATTERNS) > 20


@pytest.mark.slow("each pattern is timed on long texts")
@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_is_linear(name: str) -> None:
    assert grows(PATTERNS[name].findall) == []


def test_redaction_is_linear() -> None:
    """As a whole: its patterns are matched where a trigger stands, and never searched for."""
    assert grows(secret_spans) == []


def test_what_changed_is_found_in_linear_time() -> None:
    """Seen to fail with a long value that another held in part, and with lists of many values."""

    def of(values: Iterable[object]) -> Asked:
        return Asked("book", True, "book", "book", values=tuple(("of[]", str(value)) for value in values))

    def long(text: str) -> None:
        change(of([f'"{text}1"']), of([f'"{text}2{text}"']), lambda *_: CameFrom.NOWHERE)

    def many(text: str) -> None:
        change(of(range(len(text))), of(range(-len(text), 0)), lambda *_: CameFrom.NOWHERE)

    assert growth(long, "a0") == ""
    assert growth(many, "a") == ""


def test_what_is_not_linear_is_found() -> None:
    assert any(growth(re.compile(r"(?:\w*/)+").findall, "a") for _ in range(10))
