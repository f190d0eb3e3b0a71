"""Finds things that the request names and the answer passes over: one of a list, or a file that no call touched."""

import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading

_FILE = re.compile(
    r"(?<![\w/@.-])[\w/-]{2,80}\.(?:md|txt|py|js|ts|json|ya?ml|toml|csv|xlsx?|pdf|docx?|sql|html?|log|cfg|ini|sh|rs|"
    r"go|java)\b"
)
_LEAST_NAMED, _LEAST_CHARS = 3, 3
_FIX = "Answer this part too, or say why not."


def left_out(reading: Reading) -> Iterator[Point]:
    """Finds the one thing of several of a kind in the request that the answer leaves out while it names the others; and
    a file of the request that stands in no call's arguments, and nowhere in the answer."""
    yield from _items(reading)
    yield from _files(reading)


def _items(reading: Reading) -> Iterator[Point]:
    """Of what one tool was called with: each was looked up, since the request names it."""
    request = reading.record.request.casefold()
    asked: dict[str, dict[str, None]] = {}
    for call in reading.record.worked:
        asked.setdefault(call.name, {}).update(dict.fromkeys(call.asked))
    for names in asked.values():
        named = [name for name in names if len(name) >= _LEAST_CHARS and name.casefold() in request]
        missing = [name for name in named if name.casefold() not in reading.folded]
        if len(named) >= _LEAST_NAMED and len(missing) == 1:
            reason = "The request names it beside others, and the answer tells those alone."
            begin = request.find(missing[0].casefold())
            quote = reading.record.request[begin : begin + len(missing[0])]
            yield Point("missing_critical_information", "", quote, reason, _FIX)


def _files(reading: Reading) -> Iterator[Point]:
    if not reading.record.calls:
        return
    given = "\n".join(call.arguments for call in reading.record.calls).casefold()
    for match in _FILE.finditer(reading.record.request):
        name = match[0].rpartition("/")[2].casefold()
        if name not in given and name.rpartition(".")[0] not in reading.folded:
            reason = "The request names this file; no call has it, and the answer does not either."
            yield Point("missing_critical_information", "", match[0], reason, _FIX)
