"""Chooses the memories of each question of a dream. Pure rules, on top of the clusters of `memory/kin/clusters.py`."""

from collections.abc import Collection, Iterable, Sequence

import msgspec

from sidemirror_server.memory.kin.clusters import clusters, facts_of
from sidemirror_server.memory.record import MemoryKind, MemoryRecord, MemoryState

# Limit on the memories in one question. Chosen here: as many as a small model reads with attention.
MOST_IN_ONE = 12


class Group(msgspec.Struct, frozen=True):
    """A cluster to ask about: a sample of its memories, and all its new ones."""

    sample: tuple[str, ...]
    new_ids: tuple[str, ...]


class Gathered(msgspec.Struct, frozen=True):
    """Clusters with a new memory and at least two episodes. `count`: how many there are. `known`: how many are not
    worth a question, because a lesson covers them or they have grown little. `groups`: the others."""

    count: int
    known: int
    groups: tuple[Group, ...]


def gathered(new: Sequence[MemoryRecord], recent: Sequence[MemoryRecord]) -> Gathered:
    """The clusters of these memories. Dreamt memories join the clusters to show what is already known. Dreamt and
    inactive memories are no evidence."""
    dreamt = {memory.memory_id: memory for memory in recent if memory.derived_from}
    records = {
        memory.memory_id: memory
        for memory in (*recent, *new)
        if not memory.derived_from and memory.state is MemoryState.ACTIVE and memory.kind is MemoryKind.REFLECTION
    }
    new_ids = {memory.memory_id for memory in new} & records.keys()
    found = 0
    groups: list[Group] = []
    for cluster in clusters(map(facts_of, (*records.values(), *dreamt.values()))):
        members = [records[memory_id] for memory_id in cluster.memory_ids if memory_id in records]
        ids = {memory.memory_id for memory in members}
        if not new_ids & ids or episodes_of(members) < 2:
            continue
        found += 1
        beside = [dreamt[memory_id] for memory_id in cluster.memory_ids if memory_id in dreamt]
        if _has_grown(ids, new_ids) and not _is_said(ids, beside, dreamt.values()):
            groups.append(Group(_sample(members), tuple(sorted(new_ids & ids))))
    return Gathered(found, found - len(groups), tuple(groups))


def in_turn(groups: Sequence[Group], refused_ids: Sequence[str]) -> tuple[Group, ...]:
    """Orders the groups: refused ones come last, the latest refusal at the very end. A pass gives up after a few
    failures in a row, so groups without a refusal go first. `refused_ids`: see `Dream.refused_ids`."""
    place = {memory_id: number for number, memory_id in enumerate(refused_ids, start=1)}
    return tuple(sorted(groups, key=lambda group: max((place.get(one, 0) for one in group.new_ids), default=0)))


def _has_grown(ids: Collection[str], new_ids: Collection[str]) -> bool:
    """Whether the size has passed a power of two: a cluster that grows steadily is asked about less and less often.
    Chosen here."""
    earlier = sum(memory_id not in new_ids for memory_id in ids)
    return len(ids).bit_length() > max(1, earlier).bit_length()


def _is_said(ids: Collection[str], beside: Sequence[MemoryRecord], dreamt: Iterable[MemoryRecord]) -> bool:
    """Whether a dreamt lesson from these memories or in their cluster rests on over half as many memories."""
    made = [*beside, *(memory for memory in dreamt if set(ids) & set(memory.derived_from))]
    return any(2 * max(len(memory.derived_from), len(memory.episodes)) > len(ids) for memory in made)


def _sample(members: Iterable[MemoryRecord]) -> tuple[str, ...]:
    """At most MOST_IN_ONE memories: those that add an episode first; then by importance, then the newest."""
    ordered = sorted(members, key=lambda one: (-one.importance, -one.created_us))
    seen: set[str] = set()
    first: list[str] = []
    rest: list[str] = []
    for memory in ordered:
        (rest if set(memory.episodes) <= seen else first).append(memory.memory_id)
        seen.update(memory.episodes)
    return tuple((first + rest)[:MOST_IN_ONE])


def episodes_of(memories: Sequence[MemoryRecord]) -> int:
    """The number of distinct episodes that taught these memories; 0 for a single memory."""
    return len({episode for memory in memories for episode in memory.episodes}) if len(memories) > 1 else 0
