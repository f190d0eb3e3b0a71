"""Groups memories into clusters. Pure.

Three rules, the surest first; a memory is in at most one cluster:

1. the same error signature (`signature.py`);
2. the same tool, and similar words;
3. nearly the same words, whatever the tool.

By the last two rules a memory joins the most similar cluster, by the terms of the cluster's oldest member. A reflection
and its strategy alone form no cluster. Called by `project_clusters.py` for `ListClusters`, and by dreaming.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from hashlib import blake2b

import msgspec

from sidemirror_server.memory.kin.signature import tool_of
from sidemirror_server.memory.record import MemoryKind, MemoryRecord
from sidemirror_server.vocabulary.terms import telling_terms

# The least similarity within a cluster (Dice 1945: twice the shared terms, divided by the terms of both). Chosen here:
# among 2,277 recorded reflections, 84 % of the pairs joined at 0.5 are about the same task. At 0.35 it is 60 %, and the
# common tool makes up for the difference.
SAME_TOOL_RATIO = 0.35
ALIKE_RATIO = 0.5
# A text with fewer terms resembles others by chance.
_FEWEST_TERMS = 4
# Common terms are not compared. Chosen here: among more than 50 memories, a term is common if over a quarter have it.
_COMMON_RATIO, _COMMON_FROM = 0.25, 50
_LABEL_TERMS = 5
# Limits for a long memory: the code points that are read, and the terms that are compared. Chosen here: a whole lesson
# fits, and even 2,000 texts written to be slow take only seconds.
_READ_CHARS, _MOST_TERMS = 4_000, 128


class ClusterKind(StrEnum):
    """What the memories of a cluster have in common. The values are part of cluster ids."""

    ERROR_SIGNATURE = "error_signature"
    TOOL = "tool"
    SIMILARITY = "similarity"


class ClusterFacts(msgspec.Struct, frozen=True):
    """The facts by which a memory is grouped. `signature`: empty without a failure or a cause. `tools`: those it
    applies to, else the tool that failed. `terms`: distinctive terms of its content. `lesson_id`: the id of the
    reflection, also for a strategy."""

    memory_id: str
    kind: MemoryKind
    created_us: int
    importance: float
    lesson_id: str
    signature: str = ""
    tools: tuple[str, ...] = ()
    terms: frozenset[str] = frozenset()
    episodes: tuple[str, ...] = ()


class Cluster(msgspec.Struct, frozen=True):
    """Memories of at least two lessons that belong together, the oldest first.

    `cluster_id` is stable while the oldest member stays. `key`: the signature, or the tool; empty for SIMILARITY.
    `terms`: the most common ones, for people. `episodes`: the known distinct episodes that taught the members.
    """

    cluster_id: str
    kind: ClusterKind
    key: str
    members: tuple[ClusterFacts, ...]
    terms: tuple[str, ...] = ()
    episodes: tuple[str, ...] = ()

    @property
    def memory_ids(self) -> tuple[str, ...]:
        return tuple(one.memory_id for one in self.members)

    @property
    def importance(self) -> float:
        """The importance of the most important member."""
        return max(one.importance for one in self.members)


def facts_of(memory: MemoryRecord) -> ClusterFacts:
    """The facts by which a memory is grouped."""
    failed = tool_of(memory.error_signature) if memory.error_signature else ""
    return ClusterFacts(
        memory.memory_id,
        memory.kind,
        memory.created_us,
        memory.importance,
        memory.strategy_of or memory.memory_id,
        memory.error_signature,
        memory.applies_when.tools or ((failed,) if failed else ()),
        _some(telling_terms(memory.content[:_READ_CHARS])),
        memory.episodes,
    )


def clusters(facts: Iterable[ClusterFacts], kinds: Sequence[ClusterKind] = tuple(ClusterKind)) -> tuple[Cluster, ...]:
    """The clusters of these memories, by the rules of these kinds: those with the most episodes first, then the most
    important, then the oldest."""
    left = sorted(facts, key=lambda one: (one.created_us, one.memory_id))
    made: list[Cluster] = []
    for kind, rule in _RULES.items():
        if kind not in kinds:
            continue
        found = [_cluster(kind, key, members) for key, members in rule(left) if _is_several(members)]
        taken = {memory_id for cluster in found for memory_id in cluster.memory_ids}
        left = [one for one in left if one.memory_id not in taken]
        made += found
    return tuple(sorted(made, key=_order))


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """The similarity of two texts by their terms, 0 to 1; 0 if either has too few terms."""
    if min(len(one), len(other)) < _FEWEST_TERMS:
        return 0.0
    return 2 * len(one & other) / (len(one) + len(other))


def _some(terms: frozenset[str]) -> frozenset[str]:
    """At most _MOST_TERMS of a text's terms: those with the lowest hashes, which preserves similarities (Broder
    1997)."""
    if len(terms) <= _MOST_TERMS:
        return terms
    return frozenset(sorted(terms, key=lambda term: (_hash(term), term))[:_MOST_TERMS])


def _hash(term: str) -> bytes:
    return blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _is_several(members: Sequence[ClusterFacts]) -> bool:
    return len({one.lesson_id for one in members}) > 1


def _by_signature(facts: Sequence[ClusterFacts]) -> Iterator[tuple[str, list[ClusterFacts]]]:
    grouped: dict[str, list[ClusterFacts]] = defaultdict(list)
    for one in facts:
        if one.signature:
            grouped[one.signature].append(one)
    yield from grouped.items()


def _by_tool(facts: Sequence[ClusterFacts]) -> Iterator[tuple[str, list[ClusterFacts]]]:
    """Groups memories by tool; a memory with several tools belongs to the first of them by name."""
    grouped: dict[str, list[ClusterFacts]] = defaultdict(list)
    for one in facts:
        if one.tools:
            grouped[min(one.tools)].append(one)
    for tool, members in grouped.items():
        yield from ((tool, group) for group in _alike(members, SAME_TOOL_RATIO))


def _by_similarity(facts: Sequence[ClusterFacts]) -> Iterator[tuple[str, list[ClusterFacts]]]:
    yield from (("", group) for group in _alike(facts, ALIKE_RATIO))


_RULES = {
    ClusterKind.ERROR_SIGNATURE: _by_signature,
    ClusterKind.TOOL: _by_tool,
    ClusterKind.SIMILARITY: _by_similarity,
}


def _alike(facts: Sequence[ClusterFacts], ratio: float) -> list[list[ClusterFacts]]:
    """Groups memories that resemble the group's first. In the order of `facts`, each joins the most similar group."""
    common = _common(facts)
    groups: list[list[ClusterFacts]] = []
    sizes: list[int] = []
    having: dict[str, list[int]] = defaultdict(list)
    for one in facts:
        terms = one.terms - common
        if len(terms) < _FEWEST_TERMS:
            continue
        shared = Counter[int]()
        for term in terms:
            shared.update(having[term])
        likest, best = -1, ratio
        for place, count in shared.items():
            alike = 2 * count / (len(terms) + sizes[place])
            if alike > best or (alike == best and (likest < 0 or place < likest)):
                likest, best = place, alike
        if likest >= 0:
            groups[likest].append(one)
            continue
        for term in terms:
            having[term].append(len(groups))
        groups.append([one])
        sizes.append(len(terms))
    return groups


def _common(facts: Sequence[ClusterFacts]) -> frozenset[str]:
    if len(facts) <= _COMMON_FROM:
        return frozenset()
    counted = Counter(term for one in facts for term in one.terms)
    return frozenset(term for term, count in counted.items() if count > _COMMON_RATIO * len(facts))


def _cluster(kind: ClusterKind, key: str, members: Sequence[ClusterFacts]) -> Cluster:
    counted = Counter(term for one in members for term in one.terms)
    most = [term for term, count in sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])) if count > 1]
    named = key or members[0].memory_id
    if kind is ClusterKind.TOOL:
        named = f"{key}\n{members[0].memory_id}"
    return Cluster(
        blake2b(f"{kind.value}\n{named}".encode("utf-8", "surrogatepass"), digest_size=12).hexdigest(),
        kind,
        key,
        tuple(members),
        tuple(most[:_LABEL_TERMS]),
        tuple(dict.fromkeys(episode for one in members for episode in one.episodes)),
    )


def _order(cluster: Cluster) -> tuple[int, float, int, str]:
    return -len(cluster.episodes), -cluster.importance, cluster.members[0].created_us, cluster.cluster_id
