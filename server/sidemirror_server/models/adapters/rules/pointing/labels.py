"""Finds items that are given the wrong value of a field by which items of one kind differ."""

import re
from collections.abc import Iterator, Sequence

from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_denied, is_unreal
from sidemirror_server.models.adapters.rules.pointing.record import Item
from sidemirror_server.models.adapters.rules.pointing.texts import (
    word_set,
)

_MOST_LABELS = 8
_FIX = "Take it from this row of the record."
_LABEL_KEYS = word_set(
    "status state response result outcome stage phase decision conclusion health priority severity type "
    "role plan tier level category answer vote "
    "approval availability condition review verdict rsvp"
)


def labels(reading: Reading) -> Iterator[Point]:
    """Finds such a value beside an item's name: `accepted` for one that the record has as something else."""
    for key, group in _alike(reading.record.items):
        by_label: dict[str, list[Item]] = {}
        for item in group:
            by_label.setdefault(str(item.value(key)).casefold().replace("_", " "), []).append(item)
        if not 2 <= len(by_label) <= _MOST_LABELS or not all(len(label) > 2 for label in by_label):
            continue
        for sentence in reading.sentences:
            if is_unreal(sentence.text) or is_denied(sentence.text):
                continue
            folded = sentence.text.casefold()
            said = [label for label in by_label if re.search(rf"\b{re.escape(label)}\b", folded)]
            if len(said) != 1:
                continue
            for item in group:
                name = _name_in(item, group, sentence.text, key)
                own = str(item.value(key)).casefold().replace("_", " ")
                if name and own != said[0] and own not in folded:
                    quote = sentence.plain
                    yield Point("wrong_fact", quote, item.quote(key), "The record has another state for it.", _FIX)


def _alike(items: Sequence[Item]) -> Iterator[tuple[str, list[Item]]]:
    """The keys of short texts that several items of one place share, each with these items."""
    groups: dict[tuple[int, tuple[str, ...], str], list[Item]] = {}
    for item in items:
        for field in item.fields:
            if isinstance(field.value, str) and len(field.value) <= 24 and field.key.casefold() in _LABEL_KEYS:
                groups.setdefault((item.call.place, item.place, field.key), []).append(item)
    for (_, _, key), group in groups.items():
        if 2 <= len(group) <= 60:
            yield key, group


def _name_in(item: Item, group: Sequence[Item], text: str, key: str) -> str:
    """The name by which the text names this item and no other of the group; empty if it does not."""
    others = {word for other in group if other is not item for word in parts_of(other, key)}
    for part in parts_of(item, key):
        if part not in others and re.search(rf"\b{re.escape(part)}\b", text):
            return part
    return ""


def parts_of(item: Item, key: str = "") -> set[str]:
    """What an item can be called by: its short texts, and capitalised words and identifiers in them."""
    parts: set[str] = set()
    for field in item.fields:
        if isinstance(field.value, str) and field.key != key and len(field.value) <= 60:
            parts |= set(re.findall(r"[A-Z][\w'’-]{2,}|[\w-]*\d[\w-]{2,}", field.value))
            if field.key.casefold() in {"name", "id", "title", "key", "host", "service", "email"}:
                parts.add(field.value)
    if item.path and not item.listed:
        parts.add(item.path[-1])
    if not item.path and not item.listed:
        parts |= {word for text in item.call.asked for word in re.findall(r"[A-Z][\w'’-]{2,}", text)}
    return parts
