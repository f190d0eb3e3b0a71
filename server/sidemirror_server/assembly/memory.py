"""Assembles reflective memory: its service, its background work and its embeddings.

Called by `assembly/sidecar.py`.
"""

import importlib.metadata

from sidemirror_server.assembly.models import asks_to_learn, defaults_of, telling_of
from sidemirror_server.assembly.stores import Stores
from sidemirror_server.goals.publish import Publisher
from sidemirror_server.goals.report import KIND as GOAL_REPORT
from sidemirror_server.memory.dreams.dreaming import Dreamer
from sidemirror_server.memory.dreams.prompts import DreamPrompts
from sidemirror_server.memory.dreams.schedule import KIND as DREAM
from sidemirror_server.memory.dreams.schedule import DreamSchedule
from sidemirror_server.memory.finding.context import MemoryContext
from sidemirror_server.memory.finding.embeddings import MemoryMeanings
from sidemirror_server.memory.finding.recall import Recall
from sidemirror_server.memory.finding.similarity_links import Alikes
from sidemirror_server.memory.finding.waking import WakingMemories
from sidemirror_server.memory.finding.weights import Weights
from sidemirror_server.memory.lessons.keeping import Keeper, Trust
from sidemirror_server.memory.lessons.prompts import MemoryPrompts
from sidemirror_server.memory.lessons.reflector import Reflector
from sidemirror_server.memory.lessons.scoring import Scorer, models_own
from sidemirror_server.memory.recoveries.finding import RecoveryFinder
from sidemirror_server.memory.store import Memories
from sidemirror_server.memory.trials.outcomes import Outcomes
from sidemirror_server.models.embedding import PaidEmbedder
from sidemirror_server.models.gateway import Gateway
from sidemirror_server.models.templates import Templates
from sidemirror_server.policy.in_force import PoliciesInForce
from sidemirror_server.rpc.boundary.disabled import disabled
from sidemirror_server.rpc.boundary.recorded_turns import RecordedTurns
from sidemirror_server.rpc.boundary.services import MEMORY, ServiceTable
from sidemirror_server.rpc.memory.service import memory_service
from sidemirror_server.rpc.sidecar.info import EmbeddingFacts
from sidemirror_server.settings import BadSettings, Settings
from sidemirror_server.turns.learning import GoalLearner, Learner, Leftovers
from sidemirror_server.turns.lessons import Lessons
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.turns.recovery_advice import RecoveryAdvice
from sidemirror_server.turns.recovery_learning import RecoveryLearner
from sidemirror_server.turns.retired import RetiredWords
from sidemirror_server.turns.teaching import KIND as LEARN_TURN
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.giving_way import Awaited
from sidemirror_server.work.worker import Handler

# Entry points by which packages offer scorers of memories: callables `memory.scoring.Scored` → `memory.scoring.Scores`.
_SCORERS = "sidemirror.scorers"


