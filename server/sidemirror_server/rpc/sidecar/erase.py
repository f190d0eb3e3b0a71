"""Erase: removes a turn, a session or a subject, with everything that was derived from it."""

import asyncio

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.wire.common import timestamp
from sidemirror_server.trace.erasure import Erasures
from sidemirror_server.trace.sources import SourceKind, key
from sidemirror_server.vocabulary.errors import StoreUnavailable
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.work.queue import JobState, Work

_KINDS = {"turn_id": SourceKind.TURN, "session_id": SourceKind.SESSION, "subject_id": SourceKind.SUBJECT}
# How often to look whether the job is done, and how long a call without a deadline waits. Chosen here: few people wait.
_LOOK_EVERY_S = 0.05
_LONGEST_WAIT_S = 600.0


async def erase(
    erasures: Erasures, work: Work, most_tombstones: int, request: pb.EraseRequest, call: Call
) -> pb.EraseResponse:
    target = request.WhichOneof("target")
    erasure_id = call.make_id()
    name = key(_KINDS[target], getattr(request, target))
    erasure = await erasures.begin(call.scope, erasure_id, (name,), call.clock.now_us(), most_tombstones)
    if erasure.ended_us is None:
        work.arrived.set()  # the store has put the job, and the worker of this process need not wait for its next look
        async with asyncio.timeout(call.time_for(_LONGEST_WAIT_S, 0.0)):
            await _until_done(work, call, JobId(erasure_id))
        erasure = await erasures.get(call.scope, erasure_id) or erasure
    return pb.EraseResponse(counts=erasure.counts, erase_time=timestamp(erasure.began_us))


async def _until_done(work: Work, call: Call, job_id: JobId) -> None:
    while True:
        job = await work.get(call.scope, job_id)
        if job is None or job.state is JobState.DONE:
            return
        if job.state is JobState.DEAD:
            raise StoreUnavailable(reason="the erasure cannot be finished: the server's log says why")
        await asyncio.sleep(_LOOK_EVERY_S)
