"""Long work on the event loop gives way to the calls that wait for it."""

import asyncio
import time

# How long work goes on before it gives way. Chosen here: a call that comes meanwhile needs the loop several times, and
# waits so long each time.
_SLICE_S = 0.001
# How long an agent waits for what is told at a failing call. Chosen here: twice what the rules take, on a slow machine.
_TOLD_WITHIN_S = 0.03


class Awaited:
    """Whether an agent of this process waits for what is told at a failing call."""

    def __init__(self) -> None:
        self._until_s = float("-inf")

    def call_failed(self) -> None:
        """A call has failed just now."""
        self._until_s = time.perf_counter() + _TOLD_WITHIN_S

    def left_s(self, now_s: float) -> float:
        """How long somebody may wait still; 0 or less if nobody does. `now_s`: of `time.perf_counter`."""
        return self._until_s - now_s


class OneATurn:
    """Await it before work that the loop does in one piece. At most one piece begins in a turn of the loop, and the
    others wait, mostly in the order in which they came: where many of them become ready at the same moment, as by one
    commit, other calls come between any two."""

    def __init__(self) -> None:
        self._may_pass = asyncio.Event()
        self._may_pass.set()
        self._turnstile = asyncio.Lock()

    async def __call__(self) -> None:
        if self._turnstile.locked() or not self._may_pass.is_set():
            async with self._turnstile:
                await self._may_pass.wait()
                self._count()
        else:
            self._count()

    def _count(self) -> None:
        self._may_pass.clear()
        asyncio.get_running_loop().call_soon(self._may_pass.set)


class GivesWay:
    """Of one piece of work, or of those that are done one after the other. Await it between two pieces, however small
    they are."""

    def __init__(self, awaited: Awaited | None = None) -> None:
        """`awaited`: the work also waits while an agent does. Where agents always do, it has half of the time."""
        self._awaited = awaited
        self._since_s = time.perf_counter()
        self._waits_again_s = float("-inf")

    async def __call__(self) -> None:
        """Lets other tasks run, if a millisecond has passed since it did so last, or an agent waits."""
        now_s = time.perf_counter()
        left_s = 0.0 if self._awaited is None or now_s < self._waits_again_s else self._awaited.left_s(now_s)
        if left_s <= 0 and now_s - self._since_s < _SLICE_S:
            return
        await asyncio.sleep(max(0.0, left_s))
        self._since_s = time.perf_counter()
        if left_s > 0:
            self._waits_again_s = self._since_s + left_s
