"""What a dream's question holds."""

from sidemirror_server.memory.dreams.prompts import DreamPrompts
from sidemirror_server.memory.record import AppliesWhen
from tests.conformance.memories import memory


def test_a_question_is_short_whatever_was_imported() -> None:
    """An import lets half a megabyte of these through. Seen to fail when `not_when` and the tools were not cut."""
    long = AppliesWhen(tools=tuple(f"tool {number} " * 100 for number in range(64)), not_when="never " * 80_000)
    memories = [
        memory(f"m{number}", "It failed. " * 2_000, task_text="task " * 1_000, applies_when=long)
        for number in range(12)
    ]
    assert len(DreamPrompts().prompt(memories)) < 12 * 2_500 + 2_000
