"""What a point in Qdrant is: its id, its payload, and the filters that select points. Pure.

A collection has vectors of one length, of all projects. The payload of a point names its scope, its memory, the model
and a digest of the text that the vector was made from; the text itself stays in the main store.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any
from uuid import UUID

import msgspec
from qdrant_client import models

from sidemirror_server.vocabulary.scope import Scope

# The payload's fields that searches select by.
SCOPE, MODEL = "scope", "model"
_MEMORY, _TEXT = "memory_id", "text"
# A graph for each scope and none over all of them: a question is always one scope's
# (https://qdrant.tech/documentation/guides/multiple-partitions). 16 links a point are Qdrant's default.
GRAPHS = models.HnswConfigDiff(m=0, payload_m=16)
_DIGEST_BYTES = 16


class KeptVector(msgspec.Struct, frozen=True):
    """What a point says of its vector: the memory, and the digest of the text that it was made from."""

    memory_id: str
    text: str


def digest_of_text(content: str) -> str:
    """What tells whether a vector was made from a text: 32 hexadecimal digits."""
    return blake2b(content.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()


def point_id(scope: Scope, memory_id: str) -> str:
    """The id of a memory's point, which is the same in every collection."""
    name = msgspec.json.encode((scope.tenant_id, scope.project_id, memory_id))
    return str(UUID(bytes=blake2b(name, digest_size=16).digest()))


def point(scope: Scope, model: str, memory_id: str, content: str, vector: Sequence[float]) -> models.PointStruct:
    """The point of a memory's vector."""
    payload = {SCOPE: _named(scope), MODEL: model, _MEMORY: memory_id, _TEXT: digest_of_text(content)}
    return models.PointStruct(id=point_id(scope, memory_id), vector=list(vector), payload=payload)


def kept(payload: dict[str, Any] | None) -> KeptVector:
    """What the payload of a point of ours says."""
    said = payload or {}
    return KeptVector(said.get(_MEMORY, ""), said.get(_TEXT, ""))


def of_scope(scope: Scope, model: str | None = None) -> models.Filter:
    """Selects the points of a scope, and of one model unless it is None."""
    wanted = {SCOPE: _named(scope)} if model is None else {SCOPE: _named(scope), MODEL: model}
    return models.Filter(
        must=[models.FieldCondition(key=key, match=models.MatchValue(value=value)) for key, value in wanted.items()]
    )


def _named(scope: Scope) -> str:
    return msgspec.json.encode((scope.tenant_id, scope.project_id)).decode()
