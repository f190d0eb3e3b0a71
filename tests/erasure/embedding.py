"""A local embedding model, in a thread of its own, and the texts that were sent to it."""

import asyncio
import threading
from concurrent.futures import Future
from types import TracebackType
from typing import Self

from tests.models.endpoint import EMBEDDING, KEY, Endpoint

PATIENCE_S = 60.0


class Embedding:
    """`settings` are those of a sidecar that uses it. `sent`: every text that came, in order."""

    def __init__(self) -> None:
        self.settings: dict[str, str] = {}
        self._ready: Future[None] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="embedding", daemon=True)
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self._endpoint: Endpoint
        self._seen = 0

    @property
    def sent(self) -> list[str]:
        """The texts of the calls since `forget_sent`."""
        inputs = [call.body["input"] for call in self._endpoint.calls[self._seen :]]
        return [text for sent in inputs for text in ([sent] if isinstance(sent, str) else sent)]

    def forget_sent(self) -> None:
        self._seen = len(self._endpoint.calls)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.result(PATIENCE_S)
        url = self._endpoint.openai_url
        self.settings = {
            "embedding__name": EMBEDDING,
            "embedding__base_url": url,
            "embedding__api_key": KEY,
            "embedding__usd_per_mtok": "1",
        }
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(PATIENCE_S)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with Endpoint() as self._endpoint:
            self._ready.set_result(None)
            await self._stop.wait()
