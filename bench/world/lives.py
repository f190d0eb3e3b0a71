"""Lives of many seeds, in several processes, each chunk kept in a file when it is done."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from bench.world.rules import lived_by_rules
from bench.world.running import Arm, Lived, lived

CHUNK: Final = 5
"""Seeds that share a sidecar."""


def live_all(
    arms: Mapping[Arm, Sequence[int]],
    episodes: int,
    processes: int,
    folder: Path | None = None,
    *,
    by_rules: bool = False,
) -> dict[Arm, Lived]:
    """What becomes of each arm with its seeds. `folder`: where chunks are kept, so that a run that was broken off goes
    on; what is there is of this code, which the caller has to see to. `by_rules`: without a sidecar (`rules.py`)."""
    most = max(map(len, arms.values()))
    parts = ((arm, seeds[at : at + CHUNK]) for at in range(0, most, CHUNK) for arm, seeds in arms.items())
    work = [(arm, tuple(seeds)) for arm, seeds in parts if seeds]
    with ProcessPoolExecutor(processes) as pool:
        done = list(
            pool.map(
                partial(_chunk, by_rules=by_rules),
                *zip(*((arm, seeds, episodes, folder) for arm, seeds in work), strict=True),
            )
        )
    found = {arm: Lived((), ()) for arm in arms}
    for (arm, _), one in zip(work, done, strict=True):
        found[arm] = Lived(found[arm].met + one.met, found[arm].trials + one.trials)
    return found


def _chunk(arm: Arm, seeds: Sequence[int], episodes: int, folder: Path | None, *, by_rules: bool = False) -> Lived:
    if by_rules:
        return asyncio.run(lived_by_rules(arm, seeds, episodes))
    # The clock jumps by hours, and jobs that were under way say that they lost their lease.
    logging.disable(logging.WARNING)
    kept = folder / f"{arm.name.lower()}-{seeds[0]}-{seeds[-1]}-{episodes}.json" if folder else None
    if kept is not None and kept.is_file():
        return msgspec.json.decode(kept.read_bytes(), type=Lived)
    found = asyncio.run(lived(arm, seeds, episodes))
    if kept is not None:
        kept.write_bytes(msgspec.json.encode(found))
    return found
