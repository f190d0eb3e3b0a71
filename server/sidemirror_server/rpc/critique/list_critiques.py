"""ListCritiques: a page of the stored critiques."""

from sidemirror.v1 import critique_pb2 as pb
from sidemirror_server.critique.record import critique_in
from sidemirror_server.critique.store import CritiqueKey, CritiqueRecord, Critiques
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import fitting, place_in, size_of, token_for
from sidemirror_server.rpc.wire.common import OUTCOMES, timestamp
from sidemirror_server.rpc.wire.critiques import critique_to_wire


async def list_critiques(store: Critiques, request: pb.ListCritiquesRequest, call: Call) -> pb.ListCritiquesResponse:
    size = size_of(request.page_size, 50)
    query = (call.scope, "critiques", request.turn_id, request.session_id)
    after = place_in(request.page_token, CritiqueKey, "page_token", *query)
    records = await store.list(call.scope, request.turn_id or None, request.session_id or None, after, size + 1)
    shown = fitting(records[:size], lambda record: len(record.body))
    last = shown[-1] if len(shown) < len(records) else None
    return pb.ListCritiquesResponse(
        critiques=[_kept_to_wire(record) for record in shown],
        next_page_token=token_for(CritiqueKey(last.created_us, last.critique_id), *query) if last else "",
    )


def _kept_to_wire(record: CritiqueRecord) -> pb.KeptCritique:
    """A stored critique with its outcome."""
    critique = critique_in(record.body)
    return pb.KeptCritique(
        critique=critique_to_wire(critique),
        turn_id=critique.turn_id,
        session_id=critique.session_id,
        user_message=critique.question,
        response=critique.response,
        create_time=timestamp(critique.created_us),
        outcome=OUTCOMES[record.outcome.outcome if record.outcome else ""],
        score=record.outcome.score if record.outcome else None,
        made_by=critique.made_by,
        revised_outcome=OUTCOMES[record.outcome.revised if record.outcome else ""],
    )
