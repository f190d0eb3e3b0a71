"""Decides which entries `TurnLog.append` accepts (clauses TL2, TL3, TL4, TL6 and TL12). Pure.

The log's adapters call it inside the transaction that reads the kept entries and writes the accepted ones.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sidemirror_server.trace.log import Batch, Draft, TurnHead
from sidemirror_server.vocabulary.errors import WrongState
from sidemirror_server.vocabulary.ids import SessionId, TurnId

# A draft, and its turn's head.
Placed = tuple[TurnHead, Draft]


class SessionMove(NamedTuple):
    """A turn, the session that it leaves, and the one that it goes to."""

    turn_id: TurnId
    session_was: SessionId
    session_id: SessionId


class Accepted(NamedTuple):
    """What an append writes. `heads`: at most one for each turn; `fresh`: the drafts that continue their turns, in
    order; `repeated`: the drafts at taken sequences, for `check_repeated`; `moves`: the turns that leave a session."""

    heads: tuple[TurnHead, ...]
    fresh: Sequence[Placed]
    repeated: Sequence[Placed]
    moves: Sequence[SessionMove] = ()


def accept(batches: Iterable[Batch], kept: Mapping[TurnId, tuple[SessionId, int]]) -> Accepted:
    """Sorts the drafts of an append. `kept`: the session and the last sequence of each turn that the store has.

    Raises WrongState for a turn of another session, and for a hole: a draft that skips sequences, or a head whose
    `last_sequence` does not fit its turn's last entry.
    """
    ends = dict(kept)
    heads: dict[TurnId, TurnHead] = {}
    fresh: list[Placed] = []
    repeated: list[Placed] = []
    moves: list[SessionMove] = []
    for batch in batches:
        head = batch.head
        session_id, last = ends.get(head.turn_id, (head.session_id, 0))
        # Also a turn that the store does not have may leave a session: its receipts name that.
        if batch.session_was is not None and batch.session_was != head.session_id:
            moves.append(SessionMove(head.turn_id, batch.session_was, head.session_id))
        if session_id not in (head.session_id, batch.session_was):
            raise WrongState("turn", head.turn_id, "of another session")
        before = last
        for draft in batch.drafts:
            if draft.sequence == last + 1:
                last = draft.sequence
                fresh.append((head, draft))
            elif 1 <= draft.sequence <= last:
                repeated.append((head, draft))
            else:
                raise WrongState("turn", head.turn_id, f"ends with entry {last}")
        if head.last_sequence > last or (last > before and head.last_sequence != last):
            raise WrongState("turn", head.turn_id, f"ends with entry {last}")
        if head.last_sequence >= before:
            heads[head.turn_id] = head
        ends[head.turn_id] = (head.session_id, last)
    return Accepted(tuple(heads.values()), fresh, repeated, moves)


def check_repeated(repeated: Iterable[Placed], bodies: Mapping[tuple[str, int], bytes]) -> None:
    """Raises WrongState if a sequence has another body already. `bodies`: the bodies at the repeated sequences, by turn
    and sequence, from the store or from the same append."""
    for head, draft in repeated:
        if bodies.get((head.turn_id, draft.sequence)) != draft.body:
            raise WrongState("turn", head.turn_id, f"entry {draft.sequence} is another one")
