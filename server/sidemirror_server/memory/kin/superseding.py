"""Which memories others hold in the place of, along `supersedes` links.

Called by `finding/context.py`. A memory is hidden when a recalled memory supersedes it and it does not supersede that
one in its turn, directly or through others. In a ring none hides another: nobody can tell which of them holds.
"""

from collections.abc import Collection, Iterable, Mapping

from sidemirror_server.memory.kin.graph import FAN_OUT, MemoryGraph
from sidemirror_server.memory.kin.links import memory_key, node_of
from sidemirror_server.memory.record import LinkKind
from sidemirror_server.vocabulary.scope import Scope

# How many links a ring may have to be seen as one, and how many memories are followed at one distance. Chosen here: a
# lesson that was replaced each month for two years; a longer way takes each link at its word.
_LONGEST_RING = 24
_MOST_AT_ONCE = 500

# The memories that supersede a memory, by its id.
Newer = Mapping[str, Collection[str]]


async def newer_than(graph: MemoryGraph, scope: Scope, memory_ids: Collection[str]) -> dict[str, set[str]]:
    """What supersedes these memories, what supersedes that, and so on. Raises what the store raises."""
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
    """Of these memories, those in whose place one of the `active` ones holds, and which. Pure."""
    found: dict[str, str] = {}
    for memory_id in memory_ids:
        holds = [one for one in sorted(newer.get(memory_id, ())) if one in active and not _leads(one, memory_id, newer)]
        if holds:
            found[memory_id] = holds[-1]
    return found


def _leads(memory_id: str, to: str, newer: Newer) -> bool:
    """`to` supersedes this memory, directly or over others."""
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
