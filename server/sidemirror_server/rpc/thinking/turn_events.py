"""Converters for a turn's incoming events, which check their order and derive their ids."""

import asyncio
from collections.abc import Sequence
from functools import partial

import msgspec

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.reading import AT_ONCE_BYTES
from sidemirror_server.rpc.wire.events import event_of
from sidemirror_server.trace.event import Event, TurnFinished, TurnStarted
from sidemirror_server.trace.given_secrets import GivenSecrets
from sidemirror_server.vocabulary.errors import BadInput
from sidemirror_server.vocabulary.ids import derived_id


async def start_event(wire: pb.TurnEvent, call: Call) -> tuple[Event, TurnStarted]:
    """The record of a `turn_started` event. If it names no session, the session's id derives from the turn's id or the
    call."""
    is_own = not wire.turn_started.session_id
    if is_own:
        own = derived_id(call.scope, "session of turn", wire.turn_id) if wire.turn_id else call.make_id(part="/session")
        wire.turn_started.session_id = own
    made = partial(event_of, wire, call.make_id(part="/started"), call.clock.now_us(), GivenSecrets())
    event = made() if wire.ByteSize() <= AT_ONCE_BYTES else await asyncio.to_thread(made)
    if not isinstance(event.what, TurnStarted):
        raise BadInput([("events[0]", "a turn starts with turn_started")])
    caller = "" if call.caller is None or call.caller.is_shared else call.caller.name
    started = msgspec.structs.replace(event.what, own_session=is_own, caller=caller)
    return msgspec.structs.replace(event, what=started), started


async def events_of(
    wires: Sequence[pb.TurnEvent], turn_id: str, call: Call, given: GivenSecrets, first: int = 0
) -> list[Event]:
    """The records of a turn's events after `turn_started`. `given`: of its calls; `first`: the index of `wires[0]` in
    its request."""
    if sum(wire.ByteSize() for wire in wires) <= AT_ONCE_BYTES:
        return _events_of(wires, turn_id, call, given, first)
    return await asyncio.to_thread(_events_of, wires, turn_id, call, given, first)


def _events_of(wires: Sequence[pb.TurnEvent], turn_id: str, call: Call, given: GivenSecrets, first: int) -> list[Event]:
    now_us = call.clock.now_us()
    events: list[Event] = []
    for index, wire in enumerate(wires, start=first):
        if wire.turn_id and wire.turn_id != turn_id:
            raise BadInput([(f"events[{index}].turn_id", "the call is about another turn")])
        if wire.HasField("turn_started"):
            raise BadInput([(f"events[{index}].turn_started", "only as the first event of a turn")])
        if events and isinstance(events[-1].what, TurnFinished):
            raise BadInput([(f"events[{index}]", "no event may follow turn_finished")])
        events.append(event_of(wire, call.make_id(wire.event_id, f"/{index}"), now_us, given))
    return events
