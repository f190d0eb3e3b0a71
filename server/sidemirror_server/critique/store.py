"""The port that stores critiques. Adapters: `storage/*/critiques.py`."""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from sidemirror_server.critique.flips import Reported
from sidemirror_server.critique.record import CritiqueOutcome
from sidemirror_server.critique.statistics import Figures
from sidemirror_server.trace.sources import SourceKind, keys
from sidemirror_server.vocabulary.scope import Scope, Served, Serves


class CritiqueRecord(msgspec.Struct, frozen=True):
    """A critique as stored: the fields that lists and figures use, and its JSON (`record.critique_body`).

    `provider`, `model`: the answering model's. `confidence_ppm`: in millionths, None if the critique has none;
    `stated_ppm`: the one that the model stated. `revise`: whether it calls for a revision, asked for or withheld.
    `subject_ids`: whom its texts are about; `heard_us`: when these texts came, None with the critique; `compared_to`:
    the critique with whose response its own was compared, or empty. These three, `model` and `stated_ppm` are written
    and not read back.
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
    subject_ids: tuple[str, ...] = ()
    heard_us: int | None = None
    compared_to: str = ""
    model: str = ""
    stated_ppm: int | None = None

    def erasable_by(self) -> tuple[str, ...]:
        """The keys of what it is about (`trace/sources.py`)."""
        named = (*keys(SourceKind.TURN, (self.turn_id,)), *keys(SourceKind.SESSION, (self.session_id,)))
        named = (*named, *keys(SourceKind.CRITIQUE, (self.compared_to,)))
        return (*named, *keys(SourceKind.SUBJECT, self.subject_ids))

    def since_us(self) -> int:
        """Since when it may have known what it is about."""
        return self.created_us if self.heard_us is None else self.heard_us


def critique_of(*row: Any) -> CritiqueRecord:
    """A critique from a row: its fields in order, then those of its outcome (all NULL if there is no outcome)."""
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
        outcome=_outcome_of(*reported),
    )


def _outcome_of(
    outcome: str | None, score: float | None, reported_us: int | None, revised: str | None
) -> CritiqueOutcome | None:
    return None if reported_us is None else CritiqueOutcome(outcome or "", score, reported_us, revised or "")


class CritiqueKey(msgspec.Struct, frozen=True):
    """A list cursor: critiques are ordered newest first, then by id, descending."""

    created_us: int
    critique_id: str


FIRST_CRITIQUE = CritiqueKey(2**63 - 1, "")  # before every possible critique


class Verdicts(msgspec.Struct, frozen=True):
    """How many critiques a turn has, and how many of them call for a revision."""

    judged: int = 0
    revise: int = 0


class Critiques(Protocol):
    """Stores critiques. Only critiques whose status is OK are passed to it.

    CR1  `keep` stores a critique, unless its id is taken, and returns the critique stored under the id.
    CR2  `get` returns None for an id that the scope does not have.
    CR3  `list` returns at most `limit` after the cursor `after`, newest first. New ones do not change the order.
    CR4  `list` filters by turn and by session, where they are given.
    CR5  `report` stores an outcome with its critique, replacing an earlier one; an unknown id is refused (NotFound). An
         empty `outcome` leaves the earlier one with its score, an empty `revised` leaves the earlier one.
    CR6  `figures` returns `statistics.Figures` for critiques made at or after `start_us` and before `end_us`, ordered
         by bucket and provider. Without a bucket there is one for each provider, at `start_us`.
    CR7  `figures` of one provider count no others.
    CR8  Scopes are isolated.
    CR9  `forget` removes at most `limit` critiques made before `before_us` in the scopes served, the oldest first. It
         removes their outcomes too, and returns how many critiques it removed.
    CR10 `forget` leaves critiques of scopes that are not served; they do not count towards `limit`.
    CR11 It treats scopes of the entries `but` as if they were not served.
    CR12 `reported` counts the newest `limit` critiques of one model whose outcome was reported at or after `since_us`,
         by what `Reported` tells them apart by, in any order.
    CR13 `reported_models` returns provider and model of all such critiques, sorted, but for those without a model.
    CR14 `verdicts` counts the critiques of each of these turns, and those that call for a revision. Turns without any
         are left out.
    `subject_ids` are noted, so that an erasure finds the critique (clause ER13). One of a turn, a session or a
    subject that was erased after its texts came is refused (ER14).
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

    async def reported(
        self, scope: Scope, provider: str, model: str, since_us: int, limit: int
    ) -> tuple[Reported, ...]: ...

    async def reported_models(self, scope: Scope, since_us: int) -> tuple[tuple[str, str], ...]: ...

    async def verdicts(self, scope: Scope, turn_ids: Sequence[str]) -> dict[str, Verdicts]: ...

    async def forget(self, serves: Serves, before_us: int, limit: int, but: Sequence[Served] = ()) -> int: ...
