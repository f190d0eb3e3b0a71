"""A provider of models in a process of its own, as real ones are: it takes nothing of the loop that measures.

A process that runs this prints the address for Chat Completions. It reads `hangs` or `answers`, a line each, which it
repeats once it does so, and ends with its input.
"""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator

from tests.models.endpoint import Endpoint, Slow


class Provider:
    """The provider elsewhere, at `url`."""

    def __init__(self, process: asyncio.subprocess.Process, url: str) -> None:
        self.url = url
        self._process = process

    async def hang(self, *, hangs: bool) -> None:
        """From now on it never answers, or answers at once."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(b"hangs\n" if hangs else b"answers\n")
        assert await self._process.stdout.readline(), "the provider has ended"


@contextlib.asynccontextmanager
async def provider() -> AsyncIterator[Provider]:
    """A provider that answers, and has ended when this is left."""
    command = (sys.executable, "-m", "bench.provider")
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    assert process.stdout is not None
    try:
        url = (await process.stdout.readline()).decode().strip()
        assert url, "the provider did not start"
        yield Provider(process, url)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _serve() -> None:
    async with Endpoint() as endpoint:
        print(endpoint.openai_url, flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            endpoint.slow_of = (lambda _: Slow.HANGS) if line.strip() == "hangs" else None
            print(line.strip(), flush=True)


if __name__ == "__main__":
    asyncio.run(_serve())
