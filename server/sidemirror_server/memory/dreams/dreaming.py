"""Dreaming: a background pass that derives lessons from groups of similar memories (decision 034).

A pass is a job of the durable queue (`memory/dreams/schedule.py`). It clusters unread memories with recent ones
(`memory/dreams/groups.py`), asks a model about the clusters that several episodes support, stores the lessons, and adds
its entry to the log. It deletes nothing and rewrites nothing.

Each answer is saved in the job's checkpoint before it is used, and storing it twice changes nothing. After a crash the
job resumes where it stopped. A job that lost its claim ends at its next checkpoint.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence

import msgspec

from sidemirror_server.memory.dreams.dreams import Dream, Dreams, DreamtLesson, dream_body, rest_until
from sidemirror_server.memory.dreams.groups import Group, episodes_of, gathered, in_turn
from sidemirror_server.memory.dreams.lesson import lesson_of_dream
from sidemirror_server.memory.dreams.prompts import DreamPrompts, evidence_of
from sidemirror_server.memory.dreams.schedule import number_of
from sidemirror_server.memory.lessons.keeping import Trust
from sidemirror_server.memory.lessons.scoring import Scorer, models_own
from sidemirror_server.memory.record import Lesson, MemoryKind, MemoryRecord, MemoryState
from sidemirror_server.memory.store import Memories, MemoryKey
from sidemirror_server.models.answers import DreamAnswer
from sidemirror_server.models.language_model import Ask, Purpose
from sidemirror_server.models.scoped_model import ScopedModel
from sidemirror_server.vocabulary.budget import LONGEST_MODEL_CALL_S
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import ModelFailed, WrongState
from sidemirror_server.vocabulary.ids import derived_id
from sidemirror_server.vocabulary.scope import Scope, whose
from sidemirror_server.vocabulary.status import ResultStatus, Usage
from sidemirror_server.work.queue import Job, JobState
from sidemirror_server.work.worker import PATIENCE_S, ClaimedJob, patiently

_log = logging.getLogger(__name__)

# How many new memories one pass reads, and with how many recent ones it compares them. Chosen here: a day of a busy
# agent, clustered within a second.
MOST_READ, MOST_RECENT = 500, 1_000
# Questions of one pass. Chosen here: at a small model's prices a pass costs less than a tenth of the day's cap.
MOST_ASKED = 20
# Limits the visible answer, as for a reflection on an episode.
_MAX_TOKENS = 800
_TEMPERATURE = 0.1
# Memories read at once on the event loop; MOST_RECENT is a multiple of this.
_AT_ONCE = 50
_MOST_LEFT = 10_000

# No model was asked.
_NOT_ASKED = frozenset(
    (
        ResultStatus.SKIPPED_SPEND,
        ResultStatus.SKIPPED_DISABLED,
        ResultStatus.SKIPPED_DEADLINE,
        ResultStatus.SKIPPED_BUDGET,
    )
)
# These statuses end the pass and leave the other clusters to the next one. Other failures concern one question, and a
# retry would cost as much and fail again. A refusal (`_Answered.is_not_taken`) may be due to one text or to all
# requests: the next question shows which.
_ENDS_THE_PASS = frozenset((*_NOT_ASKED, ResultStatus.FAILED_MODEL))

# A pass gives up after this many failures in a row. Chosen here: a model that gave three answers in a wrong form will
# not get the fourth right, and each takes three attempts.
_GIVES_UP_AFTER = 3


class _Answered(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result for one cluster. `lesson`: None if nothing is to be stored. `supporting_ids`: the memories that it
    rests on; `episodes`: how many episodes taught them. `is_not_taken`: the provider refused the request unprocessed,
    or a template failed; a retry would fail too."""

    status: ResultStatus = ResultStatus.OK
    detail: str = ""
    is_not_taken: bool = False
    lesson: Lesson | None = None
    supporting_ids: tuple[str, ...] = ()
    episodes: int = 0
    usage: Usage | None = None


