"""What a server says about itself; filled in by `assembly`."""

from collections.abc import Callable, Mapping

import msgspec

from sidemirror_server.vocabulary.scope import Scope


class StoreFacts(msgspec.Struct, frozen=True):
    """One store: technology, what it holds, what an OK survives as far as is known now, and whether it answered when it
    was asked last."""

    kind: str
    holds: str
    durability: Callable[[], str]
    is_available: Callable[[], bool]


class ModelFacts(msgspec.Struct, frozen=True):
    """What answers for a purpose, and whether it is being asked."""

    purpose: str
    provider: str
    model: str
    is_available: Callable[[], bool]


class ServerInfo(msgspec.Struct, frozen=True):
    """Everything that GetServerInfo tells. `limits`: by the name of the setting."""

    version: str
    own_scope: Scope
    stores: tuple[StoreFacts, ...]
    models: tuple[ModelFacts, ...]
    limits: Mapping[str, int]
