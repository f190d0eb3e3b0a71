"""A sidecar of the world as a process of its own: what `sidemirror serve` is to whoever installs it.

It has the machine's clock, which no other process moves: episodes are seconds apart instead of an hour. What the hour
changes is little, since without tokens each session is an identity of its own; but a failure that nothing followed
waits an hour for its session's next turn, and is not counted here. One showing in ten is held back, as in the product.
"""

import contextlib
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from bench.processes import Servers
from bench.world.running import Arm, Host


@contextlib.asynccontextmanager
async def own_process(arm: Arm) -> AsyncIterator[Host]:
    """The sidecar of an arm, over gRPC; what ended is learned from once it uses no CPU any more."""
    if arm is Arm.RECOVERIES:
        raise ValueError("the product always holds one in ten back")
    with tempfile.TemporaryDirectory() as folder, Servers(Path(folder)) as servers:
        server = await servers.sidecar("--defaults--level", "medium", "--advice--starter-pack", "false")
        yield Host(server.address, server.quiet)