class ReflectiveMemory:
    """Reflective memory. `meanings` embeds memories while it runs; None without an embedding model. `alikes` makes
    links, `retired` finds the retired lessons that texts repeat. `schedule` starts the dreaming passes of projects,
    `learner` learns recoveries; both are None in mode lite and when memory is disabled."""

    def __init__(
        self, settings: Settings, stores: Stores, embedder: PaidEmbedder | None, policies: PoliciesInForce, clock: Clock
    ) -> None:
        serves = policies.serves
        self._settings = settings
        self._stores = stores
        self._policies = policies
        self._clock = clock
        self._trust = Trust(settings.memory.trust_policy, settings.memory.min_store_importance)
        self._memories: Memories = stores.memories
        self.meanings: MemoryMeanings | None = None
        if embedder is not None:
            shared = bool(settings.database_url)
            weights = Weights(embedder, stores.memory_search, stores.memories, clock)
            made = (embedder, stores.memory_search, clock)
            self.meanings = MemoryMeanings(*made, shared=shared, serves=serves, weights=weights)
            self._memories = WakingMemories(stores.memories, self.meanings.wake)
        self.alikes = Alikes(stores.memory_graph, stores.memories, stores.memory_search)
        self._recall = Recall(self._memories, stores.memory_search, self.meanings, clock)
        self.retired = RetiredWords(self._recall if settings.memory.enabled else None)
        telling = telling_of(settings)
        self._context = MemoryContext(
            *(self._recall, stores.memory_search, stores.memory_graph, stores.receipts, stores.trials),
            *(policies, clock, telling),
        )
        self.recoveries = RecoveryFinder(stores.observations, stores.trials, policies, clock, telling)
        self.schedule: DreamSchedule | None = None
        self._awaited = Awaited()
        self.learner: RecoveryLearner | None = None
        if settings.memory.enabled and settings.memory.mode == "full":
            self.schedule = DreamSchedule(stores.dreams, stores.work, stores.log, clock, serves)
            self.learner = RecoveryLearner(
                *(stores.log, stores.observations, stores.receipts, stores.trials),
                *(self.recoveries, serves, clock, self._awaited),
            )

    @property
    def context(self) -> MemoryContext | None:
        """Finds lessons for a task; None when reflective memory is disabled."""
        return self._context if self._settings.memory.enabled else None

    def advice(self, recorder: Recorder, lessons: Lessons) -> RecoveryAdvice | None:
        """Tells turns of recoveries; None while none are learned."""
        if self.learner is None:
            return None
        return RecoveryAdvice(self.recoveries, lessons, recorder, self._clock, self._awaited, self.learner.turn_ended)

    @property
    def embedding(self) -> EmbeddingFacts | None:
        """The embedding model and its weights; None when there is none, or reflective memory is disabled."""
        if self.meanings is None or not self._settings.memory.enabled:
            return None
        return EmbeddingFacts(self._settings.embedding.name, self.meanings.weight)

    def service(self, gateway: Gateway, own: Templates | None, turns: RecordedTurns) -> ServiceTable:
        """ReflectiveMemoryService; `own`: the operator's prompts. Raises BadSettings."""
        chosen = self._settings.memory
        if not chosen.enabled:
            return disabled(MEMORY, "memory__enabled (REFLECTIVE_MEMORY_ENABLED) is false")
        stores = self._stores
        reflector = Reflector(gateway, MemoryPrompts(own), scorer_of(chosen.scorer))
        keeper = Keeper(self._memories, self._clock, self._trust, self.alikes.wake)
        return memory_service(
            *(self._memories, stores.memory_graph, stores.dreams, stores.pruning, stores.work, stores.receipts),
            stores.erasures,
            *(reflector, keeper, self._trust, self._recall, self._context),
            *(
                Outcomes(self._memories, stores.trials, stores.receipts, self._clock),
                self.schedule,
                turns,
                self.retired,
            ),
            *(self.recoveries, stores.observations),
            stores.trials,
            self._policies,
            stores.log,
        )

    def handlers(self, gateway: Gateway, own: Templates | None, goals: Publisher) -> dict[str, Handler]:
        """The handlers of the background jobs, by kind; `own`: the operator's prompts; `goals` publishes goals'
        reflections. Raises BadSettings."""
        stores, clock, scorer = self._stores, self._clock, scorer_of(self._settings.memory.scorer)
        learns = defaults_of(self._settings).learns
        keeper = Keeper(self._memories, clock, self._trust, self.alikes.wake)
        handlers: dict[str, Handler] = {GOAL_REPORT: GoalLearner(goals, keeper if learns else None, clock).handle}
        if learns:
            learner = Learner(
                *(stores.log, stores.sessions, stores.receipts, stores.memory_graph),
                *(Reflector(gateway, MemoryPrompts(own), scorer), keeper, clock, self._awaited),
                once_per_signature=asks_to_learn(self._settings),
            )
            handlers[LEARN_TURN] = learner.handle
        if self.schedule is not None:
            dreamer = Dreamer(
                *(gateway, DreamPrompts(own), self._memories, stores.dreams, clock, self._trust),
                *(scorer, self.alikes.wake),
                Leftovers(stores.log, stores.work, clock).learn if learns else None,
            )
            handlers[DREAM] = dreamer.handle
        return handlers


def scorer_of(name: str) -> Scorer:
    """The scorer of that name, or the model's own scores. Raises BadSettings for an unknown one."""
    if not name:
        return models_own
    offered = {point.name: point for point in importlib.metadata.entry_points(group=_SCORERS)}
    if name not in offered:
        known = ", ".join(sorted(offered)) or "none"
        raise BadSettings(f"memory__scorer (SIDEMIRROR_MEMORY__SCORER): there is no {name!r}; there are {known}")
    found: Scorer = offered[name].load()
    return found
