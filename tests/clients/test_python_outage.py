"""The Python client while the network swallows everything without a word, and forgets its connections."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.common_pb2 import TASK_OUTCOME_SUCCESS
from sidemirror_client import connect
from tests.clients.harness import sidecar
from tests.faults.waiting import until
from tests.wire.calls import MEDIUM

OUTAGE_S, PATIENCE_S = 4.0, 30.0
# Until it is found again once the network carries: a probe that is on its way takes 2 s to give up.
BACK_S = 6.0


class Network:
    """Carries bytes both ways. While it is `down` it takes them and carries nothing, and never again what came on a
    connection of before."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.down = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: list[asyncio.StreamWriter] = []

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[int]:
        """The port that it listens on."""
        server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()
            for writer in self._writers:
                writer.close()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writers += (writer, there_writer)
        dead = self.down

        async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            nonlocal dead
            with contextlib.suppress(OSError):
                while data := await source.read(65_536):
                    dead = dead or self.down
                    if not dead:
                        target.write(data)
                        await target.drain()

        for source, target in ((reader, there_writer), (there_reader, writer)):
            task = asyncio.create_task(copy(source, target))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)


async def test_what_is_reported_in_a_silent_outage_arrives_soon_after(tmp_path: Path) -> None:
    """Seen to fail: the old connections were waited for, whose bytes nobody carried any more."""
    with sidecar(tmp_path) as beside:
        network = Network(int(beside.address.rpartition(":")[2]))
        async with (
            network.serving() as port,
            connect(f"127.0.0.1:{port}", on_away=lambda _: None) as sidemirror,
        ):
            turn = sidemirror.begin_turn("outage", task="count", config=MEDIUM)
            assert await turn.plan(PATIENCE_S) is not None
            network.down = True
            turn.report(tool_called=pb.ToolCalled(name="look"))
            await until(lambda: sidemirror.away, within_s=PATIENCE_S)
            await asyncio.sleep(OUTAGE_S)
            turn.finish(TASK_OUTCOME_SUCCESS)
            network.down = False
            began_s = time.monotonic()
            assert await sidemirror.flush(PATIENCE_S)
            assert time.monotonic() - began_s < BACK_S
            assert not sidemirror.away
            turns = await sidemirror.thinking.ListTurns(pb.ListTurnsRequest(page_size=10), timeout=PATIENCE_S)
            assert [one.event_count for one in turns.turns] == [3]
