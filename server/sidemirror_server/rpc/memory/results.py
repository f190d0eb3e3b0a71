"""Converters for episodes and reflection results. Texts from the wire pass `enter` here, once."""

from collections.abc import Iterable
from typing import Any

import msgspec
from google.protobuf.struct_pb2 import Struct

from sidemirror.v1 import common_pb2
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.kin.signature import is_signature
from sidemirror_server.memory.lessons.episode import ORIGINS as STEP_ORIGINS
from sidemirror_server.memory.lessons.episode import EpisodeStep, EventType, TaskError
from sidemirror_server.memory.lessons.keeping import Ids
from sidemirror_server.memory.lessons.keys import named_episode
from sidemirror_server.memory.lessons.reflector import Result
from sidemirror_server.memory.lessons.scoring import DEFAULT_IMPORTANCE
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.memory.memories import CATEGORIES, CATEGORY_NAMES, applies_of, applies_to_wire, object_of
from sidemirror_server.rpc.wire.common import ORIGINS, OUTCOME_NAMES, struct, timestamp, usage_to_wire
from sidemirror_server.trace.sources import SourceKind, keys, parsed
from sidemirror_server.vocabulary.errors import BadInput
from sidemirror_server.vocabulary.origin import Origin, least
from sidemirror_server.vocabulary.text import clip, enter

_EVENT_TYPES = {pb.EventType.Value(f"EVENT_TYPE_{one.name}"): one for one in EventType}
_ORIGIN_NAMES = {number: origin for origin, number in ORIGINS.items()}
# In code points: as long as `tool_name` may be.
_TOOL_CHARS = 256
# The longest `steering`, which says in a few words what a text tries to make its reader do.
_TRIED_CHARS = 200
# Members of a result's metadata that become fields of the record.
_OWN_METADATA = ("outcome", "task_description", "event_count", "session_id", "episode", "steering", "repeats")
# The most turns and subjects that a result names: a session's last 8 turns, each with the subjects of its events.
_MOST_NAMED = 200


def step_of(event: pb.ReflectionEvent, event_id: str) -> EpisodeStep:
    """The record of an event; `event_id` is used if the client gave none."""
    event_type = _EVENT_TYPES.get(event.event_type, EventType.SYSTEM_EVENT)
    error = _json(event.error)
    metadata = _json(event.metadata)
    # A tool may have written the text of its error, and metadata may come from anywhere.
    heard = (Origin.TOOL,) if error or metadata else ()
    return EpisodeStep(
        event_id=event.event_id or event_id,
        event_type=event_type,
        content=enter(event.content),
        origin=least((STEP_ORIGINS[event_type], *heard)),
        tool_name=enter(event.tool_name) or _tool_in(metadata),
        error=error,
        metadata=metadata,
    )


def _tool_in(metadata: str) -> str:
    """The tool that an event's metadata names, as in seed reflection-engine-v2 (`metadata={"tool": …}`); empty if it
    names none."""
    said = msgspec.json.decode(metadata) if metadata else {}
    name = said.get("tool") or said.get("tool_name") if isinstance(said, dict) else ""
    return clip(name, _TOOL_CHARS) if isinstance(name, str) else ""


def error_of(error: pb.TaskError) -> TaskError:
    """The record of a task's error."""
    return TaskError(CATEGORY_NAMES[error.error_category], enter(error.error_message), _json(error.context))


def source_keys(session_id: str, turn_ids: Iterable[str], subject_ids: Iterable[str]) -> tuple[str, ...]:
    """The keys of what a result came from, each once."""
    named = (
        keys(SourceKind.SESSION, (session_id,)),
        keys(SourceKind.TURN, turn_ids),
        keys(SourceKind.SUBJECT, subject_ids),
    )
    return tuple(dict.fromkeys(one for of_kind in named for one in of_kind))


