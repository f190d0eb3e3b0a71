"""What HTTP connections send passes one piece in a turn of the loop, in order, and only so many in a second."""

import asyncio
from functools import partial
from itertools import pairwise

from sidemirror_server.http.turnstile import Turnstile


async def test_one_in_a_turn_of_the_loop() -> None:
    """Seen to fail when `enter` calls `read` whatever `_turns` says."""
    stile = Turnstile(1_000.0)
    passed: list[int] = []
    now = [stile.enter(partial(passed.append, number)) for number in range(10)]
    assert now == [True, *[False] * 9]
    seen = [len(passed)]
    while len(passed) < 10:
        await asyncio.sleep(0)
        seen.append(len(passed))
    assert passed == list(range(10))
    assert max(after - before for before, after in pairwise(seen)) == 1


async def test_a_quiet_one_lets_the_next_through_at_once() -> None:
    stile = Turnstile(1_000.0)
    passed: list[int] = []
    for number in range(3):
        assert stile.enter(partial(passed.append, number))
        await asyncio.sleep(0.01)
    assert passed == [0, 1, 2]


async def test_so_many_in_a_second() -> None:
    """40 at once, then at the rate. Seen to fail when `_allows` takes nothing."""
    stile, done = Turnstile(200.0), asyncio.Event()
    began_s = asyncio.get_running_loop().time()
    for _ in range(79):
        stile.enter(lambda: None)
    stile.enter(done.set)
    await done.wait()
    assert asyncio.get_running_loop().time() - began_s >= 0.19
