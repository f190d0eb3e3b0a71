"""Learns from turns and goals that have ended: the handlers of their jobs (decision 053).

A job may run again after a crash at any moment, and on another sidecar. The ids of what is stored derive from the job,
so that a lesson is stored once. A question to a model that a crash cut off is asked again.
"""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from typing import Any

import msgspec

from sidemirror_server.goals.publish import Publisher
from sidemirror_server.goals.report import GoalReport, reflection_in, report_in
from sidemirror_server.memory.kin.graph import MemoryGraph
from sidemirror_server.memory.kin.links import Node, NodeKind
from sidemirror_server.memory.kin.signature import error_signature
from sidemirror_server.memory.lessons.echo import without_echo
from sidemirror_server.memory.lessons.episode import (
    EpisodeStep,
    EventType,
    ReflectionContext,
    signature_of,
    steps_of,
)
from sidemirror_server.memory.lessons.keeping import Ids, Keeper, Stored, judged_by_episode
from sidemirror_server.memory.lessons.keys import episode_key
from sidemirror_server.memory.lessons.reflector import Reflector, Result
from sidemirror_server.memory.record import AppliesWhen, LinkKind
from sidemirror_server.models.language_model import Purpose
from sidemirror_server.thinking.store import Sessions
from sidemirror_server.trace.event import NAMELESS, Event, TurnStarted
from sidemirror_server.trace.failure import category_of
from sidemirror_server.trace.log import TurnLog, TurnStanding
from sidemirror_server.trace.receipts import Receipts
from sidemirror_server.trace.sources import SourceKind, key, keys
from sidemirror_server.turns.aside import Aside
from sidemirror_server.turns.head import head_in
from sidemirror_server.turns.recorded import recorded_of
from sidemirror_server.turns.teaching import KIND, Cause, EndedTurn, ended_turn_in, job_of
from sidemirror_server.vocabulary.budget import LONGEST_MODEL_CALL_S
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import Disabled, NotFound, SpendCapReached, WrongState
from sidemirror_server.vocabulary.giving_way import Awaited
from sidemirror_server.vocabulary.ids import JobId, SessionId, TurnId, derived_id
from sidemirror_server.vocabulary.scope import Scope, whose
from sidemirror_server.work.queue import JobState, NewJob, Work
from sidemirror_server.work.worker import PATIENCE_S, ClaimedJob, Hopeless, patiently

_log = logging.getLogger(__name__)

# How many of a session's last turns are looked through for the one that a user corrects, and how many of a turn's
# receipts say what it was shown. Chosen here: the one before; more blocks than a turn asks for.
_LAST_TURNS, _MOST_RECEIPTS = 8, 200
# How many ended turns dreaming looks through, and how many of them it learns from in a pass. Chosen here: a day of a
# busy agent; as many as a pass asks about clusters. How long it waits for their lessons, and how often it looks.
_LOOKED_THROUGH, _MOST_LEFT = 500, 20
_PATIENCE_S, _LOOK_AGAIN_S = 20.0, 0.1


class LearningResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of a job; its result. `became`: stored, nothing (it taught nothing), known (a lesson about the
    failure is there), or gone (the turn was erased or removed)."""

    became: str
    memory_id: str = ""


class Learner:
    """Reflects on ended turns and keeps what they taught; `handle` is the worker's handler."""

    def __init__(
        self,
        log: TurnLog,
        sessions: Sessions,
        receipts: Receipts,
        graph: MemoryGraph,
        reflector: Reflector,
        keeper: Keeper,
        clock: Clock,
        awaited: Awaited,
        *,
        once_per_signature: bool,
    ) -> None:
        """`once_per_signature`: a failure that a memory is about already is not reflected on again. `awaited`: whom the
        learning makes way for."""
        self._log = log
        self._sessions = sessions
        self._receipts = receipts
        self._graph = graph
        self._reflector = reflector
        self._keeper = keeper
        self._clock = clock
        self._once_per_signature = once_per_signature
        self._aside = Aside(clock, awaited)

    async def handle(self, task: ClaimedJob) -> bytes:
        """Learns from the job's turn; the result is a `LearningResult`. Raises NotNow, Hopeless when a cap is reached,
        ModelUnavailable and ModelTooLate."""
        scope, ended = task.job.scope, ended_turn_in(task.job.payload)
        learned = await self.learn(scope, ended, task.job.job_id)
        told = {"turn_id": ended.turn_id, "became": learned.became}
        _log.info("turn_learned_from", extra={**whose(scope), **told})
        return msgspec.json.encode(learned)

    async def learn(self, scope: Scope, ended: EndedTurn, named: str) -> LearningResult:
        """Reflects on a turn and keeps the ended. `named`: a retry has the same, so that it stores nothing twice."""
        clock, heard_us = self._clock, self._clock.now_us()
        until_s = clock.monotonic_s() + PATIENCE_S + LONGEST_MODEL_CALL_S
        async with self._aside.alone():
            context = await patiently(lambda: self._context(scope, ended), clock, until_s)
            if context is None:
                return LearningResult("gone")
            signature = signature_of(context, ()) if self._once_per_signature else ""
            is_known = await patiently(lambda: self._is_known(scope, signature), clock, until_s)
            if is_known:
                return LearningResult("known")
            shown = await patiently(
                lambda: self._receipts.of_turn(scope, ended.turn_id, _MOST_RECEIPTS), clock, until_s
            )
            receipt_ids = [receipt.receipt_id for receipt in shown]
            heard = await patiently(lambda: without_echo(self._receipts, scope, context, receipt_ids), clock, until_s)
        try:
            result = await self._reflector.reflect(
                scope, heard.context, LONGEST_MODEL_CALL_S, clock.now_us(), Purpose.LEARNING
            )
        except (SpendCapReached, Disabled) as error:
            raise Hopeless(str(error)) from error  # the job is dead and listed: dreaming revives it
        if not result.reflection:
            return LearningResult("nothing")
        # What the agent had been shown is taught again by a failure of its own, which no lesson can bring about.
        repeats = not result.error_signature and (
            heard.repeats(result.reflection) or (bool(result.strategy) and heard.repeats(result.strategy))
        )
        more = {"learned_from": [cause.value for cause in ended.causes]}
        ids = _ids(scope, named)
        async with self._aside.alone():
            untrusted, trusted = (heard.context.texts(trusted=trusted) for trusted in (False, True))
            judged = await judged_by_episode(result, untrusted, trusted)
            judged = msgspec.structs.replace(judged, repeats=repeats)
            try:
                stored = await patiently(
                    lambda: self._keeper.keep(
                        *(scope, judged, ids),
                        is_judged=True,
                        more=more,
                        heard_us=heard_us,
                        from_spans=context.from_spans,
                    ),
                    *(clock, until_s),
                )
            except WrongState:  # a source was erased meanwhile
                return LearningResult("gone")
        return LearningResult("stored" if stored.reflection_id else "nothing", stored.reflection_id)

    async def _is_known(self, scope: Scope, signature: str) -> bool:
        """Whether a memory is about this failure."""
        if not signature:
            return False
        node = Node(NodeKind.SIGNATURE, signature).key
        return bool(await self._graph.around(scope, (node,), (LinkKind.MENTIONS,), 1))

    async def _context(self, scope: Scope, ended: EndedTurn) -> ReflectionContext | None:
        """The turn as an episode, together with the turn that its user corrects, if there is one. None if the turn is
        gone."""
        head = await self._log.head(scope, TurnId(ended.turn_id))
        if head is None:
            return None
        heads = [head]
        if Cause.CORRECTION in ended.causes:
            last = await self._log.heads(scope, head.session_id, None, None, _LAST_TURNS)
            heads = [*(one for one in last if one.turn_count == head.turn_count - 1), head]
        recorded = [one for each in heads for one in await recorded_of(self._log, scope, each)]
        events = [one for one in recorded if isinstance(one, Event)]
        started = [one.what for one in events if isinstance(one.what, TurnStarted)]
        # Conversations without a name do not corroborate each other.
        is_nameless = any(one.from_spans and one.own_session for one in started)
        session = await self._sessions.get(scope, SessionId(head.session_id))
        subjects = [*(session.subject_ids if session else ()), *(one for event in events for one in event.subject_ids)]
        known = head_in(head.body)
        return ReflectionContext(
            steps=steps_of(events),
            outcome=known.outcome or ("timeout" if head.standing is TurnStanding.ABANDONED else "partial"),
            task_description=known.task,
            session_id=NAMELESS if is_nameless else head.session_id,
            from_spans=any(one.from_spans for one in started),
            sources=(
                *keys(SourceKind.SESSION, (head.session_id,)),
                *keys(SourceKind.TURN, (one.turn_id for one in heads)),
                *keys(SourceKind.SUBJECT, dict.fromkeys(subjects)),
            ),
        )


