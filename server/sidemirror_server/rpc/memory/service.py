"""ReflectiveMemoryService: the table of its RPCs."""

from functools import partial

from sidemirror_server.memory.dreams.dreams import Dreams
from sidemirror_server.memory.dreams.schedule import DreamSchedule
from sidemirror_server.memory.finding.context import MemoryContext
from sidemirror_server.memory.finding.recall import Recall
from sidemirror_server.memory.kin.graph import Explorer, MemoryGraph
from sidemirror_server.memory.kin.project_clusters import Grouping
from sidemirror_server.memory.lessons.keeping import Keeper, Trust
from sidemirror_server.memory.lessons.reflector import Reflector
from sidemirror_server.memory.recoveries.finding import RecoveryFinder
from sidemirror_server.memory.recoveries.observations import Observations
from sidemirror_server.memory.store import Memories
from sidemirror_server.memory.trials.outcomes import Outcomes
from sidemirror_server.memory.trials.trials import Trials
from sidemirror_server.policy.in_force import PoliciesInForce
from sidemirror_server.rpc.boundary.recorded_turns import RecordedTurns
from sidemirror_server.rpc.boundary.services import MEMORY, ClientStream, ServerStream, ServiceTable, Unary
from sidemirror_server.rpc.memory.build_memory_context import build_memory_context
from sidemirror_server.rpc.memory.delete_reflection import delete_reflection
from sidemirror_server.rpc.memory.dream import dream
from sidemirror_server.rpc.memory.explore_graph import explore_graph
from sidemirror_server.rpc.memory.export_reflections import export_reflections
from sidemirror_server.rpc.memory.find_recoveries import find_recoveries
from sidemirror_server.rpc.memory.generate_reflection import generate_reflection
from sidemirror_server.rpc.memory.get_lesson_statistics import get_lesson_statistics
from sidemirror_server.rpc.memory.get_reflection import get_reflection
from sidemirror_server.rpc.memory.import_reflections import import_reflections
from sidemirror_server.rpc.memory.link_reflections import link_reflections
from sidemirror_server.rpc.memory.list_clusters import list_clusters
from sidemirror_server.rpc.memory.list_dreams import list_dreams
from sidemirror_server.rpc.memory.list_prunings import list_prunings
from sidemirror_server.rpc.memory.list_receipts import list_receipts
from sidemirror_server.rpc.memory.list_recoveries import list_recoveries
from sidemirror_server.rpc.memory.list_reflection_versions import list_reflection_versions
from sidemirror_server.rpc.memory.list_reflections import list_reflections
from sidemirror_server.rpc.memory.query_reflections import query_reflections
from sidemirror_server.rpc.memory.report_outcome import report_outcome
from sidemirror_server.rpc.memory.review_reflection import review_reflection
from sidemirror_server.rpc.memory.store_reflection import store_reflection
from sidemirror_server.rpc.memory.update_reflection import update_reflection
from sidemirror_server.trace.erasure import Erasures
from sidemirror_server.trace.log import TurnLog
from sidemirror_server.trace.pruning import Pruning
from sidemirror_server.trace.receipts import Receipts
from sidemirror_server.turns.retired import RetiredWords
from sidemirror_server.work.queue import Work


def memory_service(
    store: Memories,
    graph: MemoryGraph,
    dreams: Dreams,
    pruning: Pruning,
    work: Work,
    receipts: Receipts,
    erasures: Erasures,
    reflector: Reflector,
    keeper: Keeper,
    trust: Trust,
    recall: Recall,
    context: MemoryContext,
    outcomes: Outcomes,
    schedule: DreamSchedule | None,
    turns: RecordedTurns,
    retired: RetiredWords,
    recoveries: RecoveryFinder,
    observations: Observations,
    trials: Trials,
    policies: PoliciesInForce,
    log: TurnLog,
) -> ServiceTable:
    """The table of ReflectiveMemoryService. `schedule` None: this server does not dream."""
    return ServiceTable(
        MEMORY,
        GenerateReflection=Unary(partial(generate_reflection, reflector, keeper, receipts, turns, retired), asks=True),
        StoreReflection=Unary(partial(store_reflection, keeper, turns)),
        GetReflection=Unary(partial(get_reflection, store)),
        ListReflections=Unary(partial(list_reflections, store)),
        UpdateReflection=Unary(partial(update_reflection, store)),
        DeleteReflection=Unary(partial(delete_reflection, store)),
        ListReflectionVersions=Unary(partial(list_reflection_versions, store)),
        ReviewReflection=Unary(partial(review_reflection, store)),
        QueryReflections=Unary(partial(query_reflections, recall)),
        BuildMemoryContext=Unary(partial(build_memory_context, context, turns)),
        ReportOutcome=Unary(partial(report_outcome, outcomes, receipts, turns)),
        GetLessonStatistics=Unary(partial(get_lesson_statistics, outcomes)),
        # A pass goes on, here or in another sidecar, after the streams that follow it have ended.
        Dream=ServerStream(partial(dream, schedule, work), follows=True),
        ListDreams=Unary(partial(list_dreams, dreams)),
        ListPrunings=Unary(partial(list_prunings, pruning)),
        ExportReflections=ServerStream(partial(export_reflections, store, graph, observations)),
        ImportReflections=ClientStream(partial(import_reflections, store, observations, erasures, trust)),
        ListClusters=Unary(partial(list_clusters, Grouping(store))),
        LinkReflections=Unary(partial(link_reflections, graph)),
        ExploreGraph=Unary(partial(explore_graph, Explorer(graph, store))),
        FindRecoveries=Unary(partial(find_recoveries, recoveries, turns)),
        ListReceipts=Unary(partial(list_receipts, receipts, trials, log)),
        ListRecoveries=Unary(partial(list_recoveries, observations, trials, policies, recoveries)),
    )
