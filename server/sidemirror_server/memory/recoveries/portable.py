"""The format in which observations are exported and imported: a line of JSON for each. Pure.

A line: {"sidemirror": 1, "observation": {…}, "subjects": [key, …]}. The fields of an observation are those of
`observation.Observation`, but for whose it is and the id that follows from that. `subjects`: the keys of those whom its
turns and its session are about, so that an erasure finds it where it is imported.
"""

from typing import Any

import msgspec

from sidemirror_server.memory.kin.signature import is_signature
from sidemirror_server.memory.line import FORMAT, BadLine
from sidemirror_server.memory.recoveries.forms import written
from sidemirror_server.memory.recoveries.observation import Observation, observation_id
from sidemirror_server.memory.recoveries.starter import MYSQL, POSTGRES, SQLITE
from sidemirror_server.memory.recoveries.trail import MOST_CALLS_BETWEEN
from sidemirror_server.trace.sources import SourceKind, key
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.text import redact_json

# Chosen here: a line has some hundred bytes; this is room for two hundred subjects.
MOST_LINE_BYTES = 32 * 1024
_LONGEST_ID = 128
# The longest name of a tool (ToolCalled.name), and the longest path of an argument (`asked.py`: twelve names).
_LONGEST_LABEL = 256
_LONGEST_STEP = 800
# Chosen here: a change of more arguments at once is none that anybody is told.
_MOST_STEPS = 50
_DIALECTS = ("", SQLITE, MYSQL, POSTGRES)
_SUBJECT = key(SourceKind.SUBJECT, "")
# Chosen here: how far a clock elsewhere may be ahead. What is of the future would outlive all that is newer.
_AHEAD_US = 24 * 3_600 * 1_000_000
_MOST = 2**31 - 1


class Imported(msgspec.Struct, frozen=True):
    """An observation of a line, and the keys of its subjects."""

    observation: Observation
    subjects: tuple[str, ...]


class _Line(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    sidemirror: int
    observation: dict[str, Any]
    subjects: tuple[str, ...] = ()


class _Kind(msgspec.Struct, frozen=True):
    observation: msgspec.Raw = msgspec.Raw()


_encode = msgspec.json.Encoder().encode


def is_portable(one: Observation) -> bool:
    """Whether an import would take it: a call may change more arguments than a line may have."""
    return len(one.move.steps) <= _MOST_STEPS


def line_of(one: Observation, subjects: tuple[str, ...]) -> str:
    """The line of an observation."""
    body: dict[str, Any] = msgspec.to_builtins(one)
    del body["observation_id"], body["where"]["scope"]
    return _encode(_Line(FORMAT, body, subjects)).decode()


def is_of_observation(line: str) -> bool:
    """Whether a line is meant for an observation."""
    try:
        return msgspec.json.decode(line, type=_Kind).observation != msgspec.Raw()
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return False


def observation_of(line: str, scope: Scope, now_us: int) -> Imported:
    """The observation of a line, as one of this scope: redacted, and within the limits. Raises BadLine."""
    if len(line.encode()) > MOST_LINE_BYTES:
        raise BadLine("an observation is too long")
    try:
        read = msgspec.convert(redact_json(msgspec.json.decode(line)), _Line)
        where = read.observation.get("where")
        if not isinstance(where, dict):
            raise BadLine("an observation without its turn")
        own = {**where, "scope": msgspec.to_builtins(scope)}
        one = msgspec.convert({**read.observation, "where": own, "observation_id": ""}, Observation)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        place = str(error).partition(" - at `")[2].rstrip("`")
        raise BadLine(f"no record: {place}" if place else "no record of an export") from error
    if read.sidemirror != FORMAT:
        raise BadLine("another format")
    _check(one, now_us)
    if not all(subject.startswith(_SUBJECT) and _is_id(subject.removeprefix(_SUBJECT)) for subject in read.subjects):
        raise BadLine("a subject that is none")
    return Imported(
        msgspec.structs.replace(one, observation_id=observation_id(one.where, one.failure_id)), read.subjects
    )


def _check(one: Observation, now_us: int) -> None:
    """Raises BadLine if something is beyond its limit."""
    where = one.where
    needed = (where.turn_id, where.session_id, where.identity, one.failure_id)
    others = (where.conversation or "", one.last_turn_id, one.attempt_id, one.advised, one.shadow)
    if not all(map(_is_id, (*needed, *filter(None, others)))):
        raise BadLine("an id that is none")
    if not is_signature(one.signature):
        raise BadLine("an error signature that is none")
    labels, steps = (one.label, *one.then), one.move.steps
    if len(one.then) > MOST_CALLS_BETWEEN or not all(_is_text(label, _LONGEST_LABEL) for label in labels):
        raise BadLine("a label that is none, or too many")
    if not is_portable(one) or not all(_is_text(step, _LONGEST_STEP) for step in steps):
        raise BadLine("a step that is none, or too many")
    if one.move.form and not written(one.move.form):
        raise BadLine("a form that is none")
    if one.dialect not in _DIALECTS:
        raise BadLine("a dialect that is none")
    if not all(0 <= at_us <= now_us + _AHEAD_US for at_us in (one.at_us, where.recorded_us)):
        raise BadLine("a time that is none, or to come")
    if not all(0 <= number <= _MOST for number in (one.pause_ms, one.shadow_tokens)):
        raise BadLine("a number is out of range")


def _is_id(text: str) -> bool:
    return bool(text) and _is_text(text, _LONGEST_ID)


def _is_text(text: str, longest: int) -> bool:
    return len(text) <= longest and text.isprintable()