class _Notes(msgspec.Struct, frozen=True, omit_defaults=True):
    """A pass's checkpoint. `new_ids`: the memories read as new. `found`: the number of clusters; `known`: the number of
    them that need no question. `left`: the number of unread memories that were not read. `groups`: the clusters to ask
    about; `answered`: the results so far. `left_ids`: new memories of clusters beyond MOST_ASKED. `refused_ids`: see
    `Dream`."""

    started_us: int
    new_ids: tuple[str, ...]
    found: int = 0
    known: int = 0
    left: int = 0
    groups: tuple[Group, ...] = ()
    left_ids: tuple[str, ...] = ()
    answered: tuple[_Answered, ...] = ()
    refused_ids: tuple[str, ...] = ()


_decode_notes = msgspec.json.Decoder(_Notes).decode


class Progress(msgspec.Struct, frozen=True):
    """The progress of a pass. `is_waiting`: no worker has started the pass."""

    dream_id: str
    is_waiting: bool
    read: int = 0
    clusters: int = 0
    finished: int = 0
    lessons: int = 0


def progress_of(job: Job) -> Progress:
    """The progress of the pass that this job runs, on any sidecar."""
    if job.checkpoint is None:
        return Progress(job.job_id, job.state is not JobState.RUNNING)
    notes = _decode_notes(job.checkpoint)
    lessons = sum(answered.lesson is not None for answered in notes.answered)
    return Progress(job.job_id, False, len(notes.new_ids), len(notes.groups), len(notes.answered), lessons)


