"""The port that stores observations, and the turns from which they are still to be learned.

A turn that ends becomes unlearned in the transaction of its end, so that no crash loses it.
`turns/recovery_learning.py` claims such turns and keeps what they taught. Observations belong to turns: they go when a
turn is removed, for whatever reason (decision 051). Those of an import have no turn here, and go by their age.
Adapters: `storage/*/observations.py`.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from sidemirror_server.memory.recoveries.observation import Observation
from sidemirror_server.trace.sources import SourceKind, key, keys, parsed
from sidemirror_server.vocabulary.ids import TurnId
from sidemirror_server.vocabulary.scope import Scope, Served, Serves

# The most observations of a signature. Chosen here: fifty times what the gates look at; they are read and counted
# within milliseconds.
MOST_ROWS = 1_000


class UnlearnedTurn(msgspec.Struct, frozen=True):
    """A turn that has ended. `attempts`: how often it was claimed. `is_late`: it was learned from, and its last
    failures were left for the session's next turn, which did not come in time."""

    scope: Scope
    turn_id: TurnId
    attempts: int
    is_late: bool


class Observations(Protocol):
    """Stores observations by signature, and the turns to learn from. Each verb is one transaction, durable when it
    returns.

    OB1  A turn becomes unlearned once, when it ends. `claim` returns at most `limit` unlearned turns of the scopes
         served that are due by `now_us`, the longest due first, and makes them due again at `until_us`.
    OB2  `claim` leaves out turns of scopes that are not served; they do not count towards `limit`.
    OB3  `keep` adds what a turn taught, each id once: of two observations with an id, the first stays.
    OB4  A turn that was kept is claimed no more; with `again_us` it is claimed once more, as late, from then on.
    OB5  `keep` leaves out observations of a turn that is not stored, and of one whose last call was in such a turn.
    OB6  When a turn is removed, so are the observations of failures in it, and those whose last call was in it.
    OB7  `of_signature` returns a signature's observations, oldest first.
    OB8  Of a signature `keep` keeps the newest `most`.
    OB9  `signatures` returns at most `limit` signatures above `after`, in order, each once.
    OB10 Scopes are isolated.
    OB11 `put` adds an imported observation, though its turns are not stored, and returns whether it is new and stays.
         It does not go with a turn of this store that has the id of one of its.
         Of two with an id the first stays, and the newest `most` of a signature. It refuses (WrongState) one of whose
         turns, session and subjects one was erased since it was heard.
    OB12 `forget` removes at most `limit` observations that were `put` and were heard before `before_us`, of the scopes
         served but those of the entries `but`, the oldest first, and returns how many.
    OB13 `subjects` returns, for each of these records (keys of `trace/sources.py`) of which something is noted, the
         keys of the subjects among that, in order; also of what was `put`.
    OB14 An erasure of such a turn, session or subject finds what was `put`, and takes no other turn for one of its own;
         `survivors` does so too, by the time at which it was heard.
    Raises StoreUnavailable, StoreFull.
    """

    async def claim(self, serves: Serves, now_us: int, until_us: int, limit: int) -> tuple[UnlearnedTurn, ...]: ...

    async def keep(
        self,
        scope: Scope,
        turn_id: TurnId,
        observations: Sequence[Observation],
        again_us: int | None = None,
        most: int = MOST_ROWS,
    ) -> None: ...

    async def of_signature(self, scope: Scope, signature: str) -> tuple[Observation, ...]: ...

    async def signatures(self, scope: Scope, after: str, limit: int) -> tuple[str, ...]: ...

    async def put(
        self, scope: Scope, observation: Observation, subjects: Collection[str] = (), most: int = MOST_ROWS
    ) -> bool: ...

    async def forget(self, serves: Serves, before_us: int, limit: int, but: Sequence[Served] = ()) -> int: ...

    async def subjects(self, scope: Scope, records: Collection[str]) -> Mapping[str, tuple[str, ...]]: ...


# An observation as JSON, and from it.
observation_body: Callable[[Observation], bytes] = msgspec.json.Encoder().encode
observation_in: Callable[[bytes], Observation] = msgspec.json.Decoder(Observation).decode


def turns_of(one: Observation) -> tuple[str, ...]:
    """The keys of the turns of an observation, each once: where the call failed, and where what followed ended."""
    return tuple(dict.fromkeys(keys(SourceKind.TURN, (one.where.turn_id, one.last_turn_id))))


def sources_of(one: Observation) -> tuple[str, ...]:
    """The keys of an observation's turns and its session."""
    return (*turns_of(one), key(SourceKind.SESSION, one.where.session_id))


def key_of(one: Observation) -> str:
    """The key of an imported observation. Its sources are noted under it, and not under its turns: their ids are the
    agents', so that a turn of this store may have one of them."""
    return key(SourceKind.OBSERVATION, one.observation_id)


def subjects_in(sources: Iterable[str]) -> tuple[str, ...]:
    """The keys of subjects among those of sources."""
    return tuple(source for source in sources if parsed(source)[0] is SourceKind.SUBJECT)


def heard_us(one: Observation) -> int:
    """When an observation was heard: by which an imported one is old, and was stored before an erasure or since."""
    return one.where.recorded_us or one.at_us
