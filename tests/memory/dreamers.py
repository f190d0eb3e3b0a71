"""Models that dream, and what they dream of: memories with signatures, stored over the wire."""

from typing import Any

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.models.answers import AppliesWhenAnswer, DreamAnswer
from sidemirror_server.models.language_model import Ask
from tests.wire.calls import TIMEOUT_S

# Failures that recur, in several wordings: what each cluster is about, and the words of its episodes.
CAUSES = {
    "find_order": ("The order was looked up without the sign in front of its number.", "not_found"),
    "run_sql": ("The query timed out because the join column has no index.", "timeout"),
    "send_mail": ("The address was refused because it had a blank at its end.", "validation"),
}


def lesson(number: int, tool: str = "find_order", **more: Any) -> dict[str, Any]:
    """A reflection to store: of an episode of its own, with a failure that others have too."""
    cause, category = CAUSES[tool]
    return {
        "reflection_text": f"{cause} It was case {number} of {tool}, number {number * 7919} in all.",
        "importance": 0.7,
        "tags": [tool],
        "error_category": pb.ErrorCategory.Value(f"ERROR_CATEGORY_{category.upper()}_ERROR"),
        "source_event_ids": [f"e{number}"],
        "applies_when": pb.AppliesWhen(tools=[tool]),
        **more,
    }


def store(stub: Any, number: int, tool: str = "find_order", scope: dict[str, str] | None = None, **more: Any) -> str:
    """Keeps such a lesson; returns its id."""
    result = pb.ReflectionResult(**lesson(number, tool, **more))
    request = pb.StoreReflectionRequest(result=result, session_id=f"session-{tool}-{number}", **(scope or {}))
    return str(stub.StoreReflection(request, timeout=TIMEOUT_S).reflection_id)


def dream_of(stub: Any, **scope: str) -> list[pb.DreamResponse]:
    """One pass: everything that it tells."""
    return list(stub.Dream(pb.DreamRequest(**scope), timeout=60))


def log_of(stub: Any, **scope: Any) -> list[pb.DreamLogEntry]:
    return list(stub.ListDreams(pb.ListDreamsRequest(**scope), timeout=TIMEOUT_S).dreams)


def understands(ask: Ask[Any]) -> DreamAnswer:
    """A model that finds in each cluster what its memories have in common: the tool."""
    steps = ask.evidence.steps
    tool = steps[0].name or "nothing"
    return DreamAnswer(
        lesson=f"Calls of {tool} fail again and again for one reason.",
        strategy=f"Before calling {tool}, look at what its last failure said.",
        importance=0.8,
        confidence=0.7,
        tags=("again",),
        applies_when=AppliesWhenAnswer(tools=(tool,)),
        supporting_memory_ids=tuple(step.event_id for step in steps),
    )
