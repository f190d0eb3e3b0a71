"""Makes the model of each purpose, its price and its caps from the settings.

Called by `assembly/sidecar.py`. The only module that imports the adapters of models.
"""

import importlib.metadata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from sidemirror_server.memory.dreams import prompts as dream_prompts
from sidemirror_server.memory.lessons import prompts as memory_prompts
from sidemirror_server.models import templates as purpose_prompts
from sidemirror_server.models.adapters.anthropic import AnthropicModel
from sidemirror_server.models.adapters.openai_compatible import OpenAICompatibleEmbedder, OpenAICompatibleModel
from sidemirror_server.models.adapters.remote import what_is_missing
from sidemirror_server.models.adapters.rules import RulesModel
from sidemirror_server.models.caps import Caps
from sidemirror_server.models.embedding import PaidEmbedder
from sidemirror_server.models.gateway import Provider, Route
from sidemirror_server.models.language_model import LanguageModel, Purpose
from sidemirror_server.models.ledger import NANO, Level
from sidemirror_server.models.prices import OwnPrice, Prices
from sidemirror_server.models.profiles import Profile
from sidemirror_server.models.spending import Spending
from sidemirror_server.models.telemetry import Questions
from sidemirror_server.models.templates import BadTemplate, Templates
from sidemirror_server.policy.record import Cap
from sidemirror_server.rpc.boundary.strangers import Strangers
from sidemirror_server.rpc.sidecar.info import EmbeddingFacts, ModelFacts, ServerInfo, StoreFacts
from sidemirror_server.settings import PREFIX, BadSettings, PurposeSettings, Secret, Settings
from sidemirror_server.storage.sqlite.memory_vectors import NEEDED as VECTORS_NEED
from sidemirror_server.thinking import prompts as thinking_prompts
from sidemirror_server.thinking.config import SessionDefaults, ThinkingConfig
from sidemirror_server.thinking.levels import ThinkLevel
from sidemirror_server.vocabulary.arbiter import Telling
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, Served, Serves
from sidemirror_server.vocabulary.store_clock import StoreClock
from sidemirror_server.vocabulary.traffic import Traffic

# The provider's small model (decision 023). openai_compatible: only at OpenAI's public address, because the models of
# another server are unknown.
_SMALL = {"anthropic": "claude-haiku-5-5", "openai_compatible": "gpt-5-mini", "rules": RulesModel.name}
# The purposes of language models; an embedding model serves the other one.
ASKED_FOR: tuple[Purpose, ...] = tuple(purpose for purpose in Purpose if purpose is not Purpose.MEMORY_EMBEDDING)
# Entry points by which packages offer providers: callables (model name, API key or None, URL or None) → LanguageModel.
_ENTRY_POINTS = "sidemirror.models"


def routes_of(settings: Settings, clock: Clock) -> dict[Purpose, Route]:
    """The route of each purpose, from the settings. Raises BadSettings."""
    chosen = settings.model
    make = _maker(chosen.provider)
    if service := _SERVICES.get(chosen.provider):
        _check_connection("model", service, chosen.api_key, chosen.base_url)
    small = "" if chosen.base_url and chosen.provider == "openai_compatible" else _SMALL.get(chosen.provider, "")
    own_price = None
    if chosen.input_usd_per_mtok is not None and chosen.output_usd_per_mtok is not None:
        own_price = OwnPrice(chosen.input_usd_per_mtok, chosen.output_usd_per_mtok)
    providers: dict[str, Provider] = {}
    routes: dict[Purpose, Route] = {}
    for purpose in ASKED_FOR:
        own: PurposeSettings = getattr(settings.purposes, purpose.value)
        name = own.model or chosen.name or small
        if not name:
            raise BadSettings(f"model__name (SIDEMIRROR_MODEL__NAME): {chosen.provider} needs the name of a model")
        if name not in providers:
            prices = Prices(chosen.provider, name, chosen.base_url or None, own_price)
            model = make(name, chosen.api_key.reveal() or None, chosen.base_url or None)
            is_free = isinstance(model, RulesModel)
            providers[name] = Provider(model, None if is_free else prices, chosen.concurrency, clock)
        routes[purpose] = Route(providers[name], Profile(own.effort, own.temperature, own.max_tokens))
    return routes


