"""Recorded episodes (`../shared/data/episodes`) told to a sidecar as an agent would tell them."""

from typing import Any

from sidemirror.v1 import common_pb2
from sidemirror.v1 import reflective_memory_pb2 as pb
from tests.recorded import episodes

_TYPES = {
    "user_message": pb.EVENT_TYPE_USER_MESSAGE,
    "llm_response": pb.EVENT_TYPE_LLM_RESPONSE,
    "final_response": pb.EVENT_TYPE_LLM_RESPONSE,
    "tool_call": pb.EVENT_TYPE_TOOL_CALL,
    "tool_result": pb.EVENT_TYPE_TOOL_RESPONSE,
    "tool_error": pb.EVENT_TYPE_ERROR_EVENT,
}
_OUTCOMES = {
    "success": common_pb2.TASK_OUTCOME_SUCCESS,
    "failure": common_pb2.TASK_OUTCOME_FAILURE,
    "timeout": common_pb2.TASK_OUTCOME_TIMEOUT,
    "error": common_pb2.TASK_OUTCOME_ERROR,
}
_MOST_EVENTS = 200


def requests(name: str, most: int, **fields: Any) -> list[pb.GenerateReflectionRequest]:
    """What an agent asks after each of the first episodes of a file: to reflect, and to keep what that comes to. What
    the recordings hold for judges is not told."""
    return [_request(episode, fields) for episode in list(episodes(name).values())[:most]]


def _request(episode: dict[str, Any], fields: dict[str, Any]) -> pb.GenerateReflectionRequest:
    events = [
        pb.ReflectionEvent(
            event_id=f"{event['i']}",
            event_type=_TYPES.get(event["type"], pb.EVENT_TYPE_SYSTEM_EVENT),
            content=event["content"],
            tool_name=event.get("name") or "",
        )
        for event in episode["events"][:_MOST_EVENTS]
    ]
    return pb.GenerateReflectionRequest(
        events=events,
        session_id=episode["episode_id"][:128],
        outcome=_OUTCOMES.get(episode["outcome"], common_pb2.TASK_OUTCOME_PARTIAL),
        task_description=(episode["task"] or {}).get("description") or "",
        store=True,
        **fields,
    )
