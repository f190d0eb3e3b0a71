"""ListReceipts: which lessons were shown or held back, where, and what followed."""

from collections.abc import Mapping, Sequence

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.trials.trials import TrialResult, Trials
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import fitting, place_in, size_of, span_in, token_for
from sidemirror_server.rpc.wire.blocks import omitted_to_wire
from sidemirror_server.rpc.wire.common import OUTCOMES, TURN_STATES, numbers_of, timestamp
from sidemirror_server.rpc.wire.silences import SILENCES
from sidemirror_server.trace.log import TurnHead, TurnLog
from sidemirror_server.trace.receipts import (
    HOLDS_RECOVERIES,
    RECALLED_IN,
    RECOVERY_ITEM,
    FitBy,
    Receipt,
    ReceiptItem,
    ReceiptKey,
    Receipts,
    ShownIn,
)
from sidemirror_server.turns.head import head_in
from sidemirror_server.vocabulary.errors import BadInput
from sidemirror_server.vocabulary.ids import TurnId

_KNOWN = (place for place in ShownIn if place is not ShownIn.UNKNOWN)
_PLACES: Mapping[ShownIn, pb.ReceiptPlace] = numbers_of(_KNOWN, pb.ReceiptPlace)
# By their stored values: a later version may have stored others.
_FITS = {fit.value: number for fit, number in numbers_of(FitBy, pb.LessonFit).items()}
_NOT_KNOWN, _DRAW, _SHADOW = pb.HELD_BACK_REASON_UNSPECIFIED, pb.HELD_BACK_REASON_DRAW, pb.HELD_BACK_REASON_SHADOW


async def list_receipts(
    receipts: Receipts, trials: Trials, log: TurnLog, request: pb.ListReceiptsRequest, call: Call
) -> pb.ListReceiptsResponse:
    if request.lesson_id and request.turn_id:
        raise BadInput([("turn_id", "not together with lesson_id")])
    size = size_of(request.page_size, 50)
    span = span_in(request)
    query = (call.scope, "receipts", request.lesson_id, request.turn_id, span)
    after = place_in(request.page_token, ReceiptKey, "page_token", *query)
    if after is None and span.until_us is not None:
        after = ReceiptKey(span.until_us, "")
    found = await receipts.find(
        *(call.scope, after, size + 1),
        lesson_id=request.lesson_id,
        turn_id=request.turn_id,
        from_us=span.from_us,
    )
    page = found[:size]
    results = await trials.results(call.scope, [one.receipt_id for one in page]) if page else {}
    turn_ids = {TurnId(one.turn_id) for one in page if one.turn_id}
    heads = {head.turn_id: head for head in await log.heads_of(call.scope, turn_ids)} if turn_ids else {}
    wire = [_receipt_to_wire(one, results.get(one.receipt_id, ()), heads.get(TurnId(one.turn_id))) for one in page]
    shown = fitting(wire, pb.Receipt.ByteSize)
    last = page[len(shown) - 1] if len(found) > len(shown) else None
    return pb.ListReceiptsResponse(
        receipts=shown,
        next_page_token=token_for(ReceiptKey(last.time_us, last.receipt_id), *query) if last else "",
    )


def _receipt_to_wire(receipt: Receipt, results: Sequence[TrialResult], head: TurnHead | None) -> pb.Receipt:
    known = {result.trial.memory_id: result for result in results}
    # What an agent asks for is held back by the sidecar that answers: only its draw is on record.
    in_turn = head is not None and receipt.place not in RECALLED_IN
    # What the sidecar says by itself is kept in shadow mode and not told.
    is_kept = head is not None and in_turn and head_in(head.body).is_shadow
    otherwise = (_SHADOW if is_kept else _DRAW) if in_turn else _NOT_KNOWN
    kept = _SHADOW if is_kept else None
    items = [_shown_to_wire(item, known.get(item.id), held_back=kept) for item in receipt.items]
    kind = RECOVERY_ITEM if receipt.place in HOLDS_RECOVERIES else ""
    for lesson_id in receipt.held_back:
        result = known.get(lesson_id)
        version = 0 if result is None else result.trial.version
        items.append(_item_to_wire(lesson_id, version, kind, result, held_back=_held_back_by(result, otherwise)))
    return pb.Receipt(
        receipt_id=receipt.receipt_id,
        time=timestamp(receipt.time_us),
        place=_PLACES.get(receipt.place),
        turn_id=receipt.turn_id,
        session_id=receipt.session_id or ("" if head is None else head.session_id),
        goal_id=receipt.goal_id,
        items=items,
        turn_state=None if head is None else TURN_STATES[head.standing],
        turn_outcome=None if head is None else OUTCOMES[head.outcome],
        silence=SILENCES.get(receipt.silence),
        omitted=omitted_to_wire(receipt.omitted),
    )


def _held_back_by(result: TrialResult | None, otherwise: pb.HeldBackReason) -> pb.HeldBackReason:
    """Why it was held back, by its draw; `otherwise`, where the receipt has none of it."""
    if result is None or not result.trial.fraction:
        return otherwise
    # Callers hold back from 0.9 of the tasks at most.
    return _SHADOW if result.trial.fraction >= 1 else _DRAW


def _shown_to_wire(
    item: ReceiptItem, result: TrialResult | None, *, held_back: pb.HeldBackReason | None
) -> pb.ReceiptItem:
    wire = _item_to_wire(item.id, item.version, item.kind, result, held_back=held_back)
    if item.score is not None:
        wire.score, wire.fit = item.score, _FITS.get(item.fit_by, pb.LESSON_FIT_UNSPECIFIED)
    wire.matched_words.extend(item.words)
    return wire


def _item_to_wire(
    lesson_id: str, version: int, kind: str, result: TrialResult | None, *, held_back: pb.HeldBackReason | None
) -> pb.ReceiptItem:
    """`held_back`: why it was, or None if it was shown."""
    wire = pb.ReceiptItem(
        id=lesson_id, version=version, kind=kind, is_held_back=held_back is not None, held_back_reason=held_back
    )
    if result is not None and result.succeeded is not None:
        wire.succeeded = result.succeeded
    if result is not None and result.returned is not None:
        wire.error_returned = result.returned
    return wire
