"""GetLessonStatistics: whether lessons help."""

import msgspec

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.trials.evidence import LessonVerdict, added, explained
from sidemirror_server.memory.trials.outcomes import JudgedLesson, Outcomes
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.pages import place_in, size_of, token_for
from sidemirror_server.rpc.memory.lesson_arms import arm_to_wire, interval_to_wire, some_arm_to_wire
from sidemirror_server.rpc.memory.memories import STATES
from sidemirror_server.rpc.wire.common import numbers_of
from sidemirror_server.vocabulary.errors import BadInput
from sidemirror_server.vocabulary.text import enter

_VERDICTS = numbers_of(LessonVerdict, pb.LessonVerdict)


class LessonKey(msgspec.Struct, frozen=True):
    """A place in the list of lessons, which is in descending order of ids."""

    memory_id: str


async def get_lesson_statistics(
    outcomes: Outcomes, request: pb.GetLessonStatisticsRequest, call: Call
) -> pb.GetLessonStatisticsResponse:
    if request.reflection_ids:
        if request.page_token:
            raise BadInput([("page_token", "only without reflection_ids")])
        judged = await outcomes.of(call.scope, tuple(dict.fromkeys(map(enter, request.reflection_ids))))
        return pb.GetLessonStatisticsResponse(lessons=map(_statistics_to_wire, judged))
    query = (call.scope, "lessons")
    before = place_in(request.page_token, LessonKey, "page_token", *query)
    size = size_of(request.page_size, 50)
    judged, last = await outcomes.page(call.scope, before.memory_id if before else None, size)
    token = token_for(LessonKey(last), *query) if last is not None else ""
    return pb.GetLessonStatisticsResponse(lessons=map(_statistics_to_wire, judged), next_page_token=token)


def _statistics_to_wire(judged: JudgedLesson) -> pb.LessonStatistics:
    """A lesson with its evidence and verdict."""
    memory, evidence = judged.memory, judged.evidence
    return pb.LessonStatistics(
        reflection_id=memory.memory_id,
        from_version=memory.evidence_from,
        state=STATES[memory.state],
        reason=memory.reason,
        shown=arm_to_wire(evidence.shown),
        held_back=arm_to_wire(added(evidence.held_back, evidence.kept)),
        outside=arm_to_wire(evidence.outside),
        lift=evidence.lift,
        interval=interval_to_wire(evidence.interval),
        interval_at_any_look=interval_to_wire(evidence.at_any_look),
        verdict=_VERDICTS[evidence.verdict],
        detail=explained(evidence),
        earlier_shown=some_arm_to_wire(judged.earlier.shown),
        earlier_held_back=some_arm_to_wire(added(judged.earlier.held_back, judged.earlier.kept)),
        earlier_outside=some_arm_to_wire(judged.earlier.outside),
        kept_in_shadow=some_arm_to_wire(evidence.kept),
    )
