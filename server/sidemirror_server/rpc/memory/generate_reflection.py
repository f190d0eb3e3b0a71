"""GenerateReflection: reflects on an episode, and stores the result if asked to."""

import msgspec

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.lessons.echo import without_echo
from sidemirror_server.memory.lessons.episode import EpisodeStep, ReflectionContext, steps_of
from sidemirror_server.memory.lessons.keeping import Keeper, Stored, judged_by_episode
from sidemirror_server.memory.lessons.reflector import Reflector
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.recorded_turns import RecordedTurns
from sidemirror_server.rpc.memory.results import error_of, ids_of, result_to_wire, source_keys, step_of
from sidemirror_server.rpc.wire.common import OUTCOME_NAMES, subjects_of
from sidemirror_server.trace.event import Event, TurnFinished, TurnStarted
from sidemirror_server.trace.receipts import Receipts
from sidemirror_server.turns.retired import RetiredWords, repeats_retired
from sidemirror_server.vocabulary.errors import BadInput, NotFound
from sidemirror_server.vocabulary.text import enter


async def generate_reflection(
    reflector: Reflector,
    keeper: Keeper,
    receipts: Receipts,
    turns: RecordedTurns,
    retired: RetiredWords,
    request: pb.GenerateReflectionRequest,
    call: Call,
) -> pb.GenerateReflectionResponse:
    heard_us = call.clock.now_us()
    context = await _context(turns, request, call)
    heard = await without_echo(receipts, call.scope, context, [enter(one) for one in request.receipt_ids])
    result = await reflector.reflect(call.scope, heard.context, call.model_time_s(), call.clock.now_us())
    said = await retired.saying(call.scope, (result.reflection, result.strategy))
    if said:
        result = msgspec.structs.replace(result, reflection="", strategy="")
        reason = repeats_retired(next(iter(said.values()))) if request.store else ""
        return pb.GenerateReflectionResponse(result=result_to_wire(result), not_stored_reason=reason)
    # The result is judged even if it is not stored: StoreReflection, which may follow, has no episode to judge it by.
    untrusted, trusted = (heard.context.texts(trusted=trusted) for trusted in (False, True))
    result = await judged_by_episode(result, untrusted, trusted)
    repeats = heard.repeats(result.reflection) or (bool(result.strategy) and heard.repeats(result.strategy))
    result = msgspec.structs.replace(result, repeats=repeats)
    stored = Stored()
    if request.store:
        stored = await keeper.keep(call.scope, result, ids_of(call), is_judged=True, heard_us=heard_us)
    return pb.GenerateReflectionResponse(
        result=result_to_wire(result),
        reflection_id=stored.reflection_id,
        strategy_id=stored.strategy_id,
        not_stored_reason=stored.reason,
    )


async def _context(turns: RecordedTurns, request: pb.GenerateReflectionRequest, call: Call) -> ReflectionContext:
    """The episode that a request describes. Raises BadInput, NotFound."""
    outcome, task = OUTCOME_NAMES[request.outcome], enter(request.task_description)
    if (request.turn_id and request.events) or not (request.turn_id or request.events or request.session_id):
        raise BadInput([("events", "exactly one of events, turn_id and session_id")])
    steps: tuple[EpisodeStep, ...]
    turn_ids: tuple[str, ...] = ()
    subject_ids, session_id = subjects_of(request.subject_ids), request.session_id
    if request.events:
        steps = tuple(step_of(event, f"event-{place}") for place, event in enumerate(request.events, start=1))
    else:
        turn_ids, events = await _recorded(turns, request, call)
        subject_ids += tuple(one for event in events for one in event.subject_ids)
        steps = steps_of(events)
        told = _told(events)
        outcome, task, session_id = outcome or told[0], task or told[1], session_id or told[2]
    subject_ids += await turns.subjects_of_session(call.scope, session_id)
    if not outcome:
        raise BadInput([("outcome", "required, unless a turn has one")])
    return ReflectionContext(
        steps=steps,
        outcome=outcome,
        task_description=task,
        task_goal=enter(request.task_goal),
        error=error_of(request.error) if request.HasField("error") else None,
        session_id=session_id,
        related_ids=tuple(enter(memory_id) for memory_id in request.related_memory_ids),
        sources=source_keys(session_id, turn_ids, subject_ids),
    )


async def _recorded(
    turns: RecordedTurns, request: pb.GenerateReflectionRequest, call: Call
) -> tuple[tuple[str, ...], tuple[Event, ...]]:
    """The ids of the recorded turns, and their events. Raises NotFound."""
    if request.turn_id:
        turn_ids: tuple[str, ...] = (request.turn_id,)
    else:
        turn_ids = await turns.last_of_session(call.scope, request.session_id)
    found = [await turns.events(call.scope, turn_id) for turn_id in turn_ids]
    if not found or (request.turn_id and found[0] is None):
        raise NotFound("turn" if request.turn_id else "session", request.turn_id or request.session_id)
    return turn_ids, tuple(event for events in found for event in events or ())


def _told(events: tuple[Event, ...]) -> tuple[str, str, str]:
    """The last outcome, the first task and the first session in the events; empty texts if there are none."""
    outcome = task = session_id = ""
    for event in events:
        match event.what:
            case TurnStarted() as started:
                task, session_id = task or started.task, session_id or started.session_id
            case TurnFinished() as finished:
                outcome = finished.outcome or outcome
            case _:
                pass
    return outcome, task, session_id
