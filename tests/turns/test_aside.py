"""Work that stands aside: one piece at a time, with rests."""

import asyncio

from sidemirror_server.turns.aside import Aside
from sidemirror_server.vocabulary.giving_way import Awaited
from tests.faults.clocks import SetClock


async def test_one_piece_works_at_a_time() -> None:
    """Seen to fail without the lock."""
    aside = Aside(SetClock())
    working = most = 0

    async def piece() -> None:
        nonlocal working, most
        async with aside.alone():
            working += 1
            most = max(most, working)
            await asyncio.sleep(0)
            working -= 1

    await asyncio.gather(*(piece() for _ in range(8)))
    assert most == 1


async def test_a_piece_that_fails_or_is_cancelled_lets_the_next_one_in() -> None:
    aside = Aside(SetClock())

    async def fails() -> None:
        async with aside.alone():
            raise ValueError

    held = asyncio.Event()

    async def holds() -> None:
        async with aside.alone():
            held.set()
            await asyncio.Event().wait()

    await asyncio.gather(fails(), return_exceptions=True)
    holding = asyncio.create_task(holds())
    await held.wait()
    holding.cancel()
    async with asyncio.timeout(20), aside.alone():
        pass


async def test_it_rests_three_times_as_long_as_it_worked() -> None:
    """Seen to fail when it does not rest, and when a piece of ten seconds rests for thirty."""
    clock, loop = SetClock(), asyncio.get_running_loop()
    aside, waited_s = Aside(clock), []
    async with asyncio.timeout(20):
        for took_s in (0.02, 10.0, 0.0):
            began_s = loop.time()
            async with aside.alone():
                waited_s.append(loop.time() - began_s)
                clock.advance(took_s)
    assert waited_s[1] >= 0.059
    assert waited_s[2] >= 0.249


async def test_it_makes_way_for_an_agent_that_waits() -> None:
    """Seen to fail when it begins at once."""
    awaited, loop = Awaited(), asyncio.get_running_loop()
    aside = Aside(SetClock(), awaited)
    began_s = loop.time()
    awaited.call_failed()
    async with asyncio.timeout(20), aside.alone():
        assert loop.time() - began_s >= 0.029
