"""A whole sidecar beside the test: what `assemble` makes, in a thread with a loop of its own, on a Unix socket."""

import asyncio
import gc
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc

from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_server.assembly import assemble
from sidemirror_server.assembly.http_door import HttpDoor
from sidemirror_server.operations.loop import GIVE_WAY_S
from sidemirror_server.rpc.boundary.admission import Admission
from sidemirror_server.settings import load

# How long anything that should happen at once may take on a busy machine.
PATIENCE_S = 60.0


class SidecarThread:
    """Starts and stops like a `grpc.Server`, which is what pytest-grpc's fixtures expect."""

    def __init__(self, folder: Path, *, settings: dict[str, str] | None = None, **given: Any) -> None:
        """`folder`: of the store and the socket. `given`: what `assemble` takes beside the settings."""
        self.folder = folder
        self._socket = folder / "s"
        self._settings = settings or {}
        self._given = given
        self._ready: Future[None] = Future()
        self._stop: asyncio.Event
        self.admission: Admission
        self.port: int
        # Where the settings ask for one.
        self.door: HttpDoor | None = None
        self._loop: asyncio.AbstractEventLoop
        self._thread = threading.Thread(target=self._run, name="sidecar", daemon=True)

    @property
    def address(self) -> str:
        return f"unix:{self._socket}"

    @property
    def http_port(self) -> int:
        """Of the HTTP door; 0 when nothing listens."""
        return self.door.port if self.door else 0

    def add_insecure_port(self, address: str) -> int:
        self._socket = Path(address.removeprefix("unix:"))
        return 1

    def start(self) -> None:
        sys.setswitchinterval(GIVE_WAY_S)  # as the command does, for the whole process
        self._thread.start()
        self._ready.result(PATIENCE_S)

    def stop(self, grace: float | None = None) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            if self._ready.done():
                raise
            self._ready.set_exception(error)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        settings = load(
            {
                "address": "127.0.0.1:0",
                "socket": str(self._socket),
                "data_dir": str(self.folder / "data"),
                # Nobody has to be waited for: what the store is given at the end is outside of this.
                "grace_s": "2",
                "advice__starter_pack": "false",
                **self._settings,
            },
            {},
        )
        async with assemble(settings, **self._given) as sidecar:
            await sidecar.start()
            self.admission, self.port = sidecar.admission, sidecar.port
            self.door = sidecar.door
            self._ready.set_result(None)
            await sidecar.serve_until(self._stop.wait())
        # A grpc.aio server that is collected after its loop was closed complains, and warnings are errors here.
        del sidecar
        gc.collect()


@contextmanager
def sidecar(folder: Path, *, settings: dict[str, str] | None = None, **given: Any) -> Iterator[SidecarThread]:
    """A sidecar of one's own, for tests that stop it, look into its store or put it together otherwise."""
    server = SidecarThread(folder, settings=settings, **given)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def thinking(server: SidecarThread) -> Iterator[ThinkingServiceStub]:
    """A stub on a connection of its own."""
    with grpc.insecure_channel(server.address) as channel:
        yield ThinkingServiceStub(channel)
