"""Orders the hits of a search by words by their closeness to the question. Every store calls it. Pure."""

from collections.abc import Mapping, Sequence

import msgspec

from sidemirror_server.memory.finding.search import TextHit
from sidemirror_server.vocabulary.closeness import closeness


def by_words(hit: TextHit) -> tuple[float, int, str]:
    """The order by words, as a key: the best score, then the newest, then the id."""
    return (-hit.content_score - hit.task_score, -hit.facts.created_us, hit.facts.memory_id)


def closest(
    asked: Mapping[str, float], said: Sequence[str], hits: Sequence[TextHit], texts: Sequence[str]
) -> tuple[TextHit, ...]:
    """The hits with their closeness, the closest first. `asked` and `said`: the question's terms (`closeness.py`);
    `texts`: the terms of each hit's content and task."""
    words = [hit.content_score + hit.task_score for hit in hits]
    measured = [
        msgspec.structs.replace(hit, closeness=close)
        for hit, close in zip(hits, closeness(asked, said, texts, words), strict=True)
    ]
    return tuple(sorted(measured, key=lambda hit: (-(hit.closeness or 0.0), by_words(hit))))
