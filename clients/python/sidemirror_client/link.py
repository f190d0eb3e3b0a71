"""Whether the sidecar is there, told once when it goes, and looked for again until it is back. On our loop only."""

import asyncio
import contextlib
import logging
import random
import threading
from collections.abc import Awaitable, Callable, Iterator

import grpc

from sidemirror_client.calls import TokenUnusable
from sidemirror_client.problem import FINAL, is_answer, is_refused, is_unable, reason_of

_log = logging.getLogger("sidemirror_client")

# How long is waited before the sidecar is looked for again: the first time, and at most.
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 1.0
# After so long the sidecar counts as back.
STEADY_S = 5.0
# What was sent waits so long, and so long nothing is heard, until the sidecar is asked whether it is there; and so long
# it may take to answer that.
SILENT_S = 1.0
_ASKED_S = 1.0
# How often that is looked at, and by how much a look may come late: a client that was held up heard nothing.
_LOOK_S = 0.25
_LATE_S = 0.5
# So long it is not told again that the sidecar is too busy for a call, or has no answer now.
BUSY_PAUSE_S = 60.0
# While it is away, an answer that takes longer than this is none.
_PROBE_S = 2.0
_NOT_LET_IN = (
    "the sidecar refuses the token, or there is none: name a file with one that it knows in SIDEMIRROR_TOKEN_FILE"
)
_NOT_PERMITTED = (
    "the token is not good for the tenant and project of a turn, which is dropped: name one that it is good for "
    "(tenant_id and project_id of connect), or a file with another token in SIDEMIRROR_TOKEN_FILE"
)


