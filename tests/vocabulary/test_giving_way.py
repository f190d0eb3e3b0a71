"""Long work gives way to others after a millisecond, and not before."""

import asyncio
import time

from sidemirror_server.vocabulary import giving_way
from sidemirror_server.vocabulary.giving_way import GivesWay


async def turns_of_another(pieces: int, piece_s: float) -> int:
    """How often another task runs while one works in so many pieces."""
    ran = 0

    async def work() -> None:
        gives_way = GivesWay()
        for _ in range(pieces):
            await gives_way()
            end_s = time.perf_counter() + piece_s
            while time.perf_counter() < end_s:
                pass

    working = asyncio.create_task(work())
    while not working.done():
        await asyncio.sleep(0)
        ran += 1
    return ran


async def test_others_run_between_pieces_of_a_millisecond() -> None:
    assert await turns_of_another(20, giving_way._SLICE_S) >= 19


async def test_short_work_goes_on() -> None:
    """On a busy machine a piece may take as long as it likes: of several such works one is not held up."""
    assert min([await turns_of_another(20, 0.0) for _ in range(20)]) <= 3
