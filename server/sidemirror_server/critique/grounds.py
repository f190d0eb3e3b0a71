"""On which events of its turn an issue of a critique rests, as far as texts tell it. Pure.

The event that has the issue's quote comes first, then the one that has the words that the reason quotes: a
contradiction quotes the answer, and its reason the record.
"""

import re

from sidemirror_server.critique.material import CritiqueMaterial
from sidemirror_server.critique.quotes import is_in, normal
from sidemirror_server.critique.record import QuoteSource

# What a reason quotes. Longer passages are cut where they are quoted, and end with a dot.
_QUOTED = re.compile("“([^”]{2,400})”")
# Of a reason the first quotations count. Chosen here: the rules quote the record once.
_MOST_QUOTED = 3


class Grounds:
    """Finds the events of a material, whose texts are normalised once."""

    def __init__(self, material: CritiqueMaterial) -> None:
        self._of_response = ((material.response_event, material.response),)
        self._of_task = ((material.question_event, material.question), (material.task_event, material.task))
        self._of_results = tuple((one.event_id, one.text) for one in reversed(material.results))
        self._normal: dict[str, str] = {}

    def of(self, quote: str, source: QuoteSource, reason: str) -> tuple[str, ...]:
        """The ids of the events, each once: of the quote, then of what the reason quotes; of several results that have
        the words, the last. Empty without a turn."""
        places = {
            QuoteSource.RESPONSE: self._of_response,
            QuoteSource.TASK: self._of_task,
            QuoteSource.EVIDENCE: self._of_results,
        }
        record = (*self._of_results, *self._of_task)
        quoted = (self._event_with(words, record) for words in _QUOTED.findall(reason)[:_MOST_QUOTED])
        return tuple(dict.fromkeys(filter(None, (self._event_with(quote, places[source]), *quoted))))

    def _event_with(self, quote: str, texts: tuple[tuple[str, str], ...]) -> str:
        return next((event_id for event_id, text in texts if event_id and is_in(quote, self._normalised(text))), "")

    def _normalised(self, text: str) -> str:
        known = self._normal.get(text)
        if known is None:
            known = self._normal[text] = normal(text)
        return known
