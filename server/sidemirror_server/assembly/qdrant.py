"""Vectors of memories in Qdrant: `SIDEMIRROR_STORE=qdrant`, a store by entry point like those of other packages."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

from sidemirror_server.assembly.custom_stores import CustomStores
from sidemirror_server.settings import BadSettings
from sidemirror_server.vocabulary.clock import SystemClock

_DURABILITY = "vectors that Qdrant loses are made again from the memories in the main store"


@contextlib.asynccontextmanager
async def opened(url: str, main: Mapping[str, Any]) -> AsyncIterator[CustomStores]:
    """The search of the main store, with vectors in the Qdrant at this URL, which may be away. The client is loaded
    only here. Raises BadSettings."""
    try:
        from sidemirror_server.storage.qdrant.database import opened as connected
        from sidemirror_server.storage.qdrant.memory_search import QdrantMemorySearch
    except ModuleNotFoundError as error:
        raise BadSettings(
            f"store (SIDEMIRROR_STORE): qdrant needs the package {error.name}: pip install 'sidemirror-server[qdrant]'"
        ) from error
    try:
        database = connected(url, SystemClock())
    except ValueError as error:
        raise BadSettings(f"store_url (SIDEMIRROR_STORE_URL): {error}") from error
    try:
        search = QdrantMemorySearch(database, main["memory_search"], main["memories"])
        yield CustomStores({"memory_search": search}, "qdrant", _DURABILITY, database.is_available)
    finally:
        await database.close()
