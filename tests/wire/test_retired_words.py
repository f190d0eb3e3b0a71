"""A reflection does not say what a retired lesson says."""

from pathlib import Path

from tests.faults.sidecars import running
from tests.wire.retired_words import retired_words_are_not_told


async def test_a_reflection_does_not_say_what_a_retired_lesson_says(tmp_path: Path) -> None:
    """Seen to fail when the words of a reflection are told as the model made them."""
    async with running(tmp_path) as served:
        await retired_words_are_not_told(served)
