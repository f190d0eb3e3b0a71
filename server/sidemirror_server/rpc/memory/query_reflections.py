"""QueryReflections: the memories that answer a question, and why."""

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.finding.recall import Hit, Question, Recall, SearchAnswer, SearchMode
from sidemirror_server.memory.finding.search import Filter
from sidemirror_server.memory.record import MemoryState
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import fitting
from sidemirror_server.rpc.memory.memories import KIND_NAMES, memory_to_wire
from sidemirror_server.rpc.wire.common import numbers_of
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.text import enter

# Seed reflection-engine-v2, "Query Reflections".
_DEFAULT_K = 5
_DEFAULT_MIN_IMPORTANCE = 0.5
# A message holds 4 MiB; hits that do not fit are left out, the last first.
_ANSWER_BYTES = 3 * 1024 * 1024
_MODES = numbers_of(SearchMode, pb.SearchMode)


async def query_reflections(
    recall: Recall, request: pb.QueryReflectionsRequest, call: Call
) -> pb.QueryReflectionsResponse:
    others = {
        MemoryState.QUARANTINED: request.include_quarantined,
        MemoryState.RETIRED: request.include_retired,
    }
    states = (MemoryState.ACTIVE, *(state for state, is_wanted in others.items() if is_wanted))
    wanted = Filter(
        min_importance=request.min_importance if request.HasField("min_importance") else _DEFAULT_MIN_IMPORTANCE,
        tags=tuple(dict.fromkeys(enter(tag) for tag in request.tags)),
        kind=KIND_NAMES.get(request.kind),
        states=states,
    )
    question = Question(
        *(enter(request.query_text), request.k or _DEFAULT_K, wanted, request.explain),
        explain_ids=tuple(enter(memory_id) for memory_id in request.explain_ids),
        newest_first=request.newest_first,
    )
    return _answer_to_wire(await recall.ask(call.scope, question), call.scope, explain=request.explain)


def _answer_to_wire(answer: SearchAnswer, scope: Scope, *, explain: bool) -> pb.QueryReflectionsResponse:
    """The answer, with as many hits as fit into a message."""
    hits = fitting(
        (_hit_to_wire(hit, scope, explain=explain) for hit in answer.hits),
        *(pb.QueryHit.ByteSize, _ANSWER_BYTES),
        at_least=0,
    )
    return pb.QueryReflectionsResponse(
        hits=hits,
        search_mode=_MODES[answer.mode],
        misses=[pb.QueryMiss(id=miss.memory_id, reason=miss.reason) for miss in answer.misses],
    )


def _hit_to_wire(hit: Hit, scope: Scope, *, explain: bool) -> pb.QueryHit:
    wire = pb.QueryHit(memory=memory_to_wire(hit.memory, scope), score=hit.score)
    if explain:
        parts = [pb.ScorePart(name=part.name, value=part.value, rank=part.rank) for part in hit.parts]
        told = pb.HitExplanation(summary=hit.summary, parts=parts, matched_terms=hit.matched)
        wire.explanation.CopyFrom(told)
    return wire
