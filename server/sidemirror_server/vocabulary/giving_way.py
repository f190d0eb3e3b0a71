"""Long work on the event loop gives way to the calls that wait for it."""

import asyncio
import time

# How long work goes on before it gives way. Chosen here: a call that comes meanwhile needs the loop several times, and
# waits so long each time.
_SLICE_S = 0.001


class GivesWay:
    """Of one task. Await it between two pieces of its work, however small they are."""

    def __init__(self) -> None:
        self._since_s = time.perf_counter()

    async def __call__(self) -> None:
        """Lets other tasks run, if a millisecond has passed since it did so last."""
        if time.perf_counter() - self._since_s >= _SLICE_S:
            await asyncio.sleep(0)
            self._since_s = time.perf_counter()
