"""The calls of ReflectiveMemoryService that find memories."""

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.context import DEFAULT_ITEMS, MemoryContext, Task
from sidemirror_server.memory.recall import Answer, Hit, Question, Recall, SearchMode
from sidemirror_server.memory.record import MemoryState
from sidemirror_server.memory.search import Filter
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.memory.memories import CATEGORY_NAMES, KIND_NAMES, memory_to_wire
from sidemirror_server.rpc.wire.blocks import block_to_wire
from sidemirror_server.vocabulary.block import MAX_TOKENS
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.text import enter

# Seed reflection-engine-v2, "Query Reflections".
_DEFAULT_K = 5
_DEFAULT_MIN_IMPORTANCE = 0.5
# A message holds 4 MiB; what does not fit is left out, the last first.
_ANSWER_BYTES = 3 * 1024 * 1024

_MODES = {
    SearchMode.FILTER: pb.SEARCH_MODE_FILTER,
    SearchMode.FULL_TEXT: pb.SEARCH_MODE_FULL_TEXT,
    SearchMode.HYBRID: pb.SEARCH_MODE_HYBRID,
}


class MemorySearchCalls:
    """Finds memories for people and for agents."""

    def __init__(self, recall: Recall, context: MemoryContext) -> None:
        self._recall = recall
        self._context = context

    async def QueryReflections(self, request: pb.QueryReflectionsRequest, call: Call) -> pb.QueryReflectionsResponse:
        states = (MemoryState.ACTIVE, MemoryState.QUARANTINED) if request.include_quarantined else (MemoryState.ACTIVE,)
        wanted = Filter(
            min_importance=request.min_importance if request.HasField("min_importance") else _DEFAULT_MIN_IMPORTANCE,
            tags=tuple(dict.fromkeys(enter(tag) for tag in request.tags)),
            kind=KIND_NAMES.get(request.kind),
            states=states,
        )
        question = Question(
            *(enter(request.query_text), request.k or _DEFAULT_K, wanted, request.explain),
            explain_ids=tuple(request.explain_ids),
            newest_first=request.newest_first,
        )
        return answer_to_wire(await self._recall.ask(call.scope, question), call.scope, explain=request.explain)

    async def BuildMemoryContext(
        self, request: pb.BuildMemoryContextRequest, call: Call
    ) -> pb.BuildMemoryContextResponse:
        task = Task(
            task=enter(request.task),
            tools=tuple(dict.fromkeys(enter(tool) for tool in request.tools)),
            error_categories=tuple(
                dict.fromkeys(CATEGORY_NAMES[category] for category in request.error_categories if category)
            ),
            turn_id=request.turn_id,
            session_id=request.session_id,
        )
        block = await self._context.build(
            *(call.scope, task, call.make_id(part="/receipt")),
            *(request.max_items or DEFAULT_ITEMS, request.max_tokens or MAX_TOKENS),
            request.holdout_fraction,
        )
        return pb.BuildMemoryContextResponse(block=block_to_wire(block))


def answer_to_wire(answer: Answer, scope: Scope, *, explain: bool) -> pb.QueryReflectionsResponse:
    """The answer with its hits, as far as there is room in a message."""
    found = pb.QueryReflectionsResponse(
        search_mode=_MODES[answer.mode],
        misses=[pb.QueryMiss(id=miss.memory_id, reason=miss.reason) for miss in answer.misses],
    )
    room = _ANSWER_BYTES
    for hit in answer.hits:
        wire = _hit_to_wire(hit, scope, explain=explain)
        room -= wire.ByteSize()
        if room < 0:
            break
        found.hits.append(wire)
    return found


def _hit_to_wire(hit: Hit, scope: Scope, *, explain: bool) -> pb.QueryHit:
    wire = pb.QueryHit(memory=memory_to_wire(hit.memory, scope), score=hit.score)
    if explain:
        parts = [pb.ScorePart(name=part.name, value=part.value, rank=part.rank) for part in hit.parts]
        told = pb.HitExplanation(summary=hit.summary, parts=parts, matched_terms=hit.matched)
        wire.explanation.CopyFrom(told)
    return wire
