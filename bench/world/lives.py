"""Lives of many seeds, in several processes, each chunk kept in a file when it is done."""

import asyncio
import logging
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from enum import Enum, auto
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from bench.world.process import own_process
from bench.world.rules import lived_by_rules
from bench.world.running import Arm, Lived, in_this_process, lived

CHUNK: Final = 5
"""Seeds that share a sidecar."""


class Hosted(Enum):
    """Where the sidecar is: in a process of the bench, in one of its own, or nowhere, by the product's rules alone."""

    HERE = auto()
    PROCESS = auto()
    RULES = auto()


def live_all(
    arms: Mapping[Arm, Sequence[int]],
    episodes: int,
    processes: int,
    folder: Path | None = None,
    *,
    host: Hosted = Hosted.HERE,
    within_s: float = math.inf,
) -> dict[Arm, Lived]:
    """What becomes of each arm with its seeds. `folder`: where chunks are kept, so that a run that was broken off goes
    on; what is there is of this code, which the caller has to see to. `within_s`: of each chunk, with a sidecar."""
    most = max(map(len, arms.values()))
    parts = ((arm, seeds[at : at + CHUNK]) for at in range(0, most, CHUNK) for arm, seeds in arms.items())
    work = [(arm, tuple(seeds)) for arm, seeds in parts if seeds]
    with ProcessPoolExecutor(processes) as pool:
        done = list(
            pool.map(
                partial(_chunk, host=host, within_s=within_s),
                *zip(*((arm, seeds, episodes, folder) for arm, seeds in work), strict=True),
            )
        )
    found = {arm: Lived((), ()) for arm in arms}
    for (arm, _), one in zip(work, done, strict=True):
        found[arm] = Lived(found[arm].met + one.met, found[arm].trials + one.trials)
    # A chunk that ran out of time has lived less: all arms are compared over what all have lived.
    ends = [max(met.episode for met in one.met) + 1 for one in done]
    return {
        arm: one._replace(met=tuple(met for met in one.met if met.episode < min(ends))) for arm, one in found.items()
    }


def _chunk(
    arm: Arm, seeds: Sequence[int], episodes: int, folder: Path | None, *, host: Hosted, within_s: float
) -> Lived:
    if host is Hosted.RULES:
        return asyncio.run(lived_by_rules(arm, seeds, episodes))
    # The clock jumps by hours, and jobs that were under way say that they lost their lease.
    logging.disable(logging.WARNING)
    of = "-process" if host is Hosted.PROCESS and arm is not Arm.NONE else ""
    kept = folder / f"{arm.name.lower()}{of}-{seeds[0]}-{seeds[-1]}-{episodes}.json" if folder else None
    if kept is not None and kept.is_file():
        return msgspec.json.decode(kept.read_bytes(), type=Lived)
    hosted = own_process if host is Hosted.PROCESS else in_this_process
    found = asyncio.run(lived(arm, seeds, episodes, hosted, within_s))
    if kept is not None and math.isinf(within_s):
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(msgspec.json.encode(found))
    return found