# The service behind a provider's public address, which requires a key.
_SERVICES = {"anthropic": "anthropic", "openai_compatible": "openai"}


def _check_connection(group: str, service: str, key: Secret, base_url: str) -> None:
    """Raises BadSettings when this group of settings lacks a key or an address. Sends no request."""
    missing = what_is_missing(service, key.reveal() or None, base_url or None)
    if not missing:
        return
    own = f"{PREFIX}{group.upper()}__"
    if "base URL" in missing:
        raise BadSettings(f"{group}__base_url ({own}BASE_URL or {service.upper()}_BASE_URL): {missing}")
    elsewhere = "" if key or service == "anthropic" else f", and no base URL ({own}BASE_URL) of another server"
    raise BadSettings(f"{group}__api_key ({own}API_KEY or {service.upper()}_API_KEY): {missing}{elsewhere}")


def _maker(provider: str) -> Callable[[str, str | None, str | None], LanguageModel]:
    """A factory of the provider's models, from name, key and URL. Raises BadSettings for an unknown provider."""
    ours: dict[str, Callable[[str, str | None, str | None], LanguageModel]] = {
        "rules": lambda _name, _key, _url: RulesModel(),
        "anthropic": AnthropicModel,
        "openai_compatible": OpenAICompatibleModel,
    }
    if provider in ours:
        return ours[provider]
    offered = {point.name: point for point in importlib.metadata.entry_points(group=_ENTRY_POINTS)}
    if provider not in offered:
        known = ", ".join([*ours, *sorted(offered)])
        raise BadSettings(f"model__provider (SIDEMIRROR_MODEL__PROVIDER): there is no {provider!r}; there are {known}")
    found: Callable[[str, str | None, str | None], LanguageModel] = offered[provider].load()
    return found


def stand_in(model: LanguageModel, clock: Clock) -> dict[Purpose, Route]:
    """Routes that ask this model for every purpose, at no cost."""
    provider = Provider(model, None, 1, clock)
    return {purpose: Route(provider) for purpose in Purpose}


def caps_of(settings: Settings, serves: Serves) -> Caps:
    """The caps of a day's spending. Those in total and on purposes count what the scopes spend that the sidecar
    serves."""
    spend = settings.spend
    alone = serves.entries[0] if len(serves.entries) == 1 else Served()
    counted = Level.TOTAL if alone.tenant_id is None else Level.TENANT if alone.project_id is None else Level.PROJECT
    return Caps(
        total=_cap(spend.tokens_per_day, spend.usd_per_day),
        tenant=_cap(spend.tenant_tokens_per_day, spend.tenant_usd_per_day),
        project=_cap(spend.project_tokens_per_day, spend.project_usd_per_day),
        purposes={
            purpose: _cap(own.tokens_per_day, own.usd_per_day)
            for purpose in Purpose
            for own in (getattr(settings.purposes, purpose.value),)
        },
        counted=counted,
        serves=serves if counted is Level.TOTAL else SERVES_ALL,
    )


def _cap(tokens: int | None, usd: float | None) -> Cap:
    return Cap(tokens, None if usd is None else round(usd * NANO))


def templates_of(settings: Settings) -> Templates | None:
    """The operator's prompts; None when there are none. Raises BadSettings."""
    if not settings.prompts_dir:
        return None
    try:
        return Templates(
            Path(settings.prompts_dir),
            {
                **thinking_prompts.templates(),
                **purpose_prompts.templates(),
                **memory_prompts.templates(),
                **dream_prompts.templates(),
            },
        )
    except BadTemplate as error:
        raise BadSettings(f"prompts_dir (SIDEMIRROR_PROMPTS_DIR): {error}") from error


def info_of(
    settings: Settings,
    own: Scope,
    serves: Serves,
    stores: Sequence[StoreFacts],
    clock: StoreClock,
    routes: Mapping[Purpose, Route],
    embedding: EmbeddingFacts | None,
    own_clock: Clock,
    traffic: Traffic,
    strangers: Strangers,
    questions: Questions,
) -> ServerInfo:
    """The answer of GetServerInfo."""
    limits = {name: int(value) for name, value in msgspec.structs.asdict(settings.limits).items()}
    return ServerInfo(
        version=importlib.metadata.version("sidemirror-server"),
        own_scope=own,
        serves=serves,
        stores=tuple(stores),
        models=tuple(_facts(purpose, routes[purpose].provider) for purpose in ASKED_FOR),
        limits=limits,
        store_clock=clock,
        default_config=defaults_of(settings).config,
        embedding=embedding,
        own_clock=own_clock,
        traffic=traffic,
        strangers=strangers,
        questions=questions,
        advice_is_shadow=telling_of(settings).is_shadow,
    )


