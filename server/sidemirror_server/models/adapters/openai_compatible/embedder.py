"""`OpenAICompatibleEmbedder`: the `Embedder` behind `/v1/embeddings`."""

import asyncio
import importlib.util
import time
from typing import TYPE_CHECKING

from sidemirror_server.models.adapters.remote import rehearse, what_is_missing
from sidemirror_server.models.embedder import MOST_TEXTS, Embeddings
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.status import ResultStatus

if TYPE_CHECKING:
    from sidemirror_server.models.adapters.openai_compatible.embeddings import EmbeddingsEndpoint

_OFFICIAL_URL = "https://api.openai.com/v1"
_REHEARSAL_S = 5.0


class OpenAICompatibleEmbedder:
    """An embedding model of OpenAI or of a compatible server. The constructor imports nothing."""

    provider = "openai_compatible"

    def __init__(
        self, model: str, api_key: str | None, base_url: str | None = None, needed: tuple[str, ...] = ()
    ) -> None:
        """`base_url`: a server's address up to and including `/v1`; the server may need no key. None: OpenAI, which
        needs a key. `needed`: packages that the search by vectors needs; without them no vectors are made."""
        self.name = model
        self._api_key = api_key
        self._needed = needed
        self._base_url = base_url
        self.address = base_url or _OFFICIAL_URL
        self._connection: EmbeddingsEndpoint | None = None
        self._connecting = asyncio.Lock()

    async def embed(self, texts: tuple[str, ...], deadline_s: float) -> Embeddings:
        """The vectors within `deadline_s` seconds. Raises ModelFailed."""
        if deadline_s <= 0:
            raise ModelFailed(ResultStatus.SKIPPED_DEADLINE, "no time was left to make vectors")
        if not 0 < len(texts) <= MOST_TEXTS:
            raise ValueError(f"1 to {MOST_TEXTS} texts at once")
        ends_s = time.monotonic() + deadline_s
        try:
            async with asyncio.timeout(deadline_s):
                connection = await self._connected()
                return await connection.embed(texts, ends_s)
        except TimeoutError as error:
            why = f"the embedding model did not answer within {deadline_s:g} s"
            raise ModelFailed(ResultStatus.FAILED_MODEL, why) from error

    async def prepare(self) -> None:
        """Imports the SDK and rehearses a call, in a thread. Raises ModelFailed if the SDK is not installed."""
        await self._connected()
        await asyncio.to_thread(rehearse, self._rehearsal)

    async def close(self) -> None:
        """Closes the connections."""
        if self._connection is not None:
            await self._connection.close()

    async def _connected(self) -> "EmbeddingsEndpoint":
        async with self._connecting:
            if self._connection is None:
                self._connection = await self._connect()
            return self._connection

    async def _connect(self) -> "EmbeddingsEndpoint":
        why = what_is_missing("openai", self._api_key, self._base_url)
        if not why:
            try:
                return await asyncio.to_thread(self._load, None)
            except ImportError as error:
                why = f"a package of the extra `embeddings` is not installed ({error.name})"
        raise ModelFailed(ResultStatus.FAILED_MODEL, why)

    def _load(self, rehearsal_url: str | None) -> "EmbeddingsEndpoint":
        for name in self._needed:
            if importlib.util.find_spec(name) is None:
                raise ModuleNotFoundError(name=name)
        from sidemirror_server.models.adapters.openai_compatible.embeddings import EmbeddingsEndpoint

        if rehearsal_url is not None:
            return EmbeddingsEndpoint(self.name, "none", rehearsal_url, direct=True)
        return EmbeddingsEndpoint(self.name, self._api_key or "none", self.address)

    async def _rehearsal(self, address: str) -> None:
        connection = self._load(address)
        try:
            await connection.embed(("Are you there?",), time.monotonic() + _REHEARSAL_S)
        finally:
            await connection.close()
