"""Dream: starts a pass over a project's new memories, or joins the running one, and streams its progress."""

import asyncio
from collections.abc import AsyncGenerator

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.dreams.dreaming import Progress, progress_of
from sidemirror_server.memory.dreams.dreams import dream_in
from sidemirror_server.memory.dreams.schedule import DreamSchedule
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.memory.dreams import dream_to_wire
from sidemirror_server.vocabulary.errors import Disabled, WrongState
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.work.queue import Job, JobState, Work

# Seconds between two looks at a pass. Another sidecar may run it, so its progress is read from the job's checkpoint.
# Chosen here: nobody waits for it, and a look reads one row.
_LOOK_AGAIN_S = 0.2


async def dream(
    schedule: DreamSchedule | None, work: Work, request: pb.DreamRequest, call: Call
) -> AsyncGenerator[pb.DreamResponse, None]:
    if schedule is None:
        raise Disabled(detail="memory__mode (REFLECTIVE_MEMORY_MODE) is lite")
    job_id = await schedule.start(call.scope)
    told: Progress | None = None
    while True:
        job = await _job(work, call, job_id)
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


async def _job(work: Work, call: Call, job_id: JobId) -> Job:
    job = await work.get(call.scope, job_id)
    if job is None:
        raise WrongState("dream", job_id, "it is gone")
    return job


def _progress_to_wire(progress: Progress) -> pb.DreamProgress:
    return pb.DreamProgress(
        dream_id=progress.dream_id,
        waiting=progress.is_waiting,
        read_count=progress.read,
        cluster_count=progress.clusters,
        finished_cluster_count=progress.finished,
        lesson_count=progress.lessons,
    )
