"""What an erasure removes, as rules that the stores share: for each kind of record, the statements of
`storage/*/erasures.sql` that find what was derived from it, and those that remove its rows. Pure.

Statements take the record's id as `id` and its key as `key`. Those that find return keys.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from sidemirror_server.trace.erasure import RETURNING, is_erased
from sidemirror_server.trace.sources import SourceKind, parsed

# What stands in the place of an erased text.
ERASED_TEXT = "[erased]"


class Rule(msgspec.Struct, frozen=True):
    """`follow`: statements that find records to remove next. `remove`: the name under which removed rows are counted
    (empty: not counted), and the statement."""

    follow: tuple[str, ...] = ("derived",)
    remove: tuple[tuple[str, str], ...] = ()


_UNNAMED = ("", "forget_sources")
# The adapters themselves rewrite what is SHOWN and CARRIED, remove or rewrite a MEMORY, and find what a GOAL_REPORT has
# PUBLISHED.
RULES = {
    SourceKind.SUBJECT: Rule(remove=(_UNNAMED,)),
    SourceKind.SESSION: Rule(
        ("turns_of_session", "critiques_of_session", "receipts_of_session", "derived"),
        (("sessions", "forget_session"), _UNNAMED),
    ),
    SourceKind.TURN: Rule(
        ("later_turns", "critiques_of_turn", "receipts_of_turn", "derived"),
        (
            ("sessions", "forget_emptied_session"),
            ("entries", "forget_entries"),
            ("observations", "forget_observations"),
            ("observations", "forget_later_observations"),
            ("turns", "forget_turn"),
            ("", "forget_learning"),
            _UNNAMED,
        ),
    ),
    SourceKind.CRITIQUE: Rule(remove=(("critiques", "forget_critique"), _UNNAMED)),
    SourceKind.RECEIPT: Rule(
        ("derived",),
        (
            ("trials", "forget_trials_of_receipt"),
            ("outcomes", "forget_outcome"),
            ("", "forget_receipt_items"),
            ("receipts", "forget_receipt"),
            _UNNAMED,
        ),
    ),
    SourceKind.MEMORY: Rule(
        ("derived",),
        (("trials", "forget_trials"), ("dreams", "forget_dream_jobs"), _UNNAMED),
    ),
    SourceKind.OBSERVATION: Rule((), (("observations", "forget_observation"), _UNNAMED)),
    SourceKind.GOAL_REPORT: Rule(remove=(("goal_reports", "forget_report"), _UNNAMED)),
    SourceKind.PUBLISHED: Rule(()),
    SourceKind.GOAL_REFLECTION: Rule(remove=(_UNNAMED,)),
    SourceKind.REQUEST: Rule((), (("answers", "forget_answer"),)),
}

# What tells whether something is stored of what a caller names.
KNOWN_BY = {
    SourceKind.SUBJECT: ("derived",),
    SourceKind.SESSION: ("is_session", *RULES[SourceKind.SESSION].follow),
    SourceKind.TURN: ("head", *RULES[SourceKind.TURN].follow),
}


def surviving(
    stored: Mapping[str, int], noted: Iterable[tuple[str, str]], erased: Mapping[str, int]
) -> tuple[str, ...]:
    """The keys to erase in a store that came from a backup, each once (clause ER12). `stored`: its records, with the
    time since which it has each; `noted`: pairs of a source and a record; `erased`: the times of tombstones."""
    found = [name for name, at_us in stored.items() if is_erased(erased.get(name), name, at_us)]
    for source, record in noted:
        if parsed(source)[0] not in RETURNING:
            # The source itself: what is noted of it goes with what came of it.
            found += [source] if source in erased else []
        elif record in stored and is_erased(erased.get(source), source, stored[record]):
            found.append(record)
    return tuple(dict.fromkeys(found))


def without_lessons(body: bytes, gone: Collection[str]) -> bytes | None:
    """An entry's or a head's JSON without these lessons in its blocks; None if no block names one of them.

    A block's text is made of all its lessons, so it goes as a whole; the other items keep theirs.
    """
    read = msgspec.json.decode(body)
    return msgspec.json.encode(read) if _strip(read, frozenset(gone)) else None


def _strip(value: Any, gone: frozenset[str]) -> bool:
    if isinstance(value, list):
        return sum(_strip(one, gone) for one in value) > 0
    if not isinstance(value, dict):
        return False
    changed = sum(_strip(one, gone) for one in value.values()) > 0
    items = value.get("items")
    if isinstance(items, list) and any(isinstance(one, dict) and one.get("id") in gone for one in items):
        value["items"] = [one for one in items if one.get("id") not in gone]
        value["text"] = ERASED_TEXT
        changed = True
    left = value.get("omitted")
    if isinstance(left, list) and any(isinstance(one, dict) and one.get("id") in gone for one in left):
        value["omitted"] = [one for one in left if one.get("id") not in gone]
        changed = True
    return changed


def begins_with_state(body: bytes) -> bool:
    """Whether an earlier turn of the session gave its state to a turn by this entry: its plan, or a session's name."""
    what = msgspec.json.decode(body).get("what", {})
    return what.get("type") in ("turn_plan", "session_named") and bool(what.get("carried"))


def without_carried(body: bytes) -> bytes | None:
    """An entry's JSON without the state that its turn began with, and without what a reflection said; None if it has
    neither. Of a head's JSON, without what it carries on."""
    read = msgspec.json.decode(body)
    what = read.get("what", read)
    changed = what.pop("carried", None) is not None
    if what.get("type") == "reflection":
        changed = "reflection" in what or changed
        what |= {name: ERASED_TEXT for name in ("reflection",) if name in what}
        changed = what.pop("suggested_action", None) is not None or changed
    return msgspec.json.encode(read) if changed else None
