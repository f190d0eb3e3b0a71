"""The port behind stored critiques. Adapters: `storage/sqlite/critiques.py`."""

from typing import Protocol

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


class CritiqueKey(msgspec.Struct, frozen=True):
    """A place in the order of critiques: newest first, then by id downwards."""

    created_us: int
    critique_id: str


class Critiques(Protocol):
    """Keeps critiques whose status is OK; others are never given to it.

    CR1  `keep` keeps a critique; of several with one id the first stays. It returns the one that is kept.
    CR2  `get` returns None for an id that the scope does not have.
    CR3  `list` returns the newest first, at most `limit`, after `after`; the order stays while critiques are added.
    CR4  `list` takes only those of the turn, and of the session, that are asked for.
    CR5  `report` keeps an outcome with its critique, in place of an earlier one; an unknown id is refused (NotFound).
    CR6  `figures` are those of `statistics.figures_of` over the critiques made from `start_us` on and before `end_us`.
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
