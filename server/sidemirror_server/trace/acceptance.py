"""Decides which entries `TurnLog.append` accepts (clauses TL2, TL3, TL4, TL6, TL12, ER14 and ER17). Pure.

The log's adapters call it inside the transaction that reads the kept entries and writes the accepted ones.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sidemirror_server.trace.erasure import ERASED, REWRITTEN, is_erased
from sidemirror_server.trace.log import Batch, Draft, TurnHead
from sidemirror_server.trace.sources import SourceKind, key, keys
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


def known_turns(batches: Iterable[Batch]) -> list[TurnId]:
    """The turns of which an append has to know what the store has, each once."""
    named = ((batch.head.turn_id, *(turn_id for turn_id, _ in batch.began_with)) for batch in batches)
    return list(dict.fromkeys(turn_id for turn_ids in named for turn_id in turn_ids))


def named_by(batches: Iterable[Batch], kept: Collection[TurnId]) -> frozenset[str]:
    """The keys whose tombstones `check_erased` needs. `kept`: the turns that the store has."""
    return frozenset(name for batch in batches for name, _, _ in _sources(batch, batch.head.turn_id not in kept))


def check_erased(batches: Iterable[Batch], rewritten: Mapping[TurnId, int], erased: Mapping[str, int]) -> None:
    """Raises WrongState, about the batch's turn, for what comes of an erased source or of a turn as it was before an
    erasure rewrote it. `rewritten`: that of each turn that the store has; `erased`: the times of tombstones."""
    for batch in batches:
        head = batch.head
        for turn_id, known in ((head.turn_id, head.rewritten), *batch.began_with):
            if rewritten.get(turn_id, known) != known:
                raise WrongState("turn", head.turn_id, REWRITTEN)
        for name, heard_us, state in _sources(batch, head.turn_id not in rewritten):
            if is_erased(erased.get(name), name, heard_us):
                raise WrongState("turn", head.turn_id, state)


def _sources(batch: Batch, is_new: bool) -> Iterator[tuple[str, int, str]]:
    """The sources of a batch: key, when it was heard, and the turn's state if it was erased since."""
    head = batch.head
    if is_new:
        yield key(SourceKind.TURN, head.turn_id), 0, ERASED
        yield key(SourceKind.SESSION, head.session_id), head.started_us, ERASED
    for turn_id, _ in batch.began_with:
        yield key(SourceKind.TURN, turn_id), 0, REWRITTEN
    for subject in keys(SourceKind.SUBJECT, batch.subject_ids):
        yield subject, min(draft.at_us for draft in batch.drafts), ERASED
    for name, heard_us in batch.rests_on:
        yield name, heard_us, REWRITTEN
