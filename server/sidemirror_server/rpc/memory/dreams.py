"""Converters for dreams."""

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.dreams.dreams import Dream, DreamtLesson
from sidemirror_server.rpc.wire.common import STATUSES, timestamp, usage_to_wire


def dream_to_wire(dream: Dream) -> pb.DreamLogEntry:
    """An entry of the dream log."""
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
        usage=usage_to_wire(dream.usage),
    )


def _lesson_to_wire(lesson: DreamtLesson) -> pb.DreamtLesson:
    return pb.DreamtLesson(
        reflection_id=lesson.reflection_id,
        strategy_id=lesson.strategy_id,
        supporting_memory_ids=lesson.supporting_ids,
        episode_count=lesson.episodes,
        is_new=lesson.is_new,
    )
