"""Critiques of a turn's drafts: asks for a verdict in a task of its own, and records the verdict as a directive.

Called by `conductor.py` for each drafted response. As for a reflection, a claim is recorded before the model is asked.
A critique takes no reflection slot, but stays within the turn's remaining time, tokens and USD.
"""

import asyncio
import logging

import msgspec

from sidemirror_server.critique.gate import GateReason, should_critique
from sidemirror_server.critique.keeping import About, Critic
from sidemirror_server.critique.material import CritiqueMaterial, ToolEvidence
from sidemirror_server.critique.record import Critique, Verdict, critique_body
from sidemirror_server.models.profiles import Within
from sidemirror_server.thinking.record import Critiqued, Directive, SlotClaim
from sidemirror_server.thinking.turn import elapsed_s, left
from sidemirror_server.thinking.turn_state import TurnState
from sidemirror_server.trace.event import ResponseDrafted
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.vocabulary.budget import Spent, claim, model_timeout_s
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import SidemirrorError
from sidemirror_server.vocabulary.ids import DirectiveId, EventId, new_id
from sidemirror_server.vocabulary.outage import Outage
from sidemirror_server.vocabulary.scope import whose
from sidemirror_server.vocabulary.status import ResultStatus

_log = logging.getLogger(__name__)
# How long a verdict waits for the store. Chosen here: a commit takes milliseconds, and the agent is waiting.
_STORE_PATIENCE_S = 1.0


class TurnCritiques:
    """Starts and cancels the critiques of all turns."""

    def __init__(self, critic: Critic, recorder: Recorder, clock: Clock) -> None:
        self._critic = critic
        self._recorder = recorder
        self._clock = clock
        self._outage = Outage(_log, "critique_not_kept", "critiques_kept_again", clock)

    def drafted(self, turn: LiveTurn, event_id: EventId, draft: ResponseDrafted) -> None:
        """Starts a critique of the draft if the turn's mode wants one."""
        reasons = wanted(turn.state, draft.text)
        if not reasons:
            return
        now_us = self._clock.now_us()
        state = turn.state
        directive_id = DirectiveId(new_id(now_us))
        begun = SlotClaim(directive_id, now_us, caused_by=(event_id,), critique=True, critique_reasons=reasons)
        turn.record(begun, now_us)
        ran_s = elapsed_s(state, now_us)
        # The cap on reflections does not apply to a critique; the rest of the budget does.
        allowed = claim(
            msgspec.structs.replace(state.budget, max_reflections=1),
            Spent(0, state.spent.tokens, state.spent.usd),
            ran_s,
        )
        if allowed.status is not ResultStatus.OK:
            self._record(turn, begun, _unkept(state, now_us, Verdict(allowed.status, allowed.detail)))
            return
        self._recorder.submit(turn, gather=True)
        limit_s = state.budget.time_limit_s
        timeout_s = model_timeout_s(None if limit_s is None else limit_s - ran_s)
        unspent = left(state, now_us)
        within = Within(unspent.tokens, unspent.usd)
        material = material_of(state, draft.text, event_id)
        task = asyncio.create_task(self._run(turn, begun, material, timeout_s, within))
        turn.tasks[directive_id] = task
        task.add_done_callback(lambda done: self._done(turn, begun, done))

    def give_up(self, turn: LiveTurn, reason: str) -> None:
        """Records every critique without a result as failed: its task was cancelled, or lost in a crash."""
        for _, begun in tuple(turn.state.claims.values()):
            if begun.critique:
                self._fail(turn, begun, reason)

    async def _run(
        self, turn: LiveTurn, begun: SlotClaim, material: CritiqueMaterial, timeout_s: float, within: Within
    ) -> None:
        about = About(turn.state.turn_id, turn.state.session_id, heard_us=begun.at_us)
        verdict = await self._critic.verdict(turn.scope, material, timeout_s, within)
        try:
            async with asyncio.timeout(_STORE_PATIENCE_S):
                made = await self._critic.keep(turn.scope, begun.directive_id, material, verdict, about)
        except (SidemirrorError, TimeoutError) as error:
            # The agent still gets its verdict, but without an id: perhaps no list will show the critique.
            told = {**whose(turn.scope), "turn_id": turn.state.turn_id, "reason": type(error).__name__}
            self._outage.failed(told)
            made = self._critic.made("", material, verdict, about)
        else:
            self._outage.worked(whose(turn.scope))
        self._record(turn, begun, made)

    def _done(self, turn: LiveTurn, begun: SlotClaim, task: asyncio.Task[None]) -> None:
        turn.tasks.pop(begun.directive_id, None)
        if not task.cancelled() and task.exception() is not None:
            # A bug (a failing model gives a status). The failure is recorded, so that the turn does not wait forever.
            _log.error("critique_failed", extra=whose(turn.scope), exc_info=task.exception())
            if begun.directive_id in turn.state.claims:
                self._fail(turn, begun, "the server failed to make this critique")
        turn.wake()

    def _fail(self, turn: LiveTurn, begun: SlotClaim, reason: str) -> None:
        verdict = Verdict(ResultStatus.FAILED_MODEL, reason)
        self._record(turn, begun, _unkept(turn.state, self._clock.now_us(), verdict))

    def _record(self, turn: LiveTurn, begun: SlotClaim, made: Critique) -> None:
        # The turn's log has the question and the response already.
        body = critique_body(msgspec.structs.replace(made, question="", response=""))
        verdict = made.verdict
        what = Critiqued(
            verdict.status, msgspec.Raw(body), begun.critique_reasons, verdict.usage, verdict.should_revise
        )
        now_us = self._clock.now_us()
        turn.record(Directive(begun.directive_id, now_us, what, begun.caused_by), now_us)
        self._recorder.submit(turn, gather=True)
        turn.wake()


def wanted(state: TurnState, response: str) -> tuple[str, ...]:
    """The reasons for a critique of this response, by the turn's mode; empty if the mode wants none."""
    if state.critique_mode == "off":
        return ()
    # The gate only needs the numbers of results and failures, not their order.
    failed = state.marked_error_count
    gate = should_critique((place < failed for place in range(state.steps_done)), len(response))
    always = (GateReason.ALWAYS,) if state.critique_mode == "always" else ()
    return tuple(reason.value for reason in (*gate.reasons, *always))


def material_of(state: TurnState, response: str, event_id: str = "") -> CritiqueMaterial:
    """The material for a critique of the response that this event drafted, from the turn's state."""
    steps = (*state.first_steps, *state.last_steps)
    asked = {step.event_id: step.text for step in steps if step.kind == "tool_call"}
    arguments = {step.event_id: asked.get(step.answers, "") for step in steps if step.answers}
    results = tuple(
        ToolEvidence(one.tool, one.text, one.failed, arguments.get(EventId(one.event_id), ""), one.event_id)
        for one in state.results
    )
    return CritiqueMaterial(
        *(state.question, response, results, state.task, state.origin),
        question_event=state.question_event,
        response_event=event_id,
        task_event=state.task_event,
    )


def _unkept(state: TurnState, now_us: int, verdict: Verdict) -> Critique:
    return Critique("", now_us, verdict, turn_id=state.turn_id, session_id=state.session_id, origin=state.origin)
