"""The port behind stored critiques. Adapters: `storage/*/critiques.py`."""

from typing import Any, Protocol

import msgspec

from sidemirror_server.critique.record import CritiqueOutcome
from sidemirror_server.critique.statistics import Figures
from sidemirror_server.vocabulary.scope import Scope, Serves


class CritiqueRecord(msgspec.Struct, frozen=True):
    """A critique as it is kept: what lists and figures go by, and its JSON (`record.critique_body`).

    `provider` is who answered; `confidence_ppm` in millionths, None when the critique gave none.
    """

    critique_id: str
    created_us: int
    provider: str
    confidence_ppm: int | None
    revise: bool
    turn_id: str
    session_id: str
    body: bytes
    outcome: CritiqueOutcome | None = None


def critique_of(*row: Any) -> CritiqueRecord:
    """A critique out of a row: its fields in their order, those of its outcome last, all NULL when there is none."""
    critique_id, created_us, provider, confidence_ppm, revise, turn_id, session_id, body, *reported = row
    return CritiqueRecord(
        critique_id=critique_id,
        created_us=created_us,
        provider=provider,
        confidence_ppm=confidence_ppm,
        revise=bool(revise),
        turn_id=turn_id,
        session_id=session_id,
        body=body,
        outcome=None if reported[0] is None else CritiqueOutcome(*reported),
    )


class CritiqueKey(msgspec.Struct, frozen=True):
    """A place in the order of critiques: newest first, then by id downwards."""

    created_us: int
    critique_id: str


FIRST_CRITIQUE = CritiqueKey(2**63 - 1, "")  # before every critique there can be


class Critiques(Protocol):
    """Keeps critiques whose status is OK; others are never given to it.

    CR1  `keep` keeps a critique; of several with one id the first stays. It returns the one that is kept.
    CR2  `get` returns None for an id that the scope does not have.
    CR3  `list` returns the newest first, at most `limit`, after `after`; the order stays while critiques are added.
    CR4  `list` takes only those of the turn, and of the session, that are asked for.
    CR5  `report` keeps an outcome with its critique, in place of an earlier one; an unknown id is refused (NotFound).
    CR6  `figures` are what `statistics.Figures` says of the critiques made from `start_us` on and before `end_us`, by
         bucket and provider, in that order; by provider alone, all at `start_us`, without a bucket.
    CR7  `figures` of one provider leave the others out.
    CR8  Scopes never meet.
    CR9  `forget` removes critiques of the scopes served made before `before_us`, the oldest first, at most `limit`,
         with their outcomes, and returns how many.
    CR10 `forget` leaves critiques of scopes that are not served; they do not count towards `limit`.
    Raises StoreUnavailable, StoreFull.
    """

    async def keep(self, scope: Scope, critique: CritiqueRecord) -> CritiqueRecord: ...

    async def get(self, scope: Scope, critique_id: str) -> CritiqueRecord | None: ...

    async def list(
        self, scope: Scope, turn_id: str | None, session_id: str | None, after: CritiqueKey | None, limit: int
    ) -> tuple[CritiqueRecord, ...]: ...

    async def report(self, scope: Scope, critique_id: str, outcome: CritiqueOutcome) -> None: ...

    async def figures(
        self, scope: Scope, start_us: int, end_us: int, bucket_us: int | None, provider: str | None
    ) -> tuple[Figures, ...]: ...

    async def forget(self, serves: Serves, before_us: int, limit: int) -> int: ...
