"""What a model is shown of what the sidecar says."""

from collections.abc import Iterable, Iterator

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb


def advice_text(directives: Iterable[pb.TurnDirective]) -> str:
    """The one text for a model: a paragraph for each nudge, recovery, reflection, lesson and request to revise; empty
    without any."""
    return "\n\n".join(paragraph for directive in directives for paragraph in _paragraphs(directive) if paragraph)


def is_advice(directive: pb.TurnDirective) -> bool:
    """Whether there is something in it for a model."""
    return any(_paragraphs(directive))


def lessons_text(lessons: common_pb2.ContextBlock | None) -> str:
    """The text for a model of what `recall` gave; empty without lessons."""
    return lessons.text if lessons is not None else ""


def _paragraphs(directive: pb.TurnDirective) -> Iterator[str]:
    kind = directive.WhichOneof("kind")
    if kind == "nudge":
        yield f"[nudge] {directive.nudge.message}"
    elif kind == "advice":
        yield directive.advice.block.text
    elif kind == "reflection":
        reflection = directive.reflection
        if reflection.status == common_pb2.RESULT_STATUS_OK:
            said = f"{reflection.reflection} {reflection.suggested_action}".strip()
            yield f"[reflection] {said}" if said else ""
        yield reflection.lessons.text
    elif kind == "critique" and directive.critique.should_revise:
        yield f"[critique] {directive.critique.revision_prompt}"
