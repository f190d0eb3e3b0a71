"""Where a lesson comes from, in words. Used by `turns_why.py` and `memory_tables.py`."""

from collections.abc import Iterable

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.record import MOST_EPISODES
from sidemirror_server.operations.shown import clock_time, in_short

# The most source turns that are named, and the most characters of an id.
_MOST_SOURCES, _ID_CHARS = 5, 256


def sources_of(memory: pb.Memory) -> str:
    """The turns, the session and the memories that a lesson was learned from, how often, and since when."""
    metadata = memory.metadata.fields
    turn_ids = [one.string_value for one in metadata["turn_ids"].list_value.values] if "turn_ids" in metadata else []
    turn_ids = turn_ids or [*memory.source_turn_ids]
    session_id = metadata["session_id"].string_value if "session_id" in metadata else ""
    # A lesson keeps one; its turns are of others too.
    whose = "one of its sessions:" if len(turn_ids) > 1 else "session"
    named = (
        *([f"turns {some_of(turn_ids)}"] if turn_ids else ()),
        *([f"{whose} {in_short(session_id, _ID_CHARS)}"] if session_id else ()),
        *([f"memories {some_of(memory.derived_from)}"] if memory.derived_from else ()),
    )
    where = "; ".join(named) or "no recorded turn"
    return f"{where}; {_learned(memory)}; first at {clock_time(memory.create_time)}"


def _learned(memory: pb.Memory) -> str:
    """How often a lesson was learned, and of how many episodes: one that is told again counts once more among the
    times only."""
    times = f"learned {_counted(memory.strength, 'time')}"
    if memory.strength > max(1, memory.episode_count):
        times += ", each repetition counted"
    if not memory.episode_count:
        return times
    of = f"{_counted(memory.episode_count, 'different episode')}" if memory.episode_count > 1 else "1 episode"
    return f"{times}, from {of}{' or more' if memory.episode_count == MOST_EPISODES else ''}"


# What a change without a token's name is by.
NAMELESS = "a caller whose name is not known"
WHOSE_NAMES = (
    "Names are those of the tokens in the access file; without one (SIDEMIRROR_ACCESS_FILE) callers have none."
)


def author_of(version: pb.Memory) -> str:
    """Who made a version of a lesson: the name of a token, the sidecar, or a caller without a name."""
    is_sidecars = version.change == "judged" or (
        version.change == "learned" and ("learned_from" in version.metadata or bool(version.derived_from))
    )
    return in_short(version.changed_by) or ("the sidecar" if is_sidecars else NAMELESS)


def some_of(ids: Iterable[str]) -> str:
    """The first of these ids, and how many more there are."""
    known = list(ids)
    more = f" and {len(known) - _MOST_SOURCES} more" if len(known) > _MOST_SOURCES else ""
    return ", ".join(in_short(one, _ID_CHARS) for one in known[:_MOST_SOURCES]) + more or "none"


def _counted(count: int, one: str) -> str:
    return f"{count:,} {one}{'' if count == 1 else 's'}"