class Dreamer:
    """Runs passes; `handle` is the worker's handler."""

    def __init__(
        self,
        model: ScopedModel,
        prompts: DreamPrompts,
        memories: Memories,
        dreams: Dreams,
        clock: Clock,
        trust: Trust,
        scorer: Scorer = models_own,
        learned: Callable[[Scope, str], None] = lambda _scope, _memory_id: None,
        leftovers: Callable[[Scope], Awaitable[None]] | None = None,
    ) -> None:
        """`learned` is called for each stored lesson. `leftovers` learns from turns that nothing was learned from yet,
        before a pass reads the memories."""
        self._leftovers = leftovers
        self._model = model
        self._prompts = prompts
        self._memories = memories
        self._dreams = dreams
        self._clock = clock
        self._trust = trust
        self._scorer = scorer
        self._learned = learned

    async def handle(self, task: ClaimedJob) -> bytes:
        """Runs one pass and returns its log entry. Raises NotNow, LostClaim and what the stores raise."""
        scope, number = task.job.scope, number_of(task.job)
        until_s = self._clock.monotonic_s() + PATIENCE_S
        kept = await patiently(lambda: self._dreams.list(scope, number + 1, 1), self._clock, until_s)
        if kept and kept[0].number == number:
            return dream_body(kept[0])
        if task.job.checkpoint is None:
            leftovers = self._leftovers
            if leftovers is not None:
                await patiently(lambda: leftovers(scope), self._clock, until_s)
            notes = await patiently(lambda: self._begin(scope), self._clock, until_s)
            await self._note(task, notes)
        else:
            notes = _decode_notes(task.job.checkpoint)
        lessons: list[DreamtLesson] = []
        for place, group in enumerate(notes.groups):
            if place == len(notes.answered):
                answered = await self._ask(scope, group.sample, f"{task.job.job_id}/{place}")
                notes = msgspec.structs.replace(notes, answered=(*notes.answered, answered))
                await self._note(task, notes)
            lessons += await self._keep(scope, notes.answered[place])
            if _is_over(notes.answered[: place + 1]):
                break
        return dream_body(await self._close(task.job, number, notes, tuple(lessons)))

    async def _note(self, task: ClaimedJob, notes: _Notes) -> None:
        until_s = self._clock.monotonic_s() + PATIENCE_S
        await patiently(lambda: task.checkpoint(msgspec.json.encode(notes)), self._clock, until_s)

    async def _begin(self, scope: Scope) -> _Notes:
        """Reads new memories and clusters them with recent ones."""
        started_us = self._clock.now_us()
        unread = await self._dreams.unread(scope, _MOST_LEFT)
        new_ids, left = unread[:MOST_READ], len(unread[MOST_READ:])
        _log.info("dream_started", extra={**whose(scope), "new": len(new_ids)})
        if not new_ids:
            return _Notes(started_us, ())
        last = await self._dreams.list(scope, None, 1)
        refused_ids = last[0].refused_ids if last else ()
        new = await self._get(scope, new_ids)
        recent = await self._recent(scope)
        found = await asyncio.to_thread(gathered, new, recent)
        groups = in_turn(found.groups, refused_ids)
        later = tuple(memory_id for group in groups[MOST_ASKED:] for memory_id in group.new_ids)
        counts = (found.count, found.known, left)
        return _Notes(started_us, new_ids, *counts, groups[:MOST_ASKED], later, refused_ids=refused_ids)

    async def _recent(self, scope: Scope) -> list[MemoryRecord]:
        found: list[MemoryRecord] = []
        after: MemoryKey | None = None
        while len(found) < MOST_RECENT:
            some = await self._memories.list(scope, MemoryKind.REFLECTION, MemoryState.ACTIVE, after, _AT_ONCE)
            found += some
            if len(some) < _AT_ONCE:
                break
            after = MemoryKey(some[-1].created_us, some[-1].memory_id)
        return found

    async def _get(self, scope: Scope, memory_ids: Sequence[str]) -> list[MemoryRecord]:
        found: list[MemoryRecord] = []
        for at in range(0, len(memory_ids), _AT_ONCE):
            found += await self._memories.get(scope, tuple(memory_ids[at : at + _AT_ONCE]))
            await asyncio.sleep(0)
        return found

    async def _ask(self, scope: Scope, memory_ids: tuple[str, ...], named: str) -> _Answered:
        """Asks a model about a cluster. A failure is saved as a result too, but stores no lesson."""
        members = [memory for memory in await self._get(scope, memory_ids) if memory.state is MemoryState.ACTIVE]
        if episodes_of(members) < 2:
            return _Answered()  # its memories were deleted or retired meanwhile
        try:
            completion = await self._model.ask(scope, self._question(members), LONGEST_MODEL_CALL_S)
        except WrongState as failure:  # an operator's template failed: a retry of the pass would not help
            _log.warning("dream_not_answered", extra={**whose(scope), "reason": str(failure)})
            return _Answered(ResultStatus.FAILED_MODEL, str(failure), is_not_taken=True)
        except ModelFailed as failure:
            _log.info("dream_not_answered", extra={**whose(scope), "status": failure.status.value})
            return _Answered(failure.status, failure.detail, failure.is_not_taken, usage=failure.usage)
        answer, usage = completion.answer, completion.usage
        cited = [memory for memory in members if memory.memory_id in answer.supporting_memory_ids]
        if not answer.lesson.strip() or episodes_of(cited) < 2:
            return _Answered(usage=usage)
        named_ids = (derived_id(scope, "dreamt reflection", named), derived_id(scope, "dreamt strategy", named))
        lesson = await asyncio.to_thread(
            lesson_of_dream, answer, members, cited, named_ids, self._trust, self._scorer, self._clock.now_us()
        )
        if lesson.reflection.importance < self._trust.min_store_importance:
            return _Answered(usage=usage)
        return _Answered(
            lesson=lesson,
            supporting_ids=tuple(memory.memory_id for memory in cited),
            episodes=episodes_of(cited),
            usage=usage,
        )

    def _question(self, members: Sequence[MemoryRecord]) -> Ask[DreamAnswer]:
        return Ask(
            purpose=Purpose.DREAMING,
            system=self._prompts.system(),
            prompt=self._prompts.prompt(members),
            answer_type=DreamAnswer,
            evidence=evidence_of(members),
            max_tokens=_MAX_TOKENS,
            temperature=_TEMPERATURE,
        )

    async def _keep(self, scope: Scope, answered: _Answered) -> list[DreamtLesson]:
        """Stores a lesson, unless an earlier attempt did."""
        lesson = answered.lesson
        if lesson is None:
            return []
        clock, until_s = self._clock, self._clock.monotonic_s() + PATIENCE_S
        learned = await patiently(lambda: self._memories.learn(scope, lesson, clock.now_us()), clock, until_s)
        kept_id = learned.reflection.memory_id
        self._learned(scope, kept_id)
        strategy_id = learned.strategy.memory_id if learned.strategy else ""
        is_new = kept_id == lesson.reflection.memory_id
        return [DreamtLesson(kept_id, strategy_id, answered.supporting_ids, answered.episodes, is_new)]

    async def _close(self, job: Job, number: int, notes: _Notes, lessons: tuple[DreamtLesson, ...]) -> Dream:
        """Adds the pass to the log. New memories of clusters that it leaves to the next pass stay unread."""
        ended = next((one for one in notes.answered if _ends(one)), None)
        not_dreamt = notes.groups[len(notes.answered) :] + _waiting(notes)
        left_ids = {*notes.left_ids, *(memory_id for group in not_dreamt for memory_id in group.new_ids)}
        read_ids = tuple(memory_id for memory_id in notes.new_ids if memory_id not in left_ids)
        failed = [one for one in notes.answered if one.status is not ResultStatus.OK]
        told = ended or (failed[0] if failed else _Answered())
        dream = Dream(
            dream_id=job.job_id,
            number=number,
            started_us=notes.started_us,
            ended_us=self._clock.now_us(),
            status=told.status,
            detail=told.detail,
            read=len(read_ids),
            left=notes.left + len(notes.new_ids) - len(read_ids),
            clusters=notes.found,
            known=notes.known,
            asked=sum(map(_was_asked, notes.answered)),
            unsupported=sum(one.status is ResultStatus.OK and one.lesson is None for one in notes.answered),
            failed=len(failed),
            lessons=lessons,
            usage=_total(notes.answered),
            refused_ids=_refused(notes, left_ids),
        )
        until_s = self._clock.monotonic_s() + PATIENCE_S
        standing = await patiently(lambda: self._dreams.standing(job.scope), self._clock, until_s)
        rest_us = rest_until(standing, dream)
        closed = await patiently(lambda: self._dreams.close(job.scope, dream, read_ids, rest_us), self._clock, until_s)
        counts = {"read": closed.read, "asked": closed.asked, "lessons": len(closed.lessons), "left": closed.left}
        _log.info("dream_ended", extra={**whose(job.scope), "status": closed.status.value, **counts})
        return closed


