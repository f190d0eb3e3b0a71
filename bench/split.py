"""`uv run python -m bench.split`: which part of the recorded data may be looked at while something is tuned.

Rows belong together by their group: one task, or tasks that resemble each other (`split_group` in `../shared/data`). A
group lies in one part, and so does everything about it in every set. By hash a third of the groups is reserved: nobody
looks at it, or measures on it, while building. What is chosen on the rest is measured on it once, at the end.

The first wave has seen all of this data: detectors, wordings, weights and thresholds that are older than this rule were
chosen with the reserved third in view. Figures on it say so wherever they stand.

No row goes into the repository. `labels` and `goal_hidden_from_agent` are for judging alone: neither the product nor a
model is ever given them.
"""

import enum
import hashlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.recorded import DATA, read_rows

_SUFFIX = ".jsonl.gz"
_EPISODES = "episodes"
_TAU_DOCS = "retrieval/tau_episodes.docs"


class Part(enum.StrEnum):
    """Whether a group may be looked at while building."""

    TUNING = "tuning"
    RESERVED = "reserved"


def part_of(group: str) -> Part:
    """The part of a group: a third of all is reserved. The rule never changes, or the reserved third is lost."""
    digest = hashlib.sha256(f"sidemirror split\0{group}".encode()).digest()
    return Part.RESERVED if int.from_bytes(digest[:8], "big") % 3 == 0 else Part.TUNING


def group_of(row: Mapping[str, Any], known: Mapping[str, str]) -> str:
    """The group of a row of any set. `known`: of `known_groups`, for rows that do not name theirs.

    Episodes and pairs name a `split_group`. Rows of `outcome_labelled` have their question's, which is that of the
    recorded attempt, and rows of `scheduling` their episode's. In `retrieval`, `task_key` is a group already, except
    for tau, whose documents name a `group`. Raises KeyError for a row of an episode that is not known.
    """
    for field in ("split_group", "group"):
        if field in row:
            return str(row[field])
    if "task_key" in row:
        return known.get(row["task_key"], row["task_key"])
    return known[row["item_id"] if "item_id" in row else row["episode_id"]]


def known_groups(data: Path) -> Mapping[str, str]:
    """The group of each episode, by its id, and of each task of tau, by its key."""
    episodes = (row for path in sorted((data / _EPISODES).glob(f"*{_SUFFIX}")) for row in read_rows(path))
    known = {row["episode_id"]: row["split_group"] for row in episodes}
    known.update((row["task_key"], row["group"]) for row in read_rows(data / f"{_TAU_DOCS}{_SUFFIX}"))
    return known


def sets(data: Path) -> tuple[str, ...]:
    """The names of the sets, such as `episodes/tau_bench`."""
    return tuple(path.relative_to(data).as_posix().removesuffix(_SUFFIX) for path in sorted(data.rglob(f"*{_SUFFIX}")))


def rows_of(data: Path, name: str, part: Part, known: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The rows of a set that lie in a part, in the set's order."""
    return (row for row in read_rows(data / f"{name}{_SUFFIX}") if part_of(group_of(row, known)) is part)


def main() -> None:
    if not DATA.is_dir():
        sys.stdout.write("skipped: no recorded data in ../shared/data\n")
        return
    known = known_groups(DATA)
    print("| set | tuning: rows | groups | reserved: rows | groups |\n|---|---|---|---|---|")
    every: dict[Part, set[str]] = {part: set() for part in Part}
    for name in sets(DATA):
        cells = []
        for part in Part:
            groups = [group_of(row, known) for row in rows_of(DATA, name, part, known)]
            every[part].update(groups)
            cells += [len(groups), len(set(groups))]
        print(f"| {name} | {' | '.join(map(str, cells))} |")
    print(f"\nGroups in all: {', '.join(f'{len(groups)} {part}' for part, groups in every.items())}.")


if __name__ == "__main__":
    main()
