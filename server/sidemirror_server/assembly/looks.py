"""What a sidecar asks its store by itself, and how often: less and less while nothing comes of it (decision 056).

Called by `assembly/sidecar.py`. The looks run one after the other, so that they need one connection. Those that fall
due at nearly the same time run together, so that an idle sidecar connects once for all of them.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from sidemirror_server.vocabulary.errors import SidemirrorError, StoreFull, StoreUnavailable

_log = logging.getLogger(__name__)

# A look runs this part of its pause early if another one is due: looks with equal pauses then stay together.
_EARLY = 0.25
# A sidecar is quiet when nothing but its looks has written for this time. Chosen here: an agent that waits for a person
# is still in use.
QUIET_S = 300.0


class Look(msgspec.Struct, frozen=True):
    """One question. `ask` returns whether something came of it: then the next one follows after `shortest_s`, otherwise
    after twice the last pause, at most `longest_s`. `is_local`: it asks memory, so that it never waits for others."""

    name: str
    ask: Callable[[], Awaitable[bool]]
    shortest_s: float
    longest_s: float
    is_local: bool = False


class Rhythm:
    """When each look is due; times are seconds of one clock."""

    def __init__(self, looks: Sequence[Look], now_s: float) -> None:
        self._ran_s = dict.fromkeys(looks, now_s)
        self._pauses = {look: look.shortest_s for look in looks}

    @property
    def next_s(self) -> float:
        """When the next look is due."""
        return min(self._due_s(look) for look in self._pauses)

    def due(self, now_s: float) -> tuple[Look, ...]:
        """The looks that run now, in the order that they were given: those that are due, and with one that asks the
        store those that nearly are."""
        together = any(self._due_s(look) <= now_s for look in self._pauses if not look.is_local)
        return tuple(
            look
            for look, pause_s in self._pauses.items()
            if self._due_s(look) <= now_s + (_EARLY * pause_s if together and not look.is_local else 0.0)
        )

    def ran(self, look: Look, came_of_it: bool, now_s: float) -> None:
        """Plans a look's next run."""
        self._ran_s[look] = now_s
        self._pauses[look] = look.shortest_s if came_of_it else min(2 * self._pauses[look], look.longest_s)

    def hurry(self) -> None:
        """The sidecar is in use: every pause begins anew with the shortest."""
        self._pauses = {look: look.shortest_s for look in self._pauses}

    def slow(self) -> None:
        """The sidecar is quiet: every pause is the longest."""
        self._pauses = {look: look.longest_s for look in self._pauses}

    def _due_s(self, look: Look) -> float:
        return self._ran_s[look] + self._pauses[look]


class Looks:
    """Runs looks until it is cancelled."""

    def __init__(self, looks: Sequence[Look], writes: Callable[[], int], rest: Callable[[], None]) -> None:
        """`writes`: how many transactions of this process may have written so far; when others than the looks make
        some, the sidecar is in use. `rest` closes connections that are not in use."""
        self._looks = looks
        self._writes = writes
        self._rest = rest
        self._failed: set[Look] = set()

    async def run(self) -> None:
        """Looks. Once the sidecar was in no use for `QUIET_S`, closes connections after each look."""
        loop = asyncio.get_running_loop()
        rhythm = Rhythm(self._looks, loop.time())
        used_s, is_quiet, writes = loop.time(), False, self._writes()
        while True:
            await asyncio.sleep(rhythm.next_s - loop.time())
            if self._writes() != writes:
                used_s, is_quiet = loop.time(), False
                rhythm.hurry()
            elif not is_quiet and loop.time() - used_s >= QUIET_S:
                is_quiet = True
                rhythm.slow()
            for look in rhythm.due(loop.time()):
                rhythm.ran(look, await self._ask(look), loop.time())
            writes = self._writes()
            if is_quiet:
                self._rest()

    async def _ask(self, look: Look) -> bool:
        """Whether something came of it. A store that is away is asked again soon: it refuses without being asked. Warns
        of the first failure in a row only, and not of a store's, which has one line for all that meet it."""
        try:
            came_of_it = await look.ask()
        except SidemirrorError as error:
            first = logging.INFO if isinstance(error, StoreUnavailable | StoreFull) else logging.WARNING
            level = logging.DEBUG if look in self._failed else first
            _log.log(level, "look_failed", extra={"look": look.name, "reason": str(error)})
            self._failed.add(look)
            return True
        self._failed.discard(look)
        return came_of_it
