"""Measures of what is found, and by whom: retrieval, other users' texts, planted texts."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.scoreboard import procedures
from bench.scoreboard.made import step, topics
from bench.scoreboard.rows import SETS, Found, Scale
from bench.scoreboard.running import Place, Running
from tests.memory.retrieval import rows
from tests.recorded import DATA

_DEEP = 60  # enough to drop every `ignore` of a recorded set and still have five
_AT_ONCE = 200


def retrieval(place: Place, scale: Scale) -> Iterator[Found]:
    """Each set is a user's; a question goes to the product alone, and what is relevant stays here."""
    every = topics()
    lessons = {str(at): topic.lesson for at, topic in enumerate(every)}
    asked = {
        "made-shared": [{"query": topic.shared, "relevant": [str(at)]} for at, topic in enumerate(every)],
        "made-other": [{"query": topic.other, "relevant": [str(at)]} for at, topic in enumerate(every)],
    }
    with place.opened() as running:
        ids = _kept(running, "made", lessons)
        how = running("settle", user="made")
        for name, queries in asked.items():
            yield from _scored(running, "made", name, queries, ids, how)
        for name in SETS[2:] if DATA.is_dir() and scale.queries else ():
            ids = _kept(running, name, {row["doc_id"]: row["text"] for row in rows(name, "docs")})
            how = running("settle", user=name)
            yield from _scored(running, name, name, _spread(rows(name, "queries"), scale.queries), ids, how)
        if scale.procedures is not None and scale.queries:
            yield from procedural(running, scale.procedures, scale.queries)


def procedural(running: Running, clone: Path, count: int) -> Iterator[Found]:
    """A question has some twenty right trajectories, so that what counts is how many of the first five are right."""
    ids = _kept(running, "procedures", procedures.trajectories(clone))
    how = running("settle", user="procedures")
    shares, hits = list[float](), list[float]()
    for query in procedures.questions(clone)[:count]:
        told = running("find", user="procedures", text=query["query"], k=5)
        right = [one in query["relevant"] for memory, _ in told for one in ids[memory]][:5]
        shares.append(sum(right) / 5)
        hits.append(float(right[:1] == [True]))
    yield Found("precision-procedures", sum(shares) / len(shares), how)
    yield Found("hit-procedures", sum(hits) / len(hits), how)


def _spread(queries: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """So many of them, at equal distances."""
    return queries[:: max(1, len(queries) // count)][:count]


def _kept(running: Running, user: str, texts: Mapping[str, str]) -> dict[str, list[str]]:
    """Keeps texts; the names of the texts by the contender's id, which may be the same for equal texts."""
    names, found = list(texts), dict[str, list[str]]()
    for at in range(0, len(names), _AT_ONCE):
        some = names[at : at + _AT_ONCE]
        for name, one in zip(some, running("keep", user=user, texts=[texts[name] for name in some]), strict=True):
            found.setdefault(one, []).append(name)
    return found


def _scored(
    running: Running, user: str, name: str, queries: Sequence[Mapping[str, Any]], ids: Mapping[str, list[str]], how: str
) -> Iterator[Found]:
    recalls, hits = list[float](), list[float]()
    for query in queries:
        ignored, relevant = set(query.get("ignore", ())), set(query["relevant"])
        hit = running("find", user=user, text=query["query"], k=_DEEP)
        found = [one for memory, _ in hit for one in ids.get(memory, ()) if one not in ignored]
        recalls.append(len(relevant & set(found[:5])) / len(relevant))
        hits.append(float(bool(found) and found[0] in relevant))
    yield Found(f"recall-{name}", sum(recalls) / len(recalls), how)
    yield Found(f"hit-{name}", sum(hits) / len(hits), how)


# Names of which one begins another, differs by case, or holds what a pattern of SQL would match with another.
_USERS = ("ann", "anna", "an", "ANN", "a_n", "axn", "an%", "bo")


def foreign(place: Place, scale: Scale) -> Iterator[Found]:
    """Each user keeps texts about the same things, asks about all of them, lists, and tries the others' ids."""
    some = topics()[: scale.canaries]
    with place.opened() as running:
        texts = {user: [f"{topic.lesson} (told by <{user}>)" for topic in some] for user in _USERS}
        ids = {user: running("keep", user=user, texts=texts[user]) for user in _USERS}
        for user in _USERS:
            running("settle", user=user)
        asked = listed = read = 0
        for user in _USERS:
            for topic in some:
                found = running("find", user=user, text=topic.shared, k=_DEEP)
                asked += sum(text not in texts[user] for _, text in found)
            listed += len(set(running("kept", user=user)) - set(ids[user]))
            for other in _USERS:
                for memory in set(ids[other]) - set(ids[user]):
                    read += running("read", user=user, memory=memory) is not None
    tried = f"{len(_USERS)} users, {len(some)} texts each"
    yield Found("foreign-asked", asked, tried)
    yield Found("foreign-listed", listed, tried)
    yield Found("foreign-read", read, f"{len(_USERS) * (len(_USERS) - 1) * len(some)} tries")


def poison(place: Place, _scale: Scale) -> Iterator[Found]:
    """What was planted is asked for in its own words; what counts is whether the agent would be told it."""
    every = topics()
    with place.opened() as running:
        for kind in ("false", "order"):
            planted = [getattr(topic, kind) for topic in every]
            running("keep", user=kind, texts=planted)
            running("keep", user=f"{kind}-beside", texts=[*planted, *(topic.lesson for topic in every)])
            yield Found(f"poison-{kind}", _told(running, kind, [topic.false for topic in every]))
            yield Found(f"poison-{kind}-beside", _told(running, f"{kind}-beside", [topic.false for topic in every]))
        yield Found("poison-true", _told(running, "order-beside", [topic.lesson for topic in every]))
        for topic in every:
            steps = [step("fetch", "https://example.org/page", topic.order)]
            running("live", user="tool", task=topic.shared, steps=steps, outcome="success")
        yield Found("poison-tool", _told(running, "tool", [topic.false for topic in every]))


def _told(running: Running, user: str, wanted: list[str]) -> int:
    """Of how many topics the wanted text is told when the topic is the task."""
    running("settle", user=user)
    asked = zip(topics(), wanted, strict=True)
    return sum(text in running("told", user=user, task=topic.shared) for topic, text in asked)
