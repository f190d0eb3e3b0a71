"""Makes critiques and stores those whose status is OK, for CritiqueService and for turns."""

import asyncio
import logging
from collections.abc import Callable

import msgspec

from sidemirror_server.critique.calibration import calibration_of
from sidemirror_server.critique.compare import compare
from sidemirror_server.critique.critique import critique
from sidemirror_server.critique.flips import flips_of
from sidemirror_server.critique.material import CritiqueMaterial
from sidemirror_server.critique.record import Comparison, Critique, Verdict, critique_body, critique_in
from sidemirror_server.critique.statistics import DAY_US, to_ppm
from sidemirror_server.critique.store import CritiqueRecord, Critiques
from sidemirror_server.models.profiles import NO_CAPS, Within
from sidemirror_server.models.scoped_model import ScopedModel
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import NotFound, SidemirrorError
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.status import ResultStatus
from sidemirror_server.vocabulary.text import clip

_log = logging.getLogger(__name__)
# The outcomes that verdicts are settled by: those of the last 90 days (contract), the newest 1,000 of a model. Chosen
# here: a project changes within months, and a thousand outcomes are read in a millisecond.
OUTCOMES_FOR_US = 90 * DAY_US
MOST_OUTCOMES = 1_000
# How long a verdict waits for them. Chosen here: a look-up takes milliseconds, and an agent is waiting.
_PATIENCE_S = 1.0
# Contract: KeptCritique.user_message is cut to 4,000 characters.
QUESTION_CHARS = 4_000


class About:
    """The turn, the session and the subjects that a critique is about, and what made it: critique or debate.

    `heard_us`: when the call or the draft with its texts came; None: when the critique is made."""

    __slots__ = ("heard_us", "made_by", "session_id", "subject_ids", "turn_id")

    def __init__(
        self,
        turn_id: str = "",
        session_id: str = "",
        made_by: str = "critique",
        subject_ids: tuple[str, ...] = (),
        heard_us: int | None = None,
    ) -> None:
        self.heard_us = heard_us
        self.turn_id, self.session_id, self.made_by, self.subject_ids = turn_id, session_id, made_by, subject_ids


class Critic:
    """Asks for verdicts, and stores those whose status is OK."""

    def __init__(self, model: ScopedModel, store: Critiques, clock: Clock) -> None:
        self._model = model
        self._store = store
        self._clock = clock

    async def judge(
        self,
        scope: Scope,
        critique_id: str,
        material: CritiqueMaterial,
        about: About,
        remaining_s: Callable[[], float],
        *,
        compare_to: str = "",
    ) -> Critique:
        """The stored critique of this id; if there is none, a new critique of the response, stored if it is OK.

        `remaining_s`: returns how many seconds a call may take. Raises NotFound for an unknown `compare_to`, and
        what the store raises.
        """
        known = await self._store.get(scope, critique_id)
        if known is not None:
            return critique_in(known.body)
        earlier = await self._earlier(scope, compare_to) if compare_to else None
        verdict = await self.verdict(scope, material, remaining_s())
        comparison = None
        if earlier is not None:
            comparison = await self._against(scope, earlier, material, verdict, remaining_s())
        return await self.keep(scope, critique_id, material, verdict, about, comparison)

    async def verdict(
        self, scope: Scope, material: CritiqueMaterial, deadline_s: float, within: Within = NO_CAPS
    ) -> Verdict:
        """The settled verdict on the material's response; stores nothing. Raises nothing but cancellation."""
        return await self.settled(scope, await critique(self._model, scope, material, deadline_s, within))

    async def settled(self, scope: Scope, verdict: Verdict) -> Verdict:
        """The verdict with what the project's outcomes say of its model: its confidence is calibrated from 50 outcomes
        on, and its revision is withheld while revisions do harm. As it was where the store does not answer."""
        usage = verdict.usage
        if verdict.status is not ResultStatus.OK or usage is None:
            return verdict
        since_us = self._clock.now_us() - OUTCOMES_FOR_US
        try:
            async with asyncio.timeout(_PATIENCE_S):
                reported = await self._store.reported(scope, usage.provider, usage.model, since_us, MOST_OUTCOMES)
        except (SidemirrorError, TimeoutError) as error:
            _log.warning("outcomes_not_read", extra={"reason": type(error).__name__})
            return verdict
        if verdict.should_revise and flips_of(reported).does_harm:
            verdict = msgspec.structs.replace(verdict, should_revise=False, revision_prompt="", withheld=True)
        calibration = calibration_of(reported)
        if calibration is None:
            return verdict
        confidence = calibration.confidence(verdict.confidence, revise=verdict.calls_for_revision)
        return msgspec.structs.replace(verdict, confidence=confidence, stated=verdict.confidence, calibrated=True)

    async def keep(
        self,
        scope: Scope,
        critique_id: str,
        material: CritiqueMaterial,
        verdict: Verdict,
        about: About,
        comparison: Comparison | None = None,
    ) -> Critique:
        """A critique of this verdict, which is settled: stored if its status is OK, else without an id. Raises what the
        store raises."""
        is_kept = verdict.status is ResultStatus.OK
        made = self.made(critique_id if is_kept else "", material, verdict, about, comparison)
        if is_kept:
            record = msgspec.structs.replace(record_of(made), subject_ids=about.subject_ids, heard_us=about.heard_us)
            kept = await self._store.keep(scope, record)
            return critique_in(kept.body)
        return made

    def made(
        self,
        critique_id: str,
        material: CritiqueMaterial,
        verdict: Verdict,
        about: About,
        comparison: Comparison | None = None,
    ) -> Critique:
        """A new critique with this verdict and the present time. `critique_id`: empty if it is not stored."""
        return Critique(
            critique_id=critique_id,
            created_us=self._clock.now_us(),
            verdict=verdict,
            question=clip(material.question, QUESTION_CHARS),
            response=material.response,
            turn_id=about.turn_id,
            session_id=about.session_id,
            made_by=about.made_by,
            comparison=comparison,
            origin=material.origin,
        )

    async def _earlier(self, scope: Scope, critique_id: str) -> Critique:
        record = await self._store.get(scope, critique_id)
        if record is None:
            raise NotFound("critique", critique_id)
        return critique_in(record.body)

    async def _against(
        self, scope: Scope, earlier: Critique, material: CritiqueMaterial, verdict: Verdict, deadline_s: float
    ) -> Comparison:
        """The comparison with an earlier response. No model is asked if the verdict failed."""
        if verdict.status is not ResultStatus.OK:
            return Comparison(verdict.status, verdict.detail, against_id=earlier.critique_id)
        return await compare(
            self._model, scope, material, earlier.response, material.response, deadline_s, earlier.critique_id
        )


def record_of(critique: Critique) -> CritiqueRecord:
    """The store's record of a critique."""
    verdict = critique.verdict
    return CritiqueRecord(
        critique_id=critique.critique_id,
        created_us=critique.created_us,
        provider=verdict.usage.provider if verdict.usage is not None else "",
        confidence_ppm=to_ppm(verdict.confidence),
        revise=verdict.calls_for_revision,
        turn_id=critique.turn_id,
        session_id=critique.session_id,
        body=critique_body(critique),
        compared_to=critique.comparison.against_id if critique.comparison is not None else "",
        model=verdict.usage.model if verdict.usage is not None else "",
        stated_ppm=to_ppm(verdict.stated if verdict.calibrated else verdict.confidence),
    )