class Link:
    """The state of the way to the sidecar, shared by all turns of a client."""

    def __init__(
        self,
        address: str,
        probe: Callable[[float], Awaitable[object]],
        ask: Callable[[float], Awaitable[object]],
        renew: Callable[[], None],
        on_away: Callable[[str], None] | None,
        on_refused: Callable[[str], None] | None,
    ) -> None:
        """`address`: where it is, for the log. `probe`: a cheap call that carries the token, with a timeout in seconds;
        `ask`: one that every sidecar answers at once, whatever its store does. Both on a connection of their own.
        `renew`: called when it goes away, so that no connection that may be dead is used again.
        `on_away`, `on_refused`: told why; must not block."""
        self._address = address
        self._probe = probe
        self._is_there = ask
        self._renew = renew
        self._on_away = on_away
        self._on_refused = on_refused
        self._told = False
        self._is_refused = False
        self._is_not_permitted = False
        # Which calls were refused, and how; each is told once.
        self._refusals: set[tuple[str, grpc.StatusCode]] = set()
        # When it was told last why a call has no answer, by what was said.
        self._unanswered_s: dict[str, float] = {}
        self.closed = False
        # Bytes that wait, of all turns, which are on several threads.
        self.waiting_bytes = 0
        self._bytes_lock = threading.Lock()
        # How often the sidecar went away.
        self.outages = 0
        self._back_s = float("-inf")
        # One stream is opened at a time.
        self.opening = asyncio.Lock()
        self._there = asyncio.Event()
        self._there.set()
        self._changed = asyncio.Event()
        self._search: asyncio.Task[None] | None = None
        self._sent_s: dict[object, float] = {}
        self._heard_s = float("-inf")
        self._listener: asyncio.Task[None] | None = None

    @property
    def away(self) -> bool:
        """Nothing is known to answer there now."""
        return not self._there.is_set() and not self._is_refused

    @property
    def reachable(self) -> bool:
        """The sidecar is there, and takes the token."""
        return self._there.is_set()

    def renew_lock(self) -> None:
        """In a child after a fork."""
        self._bytes_lock = threading.Lock()

    def wait_for(self, size: int) -> None:
        """So many bytes more wait, or fewer. On any thread."""
        with self._bytes_lock:
            self.waiting_bytes += size

    def answered(self, outage: int) -> None:
        """The sidecar has spoken on a stream that was opened after so many outages: the next one is told again, unless
        it follows so soon that it is the same one to whoever is told."""
        self.heard()
        self._is_not_permitted = False
        if outage == self.outages and _now_s() - self._back_s > STEADY_S:
            self._told = False

    def lost(self, why: str, outage: int) -> None:
        """A stream broke that was opened after so many outages: of many that break in one, the first counts. Never
        raises."""
        if outage != self.outages or self.closed or not self._there.is_set():
            return
        self.outages += 1
        self._leave()
        if self._told:
            return
        self._told = True
        if self._on_away is None:
            _log.warning("Sidemirror at %s is away, the agent goes on without it: %s", self._address, why)
        else:
            self._on_away(why)

    def refused(self, error: grpc.aio.AioRpcError, outage: int) -> None:
        """The sidecar does not know the token, or there is none that can be sent, at a stream or call that was begun
        after so many outages."""
        if outage != self.outages or self.closed or not self._there.is_set():
            return
        self.outages += 1
        self._leave()
        self._refuse(error)

    def _refuse(self, error: grpc.aio.AioRpcError) -> None:
        if self._is_refused:
            return
        self._is_refused = True
        why = error.details() if isinstance(error, TokenUnusable) else f"{_NOT_LET_IN}: {error.details()}"
        self._tell_refused(f"{why} (what is reported waits)")

    def not_permitted(self, error: grpc.aio.AioRpcError) -> None:
        """The token is known, and a turn is none of what it permits. Told once, until a turn is taken."""
        if not self._is_not_permitted:
            self._is_not_permitted = True
            self._tell_refused(f"{_NOT_PERMITTED}: {error.details()}")

    def _tell_refused(self, why: str) -> None:
        if self._on_refused is None:
            _log.warning("Sidemirror at %s: %s", self._address, why)
        else:
            self._on_refused(why)

    def _leave(self) -> None:
        self._there.clear()
        self._changed.set()
        self._changed = asyncio.Event()
        self._renew()
        if self._search is None:
            self._search = asyncio.create_task(self._look_for_it())

    def failed(self, error: Exception, outage: int) -> None:
        """A call that was begun after so many outages has failed: with what the sidecar says, or because it is gone."""
        if not isinstance(error, grpc.aio.AioRpcError):
            return
        code = error.code()
        if code is grpc.StatusCode.UNAUTHENTICATED:
            self.refused(error, outage)
        elif is_unable(error):
            self.heard()
        elif code is grpc.StatusCode.UNAVAILABLE and not is_refused(error):
            self.lost(reason_of(error), outage)
        elif code not in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE):
            self.heard()

    def say(self, what: str, error: grpc.aio.AioRpcError) -> None:
        """Tells that something is not taken, though the sidecar is there. Never raises."""
        _log.warning("Sidemirror at %s: %s: %s", self._address, what, reason_of(error))

    def declined(self, call: str, error: Exception, began_s: float) -> None:
        """A call has failed that the agent made then, and gets nothing for. A refusal is told once for each call and
        status, that the sidecar is too busy or has no answer now once a minute for each call. Never raises."""
        if not isinstance(error, grpc.aio.AioRpcError):
            return
        code = error.code()
        if code in FINAL and (call, code) not in self._refusals:
            self._refusals.add((call, code))
            self.say(f"{call} is refused, the agent gets nothing for it", error)
        elif code is grpc.StatusCode.RESOURCE_EXHAUSTED:
            self._busy(call, reason_of(error))
        elif is_unable(error):
            self._tell_unanswered(f"has no answer now for {call}", reason_of(error))
        elif code is grpc.StatusCode.DEADLINE_EXCEEDED:
            self.late(call, began_s)

    def late(self, call: str, began_s: float) -> None:
        """A call that the agent made then has no answer in time. A sidecar of which nothing was heard since may be
        away, which is told otherwise."""
        if self._heard_s > began_s:
            self._busy(call, f"no answer within {_now_s() - began_s:.3g} s")

    def _busy(self, call: str, why: str) -> None:
        self._tell_unanswered(f"is too busy for {call}", why)

    def _tell_unanswered(self, what: str, why: str) -> None:
        now_s = _now_s()
        if now_s - self._unanswered_s.get(what, float("-inf")) >= BUSY_PAUSE_S:
            self._unanswered_s[what] = now_s
            _log.warning("Sidemirror at %s %s, the agent gets nothing for it: %s", self._address, what, why)

    async def there(self) -> None:
        """Returns once the sidecar answers."""
        await self._there.wait()

    async def wait_away(self) -> None:
        """Returns once the sidecar is known to be away, or to refuse the token."""
        if self.reachable:
            await self._changed.wait()

    # --- silence -----------------------------------------------------------------------------------------------------

    def sent(self, what: object) -> None:
        """Something was sent that the sidecar answers at once. Counts from the first time until it is `settled`."""
        self._sent_s.setdefault(what, _now_s())
        if self._listener is None and not self.closed:
            self._listener = asyncio.create_task(self._listen())

    def settled(self, what: object) -> None:
        """It is answered, or given up."""
        self._sent_s.pop(what, None)

    def heard(self) -> None:
        """Something has come from the sidecar."""
        self._heard_s = _now_s()

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """What is awaited in the context is answered at once by a sidecar that is there."""
        token = object()
        self.sent(token)
        try:
            yield
        finally:
            self.settled(token)

    async def _listen(self) -> None:
        """Runs while something waits for an answer."""
        try:
            while self._sent_s:
                began_s = _now_s()
                await asyncio.sleep(_LOOK_S)
                now_s = _now_s()
                if now_s - began_s > _LOOK_S + _LATE_S:
                    self._sent_s = dict.fromkeys(self._sent_s, now_s)
                    continue
                oldest_s = min(self._sent_s.values(), default=now_s)
                if self.reachable and now_s - max(oldest_s, self._heard_s) >= SILENT_S:
                    await self._ask()
        finally:
            self._listener = None

    async def _ask(self) -> None:
        """Asks whether the sidecar is there. One that is heard meanwhile is busy; a client that was held up has heard
        nothing of what may have come."""
        outage = self.outages
        began_s = _now_s()
        try:
            await self._is_there(_ASKED_S)
        except grpc.aio.AioRpcError as error:
            held_up = _now_s() - began_s > _ASKED_S + _LATE_S
            if not held_up and error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
                if self._heard_s > began_s:
                    return
                self.lost(f"it does not answer ({error.code().name})", outage)
                return
        except (OSError, ValueError) as error:
            self.lost(str(error), outage)
            return
        self.heard()

    # --- the search --------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Stops looking for it, for good."""
        self.closed = True
        tasks = {task for task in (self._search, self._listener) if task is not None}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _look_for_it(self) -> None:
        pause_s = FIRST_PAUSE_S
        # Cancelling it is not enough: a call that breaks in that moment says so instead.
        while not self.closed:
            await asyncio.sleep(pause_s * random.uniform(0.8, 1.2))
            try:
                await self._probe(_PROBE_S)
            except grpc.aio.AioRpcError as error:
                if error.code() is grpc.StatusCode.UNAUTHENTICATED:
                    self._refuse(error)
                if not is_answer(error):
                    pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
                    continue
            except (OSError, ValueError):
                pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
                continue
            self._search = None
            self._back_s = _now_s()
            self._is_refused = False
            self.heard()
            self._there.set()
            return

    async def unless_away(self, work: Awaitable[object]) -> object:
        """What comes of the work, which is cancelled when the sidecar goes away meanwhile; None then, and where the
        client is closed."""
        task: asyncio.Future[object] = asyncio.ensure_future(work)
        away: asyncio.Future[object] = asyncio.ensure_future(self.wait_away())
        try:
            await asyncio.wait({task, away}, return_when=asyncio.FIRST_COMPLETED)
            # A connection that is closed cancels its calls.
            return task.result() if task.done() and not task.cancelled() else None
        finally:
            away.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait({task})


def _now_s() -> float:
    return asyncio.get_running_loop().time()