def result_of(
    wire: pb.ReflectionResult, session_id: str, subject_ids: tuple[str, ...], now_us: int
) -> tuple[Result, dict[str, Any]]:
    """A result that a client sends back, and the client's own metadata.

    The result's origin is the agent, or a tool if it cites events, whose texts it may repeat. The origin in the message
    can only lower this trust. Raises BadInput.
    """
    metadata = object_of(wire.metadata)
    said = {name: value for name in _OWN_METADATA if isinstance(value := metadata.pop(name, None), str | int | float)}
    turn_ids, named_ids = (_ids_in(metadata.pop(name, None)) for name in ("turn_ids", "subject_ids"))
    event_ids = tuple(enter(event_id) for event_id in wire.source_event_ids)
    session_id = session_id or str(said.get("session_id", ""))
    named = [_ORIGIN_NAMES[wire.origin]] if wire.origin else []
    outcome = str(said.get("outcome", ""))
    signature = enter(wire.error_signature)
    if signature and not is_signature(signature):
        raise BadInput([("result.error_signature", "tool|category|cause, as GenerateReflection has it")])
    return Result(
        reflection=enter(wire.reflection_text),
        strategy="" if wire.strategy_text.isspace() else enter(wire.strategy_text),
        importance=wire.importance if wire.HasField("importance") else DEFAULT_IMPORTANCE,
        confidence=wire.confidence if wire.HasField("confidence") else None,
        tags=tuple(dict.fromkeys(enter(tag) for tag in wire.tags if tag.strip())),
        error_category=CATEGORY_NAMES[wire.error_category],
        source_event_ids=event_ids,
        related_ids=tuple(enter(memory_id) for memory_id in wire.related_memory_ids),
        applies_when=applies_of(wire.applies_when),
        origin=least((Origin.AGENT, *named, *((Origin.TOOL,) if event_ids else ()))),
        outcome=outcome if outcome in OUTCOME_NAMES.values() else "",
        task=str(said.get("task_description", "")),
        event_count=int(said["event_count"]) if isinstance(said.get("event_count"), int | float) else 0,
        session_id=session_id,
        episode=named_episode(str(said.get("episode", "")), session_id, event_ids, wire.reflection_text),
        generated_us=now_us,
        error_signature=signature,
        steering=str(said.get("steering", ""))[:_TRIED_CHARS],
        repeats=said.get("repeats") is True,
        sources=source_keys(session_id, turn_ids, (*subject_ids, *named_ids)),
    ), metadata


def _ids_in(value: object) -> tuple[str, ...]:
    """The ids of a member of the metadata, as `result_to_wire` writes them; what is no id is left out."""
    named = value[:_MOST_NAMED] if isinstance(value, list) else []
    return tuple(one for one in named if isinstance(one, str) and 0 < len(one) <= 128 and one.isprintable())


def result_to_wire(result: Result) -> pb.ReflectionResult:
    """A new result, with status OK, or NOTHING if its episode taught nothing."""
    metadata: dict[str, object] = {
        "outcome": result.outcome,
        "task_description": result.task,
        "event_count": result.event_count,
        "session_id": result.session_id,
        "episode": result.episode,
        "steering": result.steering,
        "repeats": result.repeats or "",
        "turn_ids": _named(result, SourceKind.TURN),
        "subject_ids": _named(result, SourceKind.SUBJECT),
    }
    return pb.ReflectionResult(
        status=common_pb2.RESULT_STATUS_OK if result.reflection else common_pb2.RESULT_STATUS_NOTHING,
        reflection_text=result.reflection,
        strategy_text=result.strategy,
        importance=result.importance,
        confidence=result.confidence,
        tags=result.tags,
        error_category=CATEGORIES[result.error_category],
        source_event_ids=result.source_event_ids,
        related_memory_ids=result.related_ids,
        metadata=struct({name: value for name, value in metadata.items() if value not in ("", [])}),
        generated_at=timestamp(result.generated_us),
        applies_when=applies_to_wire(result.applies_when),
        origin=ORIGINS[result.origin],
        usage=usage_to_wire(result.usage),
        error_signature=result.error_signature,
    )


def _named(result: Result, kind: SourceKind) -> list[str]:
    """The ids of the sources of a kind."""
    return [record_id for found, record_id in map(parsed, result.sources) if found is kind]


def _json(message: Struct) -> str:
    return msgspec.json.encode(object_of(message)).decode() if message.fields else ""


def ids_of(call: Call) -> Ids:
    """The ids of the memories that a call stores."""
    reflection_id = call.make_id()
    return Ids(reflection_id, call.make_id(part="/strategy"), reflection_id if call.request_id else "")