def _was_asked(answered: _Answered) -> bool:
    return answered.status not in _NOT_ASKED and not (answered.is_not_taken and answered.usage is None)


def _ends(answered: _Answered) -> bool:
    return answered.status in _ENDS_THE_PASS and not answered.is_not_taken


def _is_over(answered: Sequence[_Answered]) -> bool:
    """Whether the pass stops asking: the last failure ends it, or too many questions failed in a row."""
    failed = [one.status is not ResultStatus.OK for one in answered[-_GIVES_UP_AFTER:]]
    return _ends(answered[-1]) or (len(failed) == _GIVES_UP_AFTER and all(failed))


def _waiting(notes: _Notes) -> tuple[Group, ...]:
    """Failed clusters that the next pass asks about again. A refused cluster is left out if its text seems to be the
    reason: a later question was answered, or any was and the cluster was refused before."""
    left: list[Group] = []
    answers = any(one.status not in _ENDS_THE_PASS for one in notes.answered)
    works = False
    for group, one in reversed(tuple(zip(notes.groups, notes.answered, strict=False))):
        again = answers and not {*group.new_ids}.isdisjoint(notes.refused_ids)
        if _ends(one) or (one.is_not_taken and not works and not again):
            left.append(group)
        works = works or one.status not in _ENDS_THE_PASS
    return tuple(left)


def _refused(notes: _Notes, left_ids: Collection[str]) -> tuple[str, ...]:
    """The value of `Dream.refused_ids`. `left_ids`: the memories of this pass that stay unread."""
    tried = zip(notes.groups, notes.answered, strict=False)
    now = tuple(group.new_ids[0] for group, one in tried if one.is_not_taken and group.new_ids[0] in left_ids)
    before = tuple(one for one in notes.refused_ids if one not in now and one in left_ids)
    return (*before, *now)


def _total(answered: Sequence[_Answered]) -> Usage | None:
    """The usage of all questions; None if none was asked."""
    took = [one.usage for one in answered if one.usage is not None]
    if not took:
        return None
    return Usage(
        provider=took[-1].provider,
        model=took[-1].model,
        input_tokens=sum(one.input_tokens for one in took),
        output_tokens=sum(one.output_tokens for one in took),
        cache_read_tokens=sum(one.cache_read_tokens for one in took),
        cache_write_tokens=sum(one.cache_write_tokens for one in took),
        cost_usd=None if any(one.cost_usd is None for one in took) else sum(one.cost_usd or 0.0 for one in took),
        latency_us=sum(one.latency_us for one in took),
    )
