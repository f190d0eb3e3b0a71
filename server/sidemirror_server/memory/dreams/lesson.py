"""Turns a dream's answer into a lesson that rests on the memories it cites. Pure."""

from collections.abc import Sequence

import msgspec

from sidemirror_server.memory.lessons.keeping import Ids, Trust, lesson_of
from sidemirror_server.memory.lessons.reflector import Result
from sidemirror_server.memory.lessons.scoring import Scored, Scorer, scores_of
from sidemirror_server.memory.lessons.trust import steering
from sidemirror_server.memory.record import (
    MOST_EPISODES,
    AppliesWhen,
    Lesson,
    MemoryRecord,
    MemoryState,
    Quarantine,
    Teaching,
)
from sidemirror_server.models.answers import DreamAnswer
from sidemirror_server.trace.sources import SourceKind, keys
from sidemirror_server.vocabulary.origin import Origin, least

# The tag of every dreamt lesson, so that callers can select these lessons or leave them out.
DREAM_TAG = "dream"
_OUTCOME = "partial"  # decision 034
_MOST_TAGS = 16


def lesson_of_dream(
    answer: DreamAnswer,
    members: Sequence[MemoryRecord],
    cited: Sequence[MemoryRecord],
    ids: tuple[str, str],
    trust: Trust,
    scorer: Scorer,
    now_us: int,
) -> Lesson:
    """The drafts of a lesson. `members`: the memories that the model was shown, all of which are its sources; `cited`:
    at least two of them, on which it rests; `ids`: for the reflection and for the strategy, if they are new.

    The lesson gets the lowest trust of the cited memories and applies at most to the tools that they name. Its text is
    judged like any new text, but may contain the cited memories' links and commands. It needs no second episode.
    """
    result = _result(answer, cited, scorer, now_us)
    texts = (result.reflection, result.strategy, " ".join(result.tags), result.applies_when.not_when)
    tried = steering([text for text in texts if text], (), [memory.content for memory in cited])
    lesson = lesson_of(result, Ids(*ids, lesson_id=ids[0]), trust, tried, {}, now_us)
    return Lesson(
        _resting_on(cited, members, lesson.reflection),
        _resting_on(cited, members, lesson.strategy) if lesson.strategy else None,
        lesson.lesson_id,
    )


def _result(answer: DreamAnswer, cited: Sequence[MemoryRecord], scorer: Scorer, now_us: int) -> Result:
    tags = tuple(dict.fromkeys(tag for tag in (" ".join(tag.split()) for tag in answer.tags) if tag))
    strategy = (answer.strategy or "").strip()
    category = _common([memory.error_category for memory in cited])
    scored = Scored(
        reflection=answer.lesson,
        strategy=strategy,
        outcome=_OUTCOME,
        error_category=category,
        tags=tags,
        event_count=len(cited),
        importance=answer.importance,
        confidence=answer.confidence,
    )
    scores = scores_of(scorer, scored)
    return Result(
        reflection=answer.lesson.strip(),
        strategy=strategy,
        importance=scores.importance,
        confidence=scores.confidence,
        tags=(DREAM_TAG, *(tag for tag in tags if tag != DREAM_TAG))[:_MOST_TAGS],
        error_category=category,
        source_event_ids=(),
        related_ids=tuple(memory.memory_id for memory in cited),
        applies_when=_applies(answer, cited),
        origin=least((Origin.AGENT, *(memory.origin for memory in cited))),
        outcome=_OUTCOME,
        task="",
        event_count=0,
        session_id="",
        episode="",
        generated_us=now_us,
        error_signature=_common([memory.error_signature for memory in cited]),
    )


def _resting_on(cited: Sequence[MemoryRecord], members: Sequence[MemoryRecord], draft: MemoryRecord) -> MemoryRecord:
    episodes = tuple(dict.fromkeys(episode for memory in cited for episode in memory.episodes))
    # The words of a member that is not cited may be in the text as well (decision 045).
    shown = Teaching(
        keys(SourceKind.MEMORY, (memory.memory_id for memory in members)), draft.text_key, draft.created_us
    )
    waits = draft.quarantine is Quarantine.UNCORROBORATED
    return msgspec.structs.replace(
        draft,
        derived_from=tuple(memory.memory_id for memory in cited),
        taught_by=(shown,),
        # The first episodes of all memories come first, so that the limit on episodes drops no memory.
        episodes=_spread(cited, episodes),
        state=MemoryState.ACTIVE if waits else draft.state,
        quarantine=None if waits else draft.quarantine,
    )


def _spread(cited: Sequence[MemoryRecord], episodes: tuple[str, ...]) -> tuple[str, ...]:
    first = [memory.episodes[0] for memory in cited if memory.episodes]
    return tuple(dict.fromkeys((*first, *episodes)))[:MOST_EPISODES]


def _common(values: Sequence[str]) -> str:
    """The value that all memories have in common; empty if they differ."""
    return values[0] if len(set(values)) == 1 else ""


def _applies(answer: DreamAnswer, cited: Sequence[MemoryRecord]) -> AppliesWhen:
    """When the lesson applies. Tools that no cited memory names are dropped as invented. If the answer has no
    conditions, the lesson keeps those that all cited memories share."""
    known = {tool.casefold(): tool for memory in cited for tool in memory.applies_when.tools}
    said = answer.applies_when
    tools = [known.get(tool.strip().casefold(), "") for tool in said.tools] if said else []
    categories = tuple(dict.fromkeys(said.error_categories)) if said else ()
    shared = set.intersection(*(set(memory.applies_when.tools) for memory in cited))
    category = _common([memory.error_category for memory in cited])
    return AppliesWhen(
        tools=tuple(dict.fromkeys(tool for tool in tools if tool)) or tuple(sorted(shared)),
        error_categories=categories or ((category,) if category else ()),
        not_when=" ".join((said.not_when or "").split()) if said else "",
    )
