"""The connection to Qdrant: every request is bounded in time, and its errors become the store's.

No other module reads the client's errors. Error texts may hold what was sent, so only their kind is passed on.
"""

import contextlib
import logging
import re
import urllib.parse
import warnings
from collections.abc import Iterator

from qdrant_client import AsyncQdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from sidemirror_server.storage.qdrant.points import GRAPHS, MODEL, SCOPE
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import StoreRefused, StoreUnavailable
from sidemirror_server.vocabulary.outage import Outage

_log = logging.getLogger(__name__)

# Chosen here: as long as a question waits for its vector (`memory/finding/embeddings.py`), in whole seconds, which the
# client asks for.
_ANSWERS_S = 2
# What the names of our collections begin with, unless the URL says otherwise.
_PREFIX = "sidemirror"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_STATUS_CONFLICT, _STATUSES_REFUSED = 409, (401, 403)


class QdrantDatabase:
    """The collections of one main store in a Qdrant. `is_available`: whether it answered its last request."""

    def __init__(self, client: AsyncQdrantClient, clock: Clock, prefix: str = _PREFIX) -> None:
        """`prefix`: what the names of the collections begin with; main stores that share a Qdrant have one each."""
        self.client = client
        self._prefix = prefix
        self._answers = True
        self._outage = Outage(_log, "qdrant_away", "qdrant_back", clock)

    def is_available(self) -> bool:
        return self._answers

    @contextlib.contextmanager
    def asking(self) -> Iterator[None]:
        """Around requests: translates their errors. Raises StoreUnavailable, StoreRefused. So does each status that is
        an error, also 400 and 404: a proxy may have sent it, and an answer must not end the sidecar."""
        try:
            yield
        except (ApiException, QdrantException) as error:
            self._answers = False
            failed = _failure(error)
            self._outage.failed({"reason": str(failed)})
            raise failed from error
        self._answers = True
        self._outage.worked()

    def collection_of(self, dimensions: int) -> str:
        """The collection of vectors of this length."""
        return f"{self._prefix}_memories_{dimensions}"

    async def collections(self) -> tuple[str, ...]:
        """The names of our collections. Raises StoreUnavailable."""
        with self.asking():
            found = (await self.client.get_collections()).collections
        ours = re.compile(rf"{re.escape(self._prefix)}_memories_\d+")
        return tuple(one.name for one in found if ours.fullmatch(one.name))

    async def make(self, dimensions: int) -> None:
        """Makes the collection of vectors of this length; another process may do so too. Raises StoreUnavailable."""
        name = self.collection_of(dimensions)
        size = models.VectorParams(size=dimensions, distance=models.Distance.DOT)  # all vectors have the length 1
        with self.asking():
            try:
                await self.client.create_collection(name, vectors_config=size, hnsw_config=GRAPHS)
            except UnexpectedResponse as error:
                if error.status_code != _STATUS_CONFLICT:
                    raise
            by_scope = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
            await self.client.create_payload_index(name, SCOPE, field_schema=by_scope)
            await self.client.create_payload_index(name, MODEL, field_schema=models.PayloadSchemaType.KEYWORD)

    async def close(self) -> None:
        """Ends the connections."""
        await self.client.close()


def opened(url: str, clock: Clock) -> QdrantDatabase:
    """A connection to `http(s)://[:API_KEY@]host[:port][?prefix=NAME]`; nothing is sent yet. Raises ValueError for
    another URL."""
    parts = urllib.parse.urlsplit(url)
    chosen = urllib.parse.parse_qs(parts.query)
    (prefix,) = chosen.pop("prefix", [_PREFIX])[-1:]
    name = parts.hostname or ""
    is_address = parts.scheme in ("http", "https") and name and not parts.username
    if not is_address or chosen or not _NAME.fullmatch(prefix):
        raise ValueError("it is not of the form http://host:6333, https://:API_KEY@host:6333 or …?prefix=NAME")
    host = f"[{name}]" if ":" in name else name
    address = f"{parts.scheme}://{host}:{parts.port or 6333}{parts.path}"
    key = urllib.parse.unquote(parts.password) if parts.password else None
    with warnings.catch_warnings(action="ignore"):  # that a key goes over plain HTTP: docs/operations.md says so
        client = AsyncQdrantClient(url=address, api_key=key, timeout=_ANSWERS_S, check_compatibility=False)
    return QdrantDatabase(client, clock, prefix)


def _failure(error: Exception) -> StoreUnavailable:
    if isinstance(error, UnexpectedResponse):
        if error.status_code in _STATUSES_REFUSED:
            return StoreRefused(store="qdrant", reason="it does not take this API key")
        return StoreUnavailable(store="qdrant", reason=f"status {error.status_code}")
    told = error.source if isinstance(error, ResponseHandlingException) else error
    return StoreUnavailable(store="qdrant", reason=type(told).__name__)