class Leftovers:
    """Turns that nothing was learned from yet, for dreaming: those that the hour had no room for, and those whose job
    died because a cap was reached or no model answered."""

    def __init__(self, log: TurnLog, work: Work, clock: Clock) -> None:
        self._log = log
        self._work = work
        self._clock = clock

    async def learn(self, scope: Scope) -> None:
        """Queues the newest of them, and waits a while until they were learned from. Raises what the stores raise."""
        dead = await self._work.list(scope, KIND, (JobState.DEAD,), None, _MOST_LEFT)
        for job in dead:
            with contextlib.suppress(WrongState, NotFound):  # another sidecar was faster, or the turn was erased
                await self._work.revive(scope, job.job_id, self._clock.now_us())
        heads = await self._log.heads(scope, None, None, None, _LOOKED_THROUGH)
        left = [(head.turn_id, head_in(head.body).unlearned) for head in heads]
        jobs = [job_of(scope, turn_id, causes) for turn_id, causes in left if causes][: _MOST_LEFT - len(dead)]
        for one in jobs:
            await self._work.put(scope, NewJob(one.job_id, one.kind, one.payload), self._clock.now_us())
        await self._ended(scope, [*(job.job_id for job in dead), *(one.job_id for one in jobs)])

    async def _ended(self, scope: Scope, job_ids: Sequence[JobId]) -> None:
        until_s = self._clock.monotonic_s() + _PATIENCE_S
        for job_id in job_ids:
            while (job := await self._work.get(scope, job_id)) and job.state not in (JobState.DONE, JobState.DEAD):
                if self._clock.monotonic_s() >= until_s:
                    return
                await asyncio.sleep(_LOOK_AGAIN_S)


class GoalLearner:
    """Makes the reflection of a goal's report, and keeps it as a memory; `handle` is the worker's handler."""

    def __init__(self, publisher: Publisher, keeper: Keeper | None, clock: Clock) -> None:
        """`keeper` None: nothing is learned."""
        self._publisher = publisher
        self._keeper = keeper
        self._clock = clock

    async def handle(self, task: ClaimedJob) -> bytes:
        """Publishes the reflection, then keeps it; the result is that of `Publisher.handle`. Raises what that raises,
        and NotNow."""
        heard_us = self._clock.now_us()
        body = await self._publisher.handle(task)
        report, keeper = report_in(task.job.payload), self._keeper
        if keeper is None or not body or not (report.error or report.has_task_error):
            # What only went well is shown for a week and taught nothing; a turn's calls are learned from with the turn.
            return body
        scope, report_id = task.job.scope, task.job.job_id
        result = await judged_by_episode(_of_goal(report, body, report_id, heard_us), _errors(report), _told(report))
        until_s = self._clock.monotonic_s() + PATIENCE_S
        more: dict[str, Any] = {"learned_from": ["goal"], "goal_id": report.goal_id}
        try:
            await patiently(lambda: self._kept(keeper, scope, result, report_id, more, heard_us), self._clock, until_s)
        except WrongState:
            told = {**whose(scope), "report_id": report_id, "reason": "a source was erased"}
            _log.info("goal_not_learned", extra=told)
        return body

    async def _kept(
        self, keeper: Keeper, scope: Scope, result: Result, report_id: str, more: dict[str, Any], heard_us: int
    ) -> Stored:
        return await keeper.keep(scope, result, _ids(scope, report_id), is_judged=True, more=more, heard_us=heard_us)


def _of_goal(report: GoalReport, body: bytes, report_id: str, now_us: int) -> Result:
    reflection = reflection_in(body)
    failed = next((task for task in report.tasks if task.error), None)
    tool, error = (failed.name, failed.error) if failed else ("", report.error)
    category = category_of(error, tool).value
    return Result(
        reflection=reflection.insight,
        strategy="",
        importance=reflection.importance,
        confidence=None,
        tags=("goal",),
        error_category=category,
        source_event_ids=(),
        related_ids=(),
        applies_when=AppliesWhen((tool,) if failed and tool else (), (category,)),
        origin=reflection.origin,
        outcome="success" if report.state.value == "completed" else "failure",
        task=report.short_objective,
        event_count=len(report.tasks),
        session_id="",
        episode=episode_key(report.objective, report.state.value, _steps(report)),
        generated_us=now_us,
        error_signature=error_signature(tool, error),
        sources=(key(SourceKind.GOAL_REPORT, report_id), *keys(SourceKind.SUBJECT, report.subject_ids)),
    )


def _steps(report: GoalReport) -> tuple[EpisodeStep, ...]:
    """The tasks of a goal as steps, by which a repeated report is recognised."""
    return tuple(
        EpisodeStep("", EventType.TOOL_RESPONSE, task.output_summary, report.origin, task.name, task.error)
        for task in report.tasks
    )


def _errors(report: GoalReport) -> tuple[str, ...]:
    return tuple(error for error in (report.error, *(task.error for task in report.tasks)) if error)


def _told(report: GoalReport) -> tuple[str, ...]:
    texts = (report.objective, *(text for task in report.tasks for text in (task.name, task.output_summary)))
    return tuple(text for text in texts if text)


def _ids(scope: Scope, named: str) -> Ids:
    reflection_id = derived_id(scope, "learned reflection", named)
    return Ids(reflection_id, derived_id(scope, "learned strategy", named), reflection_id)
