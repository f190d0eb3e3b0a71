"""Facts about the server for GetServerInfo; `assembly` fills them in."""

from collections.abc import Callable, Mapping

import msgspec

from sidemirror_server.memory.finding.weighing import Weight
from sidemirror_server.models.telemetry import Questions
from sidemirror_server.rpc.boundary.strangers import Strangers
from sidemirror_server.thinking.config import ThinkingConfig
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.scope import Scope, Serves
from sidemirror_server.vocabulary.store_clock import StoreClock
from sidemirror_server.vocabulary.traffic import Traffic


class StoreFacts(msgspec.Struct, frozen=True):
    """One store: its technology, what it holds, what a confirmed write survives, and whether it answered its last
    request. `lost`: why only a restart helps; empty while nothing is lost. `slowest_commit_s`: of the last minute; 0.0
    while commits are not slow. `is_full`: whether its disk was full when it last wrote."""

    kind: str
    holds: str
    durability: Callable[[], str]
    is_available: Callable[[], bool]
    lost: Callable[[], str] = str
    slowest_commit_s: Callable[[], float] = float
    is_full: Callable[[], bool] = bool


class ModelFacts(msgspec.Struct, frozen=True):
    """The model for a purpose, and whether it would answer now, but for caps. `is_paid`: caps hold for it.
    `is_price_unknown`: no price of it is known."""

    purpose: str
    provider: str
    model: str
    is_available: Callable[[], bool]
    is_paid: bool = False
    is_price_unknown: Callable[[], bool] = bool


class EmbeddingFacts(msgspec.Struct, frozen=True):
    """The embedding model of memories, and its weight in a scope."""

    model: str
    weight: Callable[[Scope], Weight]


class ServerInfo(msgspec.Struct, frozen=True):
    """The facts for GetServerInfo. `serves`: the scopes that it serves. `limits`: by the name of the setting.
    `default_config`: what sessions start with. `own_clock`: this machine's. `traffic`: who sends how much. `strangers`:
    whose calls are refused. `questions`: which models fail. `embedding`: None without such a model. `advice_is_shadow`:
    advice is kept and not told."""

    version: str
    own_scope: Scope
    serves: Serves
    stores: tuple[StoreFacts, ...]
    models: tuple[ModelFacts, ...]
    limits: Mapping[str, int]
    store_clock: StoreClock
    default_config: ThinkingConfig
    own_clock: Clock
    traffic: Traffic
    strangers: Strangers
    questions: Questions
    embedding: EmbeddingFacts | None = None
    advice_is_shadow: bool = False
