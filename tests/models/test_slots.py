"""Who gets the next slot of a model: projects in turn, not questions."""

import asyncio

import pytest

from sidemirror_server.models.slots import FairSlots
from sidemirror_server.vocabulary.scope import Scope

LOUD, CALM, OTHER = Scope("t", "loud"), Scope("t", "calm"), Scope("t", "other")


async def test_projects_take_turns() -> None:
    """A hundred questions of one project wait before one of each other. Seen to fail with asyncio.Semaphore."""
    slots, served = FairSlots(1), list[str]()
    await slots.take(LOUD, 5.0)

    async def asks(scope: Scope) -> None:
        await slots.take(scope, 5.0)
        served.append(scope.project_id)
        await asyncio.sleep(0)
        slots.give_back()

    waiting = [asyncio.create_task(asks(scope)) for scope in (*[LOUD] * 100, CALM, OTHER, CALM)]
    await asyncio.sleep(0)
    slots.give_back()
    await asyncio.gather(*waiting)
    assert served[:6] == ["loud", "calm", "other", "loud", "calm", "loud"]
    assert len(served) == 103


async def test_whoever_gives_up_takes_no_slot() -> None:
    slots = FairSlots(1)
    await slots.take(LOUD, 5.0)
    with pytest.raises(TimeoutError):
        await slots.take(CALM, 0.01)
    given_up = asyncio.create_task(slots.take(OTHER, 5.0))
    await asyncio.sleep(0)
    slots.give_back()
    given_up.cancel()  # in the moment in which it gets the slot
    await asyncio.gather(given_up, return_exceptions=True)
    await slots.take(CALM, 0.0)


async def test_no_more_than_there_are() -> None:
    slots = FairSlots(2)
    await slots.take(LOUD, 0.0)
    await slots.take(LOUD, 0.0)
    with pytest.raises(TimeoutError):
        await slots.take(CALM, 0.0)
