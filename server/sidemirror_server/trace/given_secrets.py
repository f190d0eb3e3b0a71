"""Redacts in a call's result and error what was redacted in its arguments: a password is recognised there by its name,
and `not found: hunter2` names none.

`rpc/` and `telemetry_in/` let the texts of calls enter here (decision 036). What was redacted is kept in memory only,
since it is the secret itself.
"""

import json
import sys
import threading
from collections.abc import Iterable, Iterator
from itertools import accumulate

import msgspec

from sidemirror_server.vocabulary.redaction import SHORTEST_GIVEN_CHARS
from sidemirror_server.vocabulary.secret_patterns import NO_SECRET
from sidemirror_server.vocabulary.text import MARKER, enter, enter_json, enter_json_clipped

# What is kept of a call, and of how many calls: the newest ones. Chosen here: the longest value of the patterns but key
# blocks, which are recognised themselves; more secrets than one call needs, and so few that looking for them in the
# longest result takes milliseconds; more calls than an agent has open.
_LONGEST_CHARS, _MOST_SECRETS, _MOST_CALLS = 4_096, 32, 100
# All forms of a turn, and of one call. Chosen here: a thousand short ones, or one to a dozen of the longest; of 10,000
# turns less than a GiB.
_MOST_BYTES = 64 * 1024

# Of a value that was escaped: how often it is unescaped, itself included.
_MOST_LEVELS = 3
# What Go, and what PHP, escapes in JSON beside the usual.
_IN_GO, _IN_PHP = ({ord(one): f"\\u{ord(one):04x}" for one in "&<>"}, {ord("/"): "\\/"})

# The forms in which a call's result may repeat its secrets.
GivenForms = tuple[str, ...]


class GivenSecrets:
    """What was redacted in the arguments of a turn's calls, by call id."""

    def __init__(self) -> None:
        # Newest first; made anew with each call, because long events are read on threads.
        self._of_calls: dict[str, GivenForms] = {}
        self._of_all: GivenForms = ()
        self._adding = threading.Lock()

    def call(self, call_id: str, arguments: str) -> str:
        """The call's arguments as they may be stored."""
        entered, given = enter_arguments(arguments)
        if given:
            with self._adding:
                self._add(call_id, given)
        return entered

    def end(self, call_id: str, text: str) -> str:
        """The call's result or error as it may be stored. An empty `call_id` may mean any of the calls. They are kept:
        what is reported twice is redacted twice."""
        return enter(text, self._of_calls.get(call_id, ()) if call_id else self._of_all)

    def _add(self, call_id: str, given: GivenForms) -> None:
        others = (one for one in self._of_calls.items() if one[0] != call_id)
        calls = [(call_id, given), *others][:_MOST_CALLS]
        self._of_calls = dict(calls[: _fitting(sum(map(sys.getsizeof, forms)) for _, forms in calls)])
        self._of_all = tuple(dict.fromkeys(form for forms in self._of_calls.values() for form in forms))


def enter_arguments(arguments: str, limit: int | None = None) -> tuple[str, GivenForms]:
    """A call's arguments as they may be stored, at most `limit` characters of them, and what its result may repeat.

    A value of fewer than 6 characters is not looked for, as it is part of other words; nor is one that the arguments
    tell elsewhere, such as a user's name that is the password too.
    """
    taken: list[str] = []
    entered = enter_json(arguments, taken) if limit is None else enter_json_clipped(arguments, limit, taken)
    if not taken:
        return entered, ()
    # The short ones first: a long one must not push a password out.
    forms = tuple(sorted(dict.fromkeys(_forms(taken, entered)), key=len))
    return entered, forms[: _fitting(map(sys.getsizeof, forms))]


def _fitting(sizes_bytes: Iterable[int]) -> int:
    """How many fit, the first ones."""
    return sum(size <= _MOST_BYTES for size in accumulate(sizes_bytes))


def _forms(taken: list[str], entered: str) -> Iterator[str]:
    for secret in tuple(dict.fromkeys(taken))[:_MOST_SECRETS]:
        plain = _unescaped(secret)
        fits = len(plain[-1]) >= SHORTEST_GIVEN_CHARS and len(secret) <= _LONGEST_CHARS
        is_word = NO_SECRET.fullmatch(plain[-1])
        if fits and not is_word and MARKER not in secret and not any(one in entered for one in plain):
            for one in plain:
                in_ascii, in_json = json.dumps(one)[1:-1], json.dumps(one, ensure_ascii=False)[1:-1]
                yield from (one, in_ascii, in_json, in_json.translate(_IN_GO), in_ascii.translate(_IN_PHP))


def _unescaped(secret: str) -> list[str]:
    """A value as it stood in a text, and as it may be in itself: it was escaped if that was JSON, twice if it was JSON
    in JSON."""
    found = [secret]
    while "\\" in found[-1] and len(found) < _MOST_LEVELS:
        try:
            found.append(msgspec.json.decode(f'"{found[-1]}"', type=str))
        except msgspec.DecodeError:
            break
    return found
