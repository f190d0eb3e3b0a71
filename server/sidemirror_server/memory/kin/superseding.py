"""Which memories are superseded, by their `supersedes` links.

Called by `finding/context.py`. An active memory hides the memories that it supersedes. In a cycle of links no memory
hides another, because nobody can tell which of them is valid.
"""

from collections.abc import Collection, Iterable, Mapping

from sidemirror_server.memory.kin.graph import FAN_OUT, MemoryGraph
from sidemirror_server.memory.kin.links import memory_key, node_of
from sidemirror_server.memory.record import LinkKind
from sidemirror_server.vocabulary.scope import Scope

# The longest cycle that is recognised, in links; also the limit on the memories followed at one distance. Chosen here:
# a lesson replaced each month for two years. Memories in a longer cycle hide each other.
_LONGEST_RING = 24
_MOST_AT_ONCE = 500

# By memory id, the ids of the memories that supersede it.
Newer = Mapping[str, Collection[str]]


async def newer_than(graph: MemoryGraph, scope: Scope, memory_ids: Collection[str]) -> dict[str, set[str]]:
    """The memories that supersede these, directly or through others. Raises what the store raises."""
    newer: dict[str, set[str]] = {}
    known = set(memory_ids)
    nearest = sorted(known)
    for _ in range(_LONGEST_RING):
        if not nearest:
            break
        keys = tuple(memory_key(memory_id) for memory_id in nearest[:_MOST_AT_ONCE])
        for link in await graph.around(scope, keys, (LinkKind.SUPERSEDES,), FAN_OUT):
            newer.setdefault(node_of(link.target).name, set()).add(node_of(link.source).name)
        nearest = sorted({one for memory_id in nearest for one in newer.get(memory_id, ())} - known)
        known.update(nearest)
    return newer


def hidden(memory_ids: Iterable[str], newer: Newer, active: Collection[str]) -> dict[str, str]:
    """The memories that an `active` one hides: by the hidden id, the id of the active one. Pure."""
    found: dict[str, str] = {}
    for memory_id in memory_ids:
        holds = [one for one in sorted(newer.get(memory_id, ())) if one in active and not _leads(one, memory_id, newer)]
        if holds:
            found[memory_id] = holds[-1]
    return found


def _leads(memory_id: str, to: str, newer: Newer) -> bool:
    """Whether `to` supersedes this memory, directly or through others."""
    seen: set[str] = set()
    waiting = [memory_id]
    while waiting:
        for one in newer.get(waiting.pop(), ()):
            if one == to:
                return True
            if one not in seen:
                seen.add(one)
                waiting.append(one)
    return False
