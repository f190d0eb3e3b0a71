"""Long texts of which little is kept: in bounded time, and no part of a secret stays at the cuts."""

import json
import random
import string
import time

import pytest

from sidemirror_server.vocabulary.text import clip, enter, enter_clipped, enter_json, enter_json_clipped
from tests.vocabulary.test_text import SECRETS

LIMIT = 32_000
# The ends that are searched, and what of them is left out afterwards.
SEARCHED, MARGIN = 64_000, 16_000
LENGTH = 400_000
PLACES = {
    "where the head is cut": SEARCHED - MARGIN,
    "where it is searched no more": SEARCHED,
    "where the tail is searched": LENGTH - SEARCHED,
    "where it is cut": LENGTH - SEARCHED + MARGIN,
}
# It becomes so short that all of both ends is kept.
SHRINKING = f"{'ghp_' + 'a1B2' * 250} and\n"


def around(text: str, inside: int, place: int) -> str:
    """A long text with this one `inside` characters before a place."""
    before = (SHRINKING * (place // len(SHRINKING) + 1))[-(place - inside - 1) :] + " "
    return (before + text + "\n" + SHRINKING * (LENGTH // len(SHRINKING) + 1))[:LENGTH]


def drawn(count: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    return "".join(random.Random(count).choices(alphabet, k=count))


def pieces(secret: str) -> list[str]:
    """What would tell a part of it."""
    return [secret[at : at + 12] for at in range(0, max(1, len(secret) - 12), 12)]


@pytest.mark.parametrize("place", PLACES)
def test_no_secret_stays_at_a_cut(place: str) -> None:
    """Seen to fail when the ends are searched without a margin."""
    for text, gone in SECRETS:
        kept = enter_clipped(around(text, text.index(gone) + len(gone) // 2, PLACES[place]), LIMIT)
        assert len(kept) <= LIMIT
        assert not [piece for piece in pieces(gone) if piece in kept], text


def key_block(name: str, head: str, body: str) -> str:
    return f"-----BEGIN {name}-----\n{head}\n\n{body}\n-----END {name}-----"


LONG = {
    "a token": f"glsa_{drawn(30_000)}",
    "an address": f"https://hooks.slack.com/services/T0/{drawn(30_000)}",
    "a key block": key_block("PGP PRIVATE KEY BLOCK", "Version: 1", drawn(70_000)),
    "a key block of lines": key_block("PRIVATE KEY", "Proc-Type: 4", "\n".join([drawn(64)] * 2_000)),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", LONG)
def test_no_part_of_a_secret_longer_than_the_margin_stays(name: str, place: str) -> None:
    """Seen to fail when a tail begins within a token, and when key blocks are not looked for."""
    secret = LONG[name]
    for inside in (60, len(secret) // 2, len(secret) - 40):
        if inside < PLACES[place] - 1:
            kept = enter_clipped(around(secret, inside, PLACES[place]), LIMIT)
            assert not [piece for piece in pieces(secret[80:-80]) if piece in kept]


def test_a_text_that_is_not_long_is_entered_and_clipped() -> None:
    for text in ("", "short", SECRETS[0][0], "a line of text\n" * 6_000, "é\0 and more " * 10_000):
        assert enter_clipped(text, LIMIT) == clip(enter(text), LIMIT)
        assert enter_json_clipped(text, LIMIT) == clip(enter_json(text), LIMIT)


def test_a_long_text_keeps_both_ends_and_counts_the_rest() -> None:
    text = "".join(f"line {number}\n" for number in range(200_000))
    kept = enter_clipped(text, LIMIT)
    head, _, tail = kept.partition(" […")
    count, _, tail = tail.partition(" characters left out…] ")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + int(count) + len(tail) == len(text)
    assert LIMIT - 10 <= len(kept) <= LIMIT
    assert 2.9 < len(head) / len(tail) < 3.1


def test_members_of_a_long_json_text_are_redacted() -> None:
    """Names that only JSON makes a secret's. Seen to fail when the text is cut before it is decoded."""
    rows = [{"row": number, "text": "of a long answer"} for number in range(20_000)]
    text = json.dumps({"cvv": 123, "user": {"ssn": "078-05-1120"}, "rows": rows, "credentials": "a b c"})
    kept = enter_json_clipped(text, LIMIT)
    assert "078-05" not in kept
    assert "a b c" not in kept
    assert kept.startswith('{"cvv":"[redacted:value]"')
    assert kept.endswith('"credentials":"[redacted:value]"}')


@pytest.mark.parametrize(
    "unit", ["a1b2c3d4\nglpat-AKIAAKIAeyJeyJeyJ", "password=hunter22 ", "-----BEGIN ", "sk-ant-", "a"]
)
def test_the_time_does_not_grow_with_the_text(unit: str) -> None:
    """Seen to fail when all of a text is entered: 16 times as long."""

    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        begun = time.process_time()
        enter_clipped(text, LIMIT)
        return time.process_time() - begun

    small = max(min(seconds(256 * 1024) for _ in range(2)), 0.02)
    assert min(seconds(4 * 1024 * 1024) for _ in range(2)) < 4 * small
