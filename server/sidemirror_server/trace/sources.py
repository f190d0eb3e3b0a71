"""Sources: which record came from which, so that erasing a source finds everything that was derived from it.

A source or a record is named by its key, `kind:id`. A stored key never changes its form. What is learned of a turn or a
session names their subjects too, since these may be removed first; triggers do so for critiques. Called wherever a
derived record is stored.
"""

import enum
from collections.abc import Iterable


class SourceKind(enum.StrEnum):
    """What a key names. The values are stored and never change.

    SHOWN: a receipt, as the record of a lesson that its block showed. CARRIED: a later turn of the session, which began
    with the state of an earlier one. PUBLISHED: a goal's reflection where it is read, by its id and its goal's id.
    REQUEST: a stored answer, by method and request id. OBSERVATION: an imported one; the others go with their turns.
    """

    SUBJECT = "subject"
    SESSION = "session"
    TURN = "turn"
    CRITIQUE = "critique"
    RECEIPT = "receipt"
    SHOWN = "shown"
    CARRIED = "carried"
    MEMORY = "memory"
    GOAL_REPORT = "goal_report"
    GOAL_REFLECTION = "goal_reflection"
    PUBLISHED = "published"
    REQUEST = "request"
    OBSERVATION = "observation"


def key(kind: SourceKind, record_id: str) -> str:
    """The key of a source or a record."""
    return f"{kind.value}:{record_id}"


def parsed(name: str) -> tuple[SourceKind, str]:
    """The kind and the id of a key."""
    kind, _, record_id = name.partition(":")
    return SourceKind(kind), record_id


def keys(kind: SourceKind, ids: Iterable[str]) -> tuple[str, ...]:
    """The keys of several records of a kind, without empty ids."""
    return tuple(key(kind, each) for each in ids if each)


def published_key(reflection_id: str, goal_id: str) -> str:
    """The key of a goal's reflection as it is published, by its id and its goal's."""
    return key(SourceKind.PUBLISHED, f"{reflection_id}/{goal_id}")


def request_key(method: str, request_id: str) -> str:
    """The key of a stored answer."""
    return key(SourceKind.REQUEST, f"{method}/{request_id}")
