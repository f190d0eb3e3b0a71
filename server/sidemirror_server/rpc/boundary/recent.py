"""What an agent was told a moment ago is in what it reads next, although streams do not wait for the disk."""

import asyncio
import contextlib
from collections.abc import Awaitable

from sidemirror_server.vocabulary.errors import StoreFull, StoreUnavailable

# How long a look waits for what was just recorded. Chosen here: many times what a healthy store takes.
_MOMENT_S = 1.0


async def given_a_moment(durable: Awaitable[None]) -> None:
    """Waits until `durable` is done, for a moment. While the store fails, what is durable already is shown."""
    with contextlib.suppress(TimeoutError, StoreUnavailable, StoreFull):
        async with asyncio.timeout(_MOMENT_S):
            await durable
