"""The calls of ReflectiveMemoryService about dreams, and about what was removed because it was old."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.dream_schedule import DreamSchedule
from sidemirror_server.memory.dreaming import Progress, progress_of
from sidemirror_server.memory.dreams import Dream, Dreams, DreamtLesson, dream_in
from sidemirror_server.memory.pruning import Pruned, PrunedKind, Pruning
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import place_in, size_of, token_for
from sidemirror_server.rpc.wire.common import STATUSES, timestamp, usage_to_wire
from sidemirror_server.vocabulary.errors import Disabled, WrongState
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.work.queue import Job, JobState, Work

# How often a caller who follows a pass is told how far it is. The pass may run in another sidecar, of which only its
# notes in the queue are seen. Chosen here: a person does not wait for it, and one look is one row.
_LOOK_AGAIN_S = 0.2
# Of a page of the log: a message holds 4 MiB, and a pass may have made 20 lessons of 12 memories each.
_PAGE_BYTES = 2 * 1024 * 1024
_KINDS: dict[PrunedKind, Any] = {kind: pb.PrunedKind.Value(f"PRUNED_KIND_{kind.name}") for kind in PrunedKind}


class DreamCalls:
    """Lets projects dream, and shows what passes came to."""

    follows = frozenset(("Dream",))  # the pass goes on, here or in another sidecar, when its streams end

    def __init__(self, schedule: DreamSchedule | None, dreams: Dreams, pruning: Pruning, work: Work) -> None:
        """`schedule` None: nothing dreams here."""
        self._schedule = schedule
        self._dreams = dreams
        self._pruning = pruning
        self._work = work

    async def Dream(self, request: pb.DreamRequest, call: Call) -> AsyncGenerator[pb.DreamResponse, None]:
        if self._schedule is None:
            raise Disabled(detail="memory__mode (REFLECTIVE_MEMORY_MODE) is lite")
        job_id = await self._schedule.start(call.scope)
        told: Progress | None = None
        while True:
            job = await self._job(call, job_id)
            progress = progress_of(job)
            if (progress != told and job.checkpoint is not None) or told is None:
                yield pb.DreamResponse(progress=_progress_to_wire(progress))
                told = progress
            if job.state is JobState.DONE and job.result is not None:
                yield pb.DreamResponse(dream=dream_to_wire(dream_in(job.result)))
                return
            if job.state is JobState.DEAD:
                raise WrongState("dream", job_id, "it could not be finished; the next request tries again")
            await asyncio.sleep(_LOOK_AGAIN_S)

    async def _job(self, call: Call, job_id: JobId) -> Job:
        job = await self._work.get(call.scope, job_id)
        if job is None:
            raise WrongState("dream", job_id, "it is gone")
        return job

    async def ListDreams(self, request: pb.ListDreamsRequest, call: Call) -> pb.ListDreamsResponse:
        size, query = size_of(request.page_size, 50), (call.scope, "dreams")
        before = place_in(request.page_token, int, "page_token", *query)
        found = await self._dreams.list(call.scope, before, size + 1)
        shown, room = list[pb.DreamLogEntry](), _PAGE_BYTES
        for wire in map(dream_to_wire, found[:size]):
            room -= wire.ByteSize()
            if shown and room < 0:
                break
            shown.append(wire)
        token = token_for(shown[-1].number, *query) if len(shown) < len(found) else ""
        return pb.ListDreamsResponse(dreams=shown, next_page_token=token)

    async def ListPrunings(self, request: pb.ListPruningsRequest, call: Call) -> pb.ListPruningsResponse:
        size, query = size_of(request.page_size, 50), (call.scope, "prunings")
        before = place_in(request.page_token, int, "page_token", *query)
        found = await self._pruning.list(call.scope, before, size + 1)
        token = token_for(found[size - 1].number, *query) if len(found) > size else ""
        return pb.ListPruningsResponse(prunings=_prunings_to_wire(found[:size]), next_page_token=token)


def _progress_to_wire(progress: Progress) -> pb.DreamProgress:
    return pb.DreamProgress(
        dream_id=progress.dream_id,
        waiting=progress.is_waiting,
        read_count=progress.read,
        cluster_count=progress.clusters,
        finished_cluster_count=progress.finished,
        lesson_count=progress.lessons,
    )


def dream_to_wire(dream: Dream) -> pb.DreamLogEntry:
    """An entry of the log."""
    return pb.DreamLogEntry(
        dream_id=dream.dream_id,
        number=dream.number,
        start_time=timestamp(dream.started_us),
        end_time=timestamp(dream.ended_us),
        status=STATUSES[dream.status],
        detail=dream.detail,
        read_count=dream.read,
        left_count=dream.left,
        cluster_count=dream.clusters,
        known_cluster_count=dream.known,
        asked_count=dream.asked,
        unsupported_count=dream.unsupported,
        failed_count=dream.failed,
        lessons=[_lesson_to_wire(lesson) for lesson in dream.lessons],
        usage=None if dream.usage is None else usage_to_wire(dream.usage),
    )


def _lesson_to_wire(lesson: DreamtLesson) -> pb.DreamtLesson:
    return pb.DreamtLesson(
        reflection_id=lesson.reflection_id,
        strategy_id=lesson.strategy_id,
        supporting_memory_ids=lesson.supporting_ids,
        episode_count=lesson.episodes,
        is_new=lesson.is_new,
    )


def _prunings_to_wire(found: Sequence[Pruned]) -> list[pb.Pruning]:
    return [
        pb.Pruning(
            kind=_KINDS[pruned.kind],
            count=pruned.count,
            prune_time=timestamp(pruned.pruned_us),
            before_time=timestamp(pruned.before_us),
            importance_below=pruned.importance_below or 0.0,
        )
        for pruned in found
    ]