def defaults_of(settings: Settings) -> SessionDefaults:
    """What sessions start with. Nothing is learned from turns that nobody may learn from."""
    chosen = settings.defaults
    config = ThinkingConfig(level=ThinkLevel(chosen.level), critique_mode=chosen.critique_mode)
    return SessionDefaults(config, chosen.context, learns=chosen.learning and may_learn(settings))


def telling_of(settings: Settings) -> Telling:
    """How advice is told."""
    chosen = settings.advice
    return Telling(
        chosen.failure_tokens, chosen.start_tokens, is_shadow=chosen.mode == "shadow", has_starters=chosen.starter_pack
    )


def may_learn(settings: Settings) -> bool:
    """Whether something may be learned unasked: in memory mode full, and with a model only where the operator said so.
    A model that embeds or scores what is learned counts too."""
    memory = settings.memory
    return memory.enabled and memory.mode == "full" and (not _has_model(settings) or settings.learn.model == "on")


def asks_to_learn(settings: Settings) -> bool:
    """Whether a model is asked that costs something, and so once about a failure."""
    return _has_model(settings)


def _has_model(settings: Settings) -> bool:
    return bool(settings.model.provider != "rules" or settings.embedding.name or settings.memory.scorer)


def _facts(purpose: Purpose, provider: Provider) -> ModelFacts:
    model, is_paid = provider.model, provider.prices is not None
    return ModelFacts(
        *(purpose.value, model.provider, model.name),
        lambda: provider.would_answer(purpose),
        is_paid=is_paid,
        is_price_unknown=lambda: provider.prices is not None and provider.prices.assumed,
    )


class Destination(msgspec.Struct, frozen=True):
    """Where a model's questions go. `address`: a URL; None for a model of another package, which does not say it.
    `setting`: the name of the setting that chooses the address."""

    provider: str
    model: str
    address: str | None
    purposes: tuple[Purpose, ...]
    setting: str


def destinations_of(settings: Settings, clock: Clock) -> tuple[Destination, ...]:
    """Where the questions of each purpose go; models that answer in this process go nowhere. Raises BadSettings."""
    found = []
    routes = routes_of(settings, clock)
    for provider in dict.fromkeys(route.provider for route in routes.values()):
        model = provider.model
        if not isinstance(model, RulesModel):
            purposes = tuple(purpose for purpose, route in routes.items() if route.provider is provider)
            address = getattr(model, "address", None)
            found.append(Destination(model.provider, model.name, address, purposes, "model__base_url"))
    if (embedder := _embedder(settings)) is not None:
        embeds = (Purpose.MEMORY_EMBEDDING,)
        found.append(Destination(embedder.provider, embedder.name, embedder.address, embeds, "embedding__base_url"))
    return tuple(found)


def check_embedding(settings: Settings) -> None:
    """Raises BadSettings when the settings name an embedding model and lack its key or address."""
    if settings.embedding.name:
        _check_connection("embedding", "openai", settings.embedding.api_key, settings.embedding.base_url)


def embedder_of(settings: Settings, spending: Spending, clock: Clock, questions: Questions) -> PaidEmbedder | None:
    """The embedder that the settings name; None when they name none."""
    chosen, embedder = settings.embedding, _embedder(settings)
    if embedder is None:
        return None
    own = None if chosen.usd_per_mtok is None else OwnPrice(chosen.usd_per_mtok, 0.0)
    prices = Prices("openai_compatible", chosen.name, chosen.base_url or None, own)
    return PaidEmbedder(embedder, prices, chosen.concurrency, spending, clock, questions)


def _embedder(settings: Settings) -> OpenAICompatibleEmbedder | None:
    chosen = settings.embedding
    if not chosen.name:
        return None
    needed = () if settings.database_url else VECTORS_NEED
    return OpenAICompatibleEmbedder(chosen.name, chosen.api_key.reveal() or None, chosen.base_url or None, needed)
