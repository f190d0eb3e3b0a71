"""A temporary sidecar for one command: real, over gRPC, with a folder that is removed afterwards."""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from sidemirror_server.assembly import assemble
from sidemirror_server.models.language_model import LanguageModel
from sidemirror_server.settings import load


@contextlib.asynccontextmanager
async def own_sidecar(model: LanguageModel | None = None) -> AsyncIterator[str]:
    """Runs a sidecar on this loop until the context ends, and yields its address. Its records are then deleted.

    It ignores the environment's settings, so that a demonstration or a replay does not depend on them. It tells only
    what it has learned, and nothing of the starter pack.
    """
    with tempfile.TemporaryDirectory(prefix="sidemirror-") as folder:
        given = {"address": "127.0.0.1:0", "data_dir": str(Path(folder) / "data"), "advice__starter_pack": "false"}
        settings = load(given, {})
        async with assemble(settings, model=model) as sidecar:
            await sidecar.start()
            stop = asyncio.Event()
            serving = asyncio.create_task(sidecar.serve_until(stop.wait()))
            try:
                yield f"127.0.0.1:{sidecar.port}"
            finally:
                stop.set()
                await serving
