"""The stored critiques of a turn, for GetTurn: those that were asked for are among no entries."""

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.critique.answers import AnswerChange, GivenAnswer, answer_change
from sidemirror_server.critique.record import critique_in
from sidemirror_server.critique.store import Critiques
from sidemirror_server.rpc.boundary.pages import PAGE_BYTES, fitting
from sidemirror_server.rpc.wire.common import numbers_of, timestamp
from sidemirror_server.rpc.wire.critiques import critique_to_wire
from sidemirror_server.thinking.record import recorded_in
from sidemirror_server.trace.event import Event, ModelReturned, ResponseDrafted
from sidemirror_server.trace.log import TurnLog
from sidemirror_server.vocabulary.ids import TurnId
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.text import clip

# Contract: the newest 50, or as many as fit into 1 MiB, each with 4,000 characters of its response.
_MOST = 50
_ROOM_BYTES = 1024 * 1024
_RESPONSE_CHARS = 4_000
# Entries of one read of the log.
_PAGE = 500
_CHANGES = numbers_of(AnswerChange, pb.AnswerChange)


async def critiques_of(store: Critiques, log: TurnLog, scope: Scope, turn_id: TurnId) -> list[pb.TurnCritique]:
    """The turn's critiques, oldest first. Its answers are read only where there is one. Raises StoreUnavailable."""
    kept = [critique_in(record.body) for record in await store.list(scope, turn_id, None, None, _MOST)]
    if not kept:
        return []
    answers = await _answers(log, scope, turn_id)
    wires: list[pb.TurnCritique] = []
    for one in kept:
        change = answer_change(one, answers, kept)
        wire = pb.TurnCritique(
            critique=critique_to_wire(one),
            time=timestamp(one.created_us),
            made_by=one.made_by,
            response=clip(one.response, _RESPONSE_CHARS),
            answer_change=pb.ANSWER_CHANGE_UNSPECIFIED if change is None else _CHANGES[change],
        )
        wires.append(wire)
    return fitting(wires, pb.TurnCritique.ByteSize, _ROOM_BYTES)[::-1]


async def _answers(log: TurnLog, scope: Scope, turn_id: TurnId) -> list[GivenAnswer]:
    """The answers that the turn reported, oldest first."""
    found: list[GivenAnswer] = []
    after = 0
    while entries := await log.read(scope, turn_id, after, _PAGE, PAGE_BYTES):
        for entry in entries:
            recorded = recorded_in(entry)
            if isinstance(recorded, Event):
                match recorded.what:
                    case ResponseDrafted(text=text):
                        found.append(GivenAnswer(entry.at_us, text, is_draft=True))
                    case ModelReturned(text=text) if text:
                        found.append(GivenAnswer(entry.at_us, text, is_draft=False))
                    case _:
                        pass
        after = entries[-1].sequence
    return found
