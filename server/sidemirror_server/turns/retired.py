"""Which texts say what a retired lesson says (decisions 102 and 104).

The rules, and models too, make the same sentence of the same failure anew. What a model has just made, and what a goal
taught, is looked up here before an agent reads it: by `reflecting.py`, `rpc/thinking/reflect.py`,
`rpc/memory/generate_reflection.py` and `goals/`.
"""

import asyncio
import contextlib
import re
from collections.abc import Mapping, Sequence

from sidemirror_server.memory.finding.recall import Question, Recall
from sidemirror_server.memory.finding.search import Filter
from sidemirror_server.memory.lessons.keys import text_key
from sidemirror_server.memory.record import MemoryState
from sidemirror_server.vocabulary.errors import StoreFull, StoreUnavailable
from sidemirror_server.vocabulary.scope import Scope

# Among how many memories with the words of a text one is looked for that says the same. Chosen here: it has all.
_MOST_ALIKE = 20
# How long a look-up may take. Chosen here: many times what a healthy store takes, including a sidecar's first search.
_PATIENCE_S = 1.0
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_STATES = (MemoryState.RETIRED, MemoryState.ACTIVE)


class RetiredWords:
    """Finds the retired lessons that texts repeat."""

    def __init__(self, recall: Recall | None) -> None:
        """`recall` None: reflective memory is turned off, and no text repeats a lesson."""
        self._recall = recall

    async def saying(self, scope: Scope, texts: Sequence[str]) -> Mapping[str, str]:
        """By text, the id of a retired lesson that says the same as the text or a sentence of it, where no active one
        does, as far as the store says so in time. Raises nothing but cancellation."""
        worded = [text for text in dict.fromkeys(texts) if text.strip()]
        if self._recall is None or not worded:
            return {}
        said: dict[str, str] = {}
        with contextlib.suppress(StoreUnavailable, StoreFull, TimeoutError):
            async with asyncio.timeout(_PATIENCE_S):
                if await self._recall.has_any(scope, MemoryState.RETIRED):
                    for text in worded:
                        if found := await self._of(self._recall, scope, text):
                            said[text] = found
        return said

    async def _of(self, recall: Recall, scope: Scope, text: str) -> str:
        said = {text_key(part) for part in (text, *_SENTENCE_END.split(text)) if part.strip()}
        found = await recall.ranked(scope, Question(text, _MOST_ALIKE, Filter(states=_STATES), meaning_s=0.0))
        alike = await recall.records(scope, [one.facts.memory_id for one in found])
        same = [one for one in alike.values() if one.text_key in said]
        active = {one.text_key for one in same if one.state is MemoryState.ACTIVE}
        retired = (one for one in same if one.state is MemoryState.RETIRED and one.text_key not in active)
        return next((one.memory_id for one in retired), "")


def repeats_retired(memory_id: str) -> str:
    """Why words are not told, for people."""
    return f"it says what the retired lesson {memory_id} says"
