"""What a dreamt lesson rests on, and what it came from."""

from msgspec.structs import replace

from sidemirror_server.memory.dreams.lesson import lesson_of_dream
from sidemirror_server.memory.lessons.keeping import Trust
from sidemirror_server.memory.lessons.scoring import models_own
from sidemirror_server.memory.record import sources_of
from sidemirror_server.models.answers import DreamAnswer
from sidemirror_server.trace.sources import SourceKind, keys
from tests.conformance.memories import memory


def test_all_memories_that_the_model_was_shown_are_its_sources() -> None:
    members = [replace(memory(name, f"what {name} says"), episodes=(f"e{name}",)) for name in "abc"]
    answer = DreamAnswer(
        lesson="They say the same.",
        strategy="Say it once.",
        importance=0.8,
        confidence=0.7,
        tags=(),
        supporting_memory_ids=("a", "b"),
    )
    lesson = lesson_of_dream(answer, members, members[:2], ("r", "s"), Trust(), models_own, 1)
    assert lesson.strategy is not None
    for dreamt in (lesson.reflection, lesson.strategy):
        assert dreamt.derived_from == ("a", "b")
        assert set(sources_of(dreamt)) == set(keys(SourceKind.MEMORY, "abc"))
