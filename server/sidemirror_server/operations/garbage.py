"""When Python looks for cyclic garbage. A full look holds up the loop, and so every stream, health check and signal."""

import asyncio
import gc

# How often to look among old objects. Chosen here: turns that have ended are garbage without cycles, so that little is
# found there; and a pause a minute is in no 99th percentile.
_EVERY_S = 60.0
# After so many collections of younger objects old ones are looked at, which is Python's default; and after so many the
# loop does not wait for the minute to be over.
_DUE, _OVERDUE = 10, 1_000


def wait() -> None:
    """Collects nothing until `collect_from_here`. What was made until now lives until the end."""
    gc.freeze()
    gc.disable()


def collect_from_here() -> None:
    """Collects among what is made from now on; old objects are left to `collect_old`."""
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, _OVERDUE)
    gc.enable()


async def collect_old() -> None:
    """Collects among old objects once a minute if Python would have done so. Runs until it is cancelled."""
    while True:
        await asyncio.sleep(_EVERY_S)
        if gc.isenabled() and gc.get_count()[2] >= _DUE:
            gc.collect()
