"""Converters for the two arms of a trial."""

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.memory.trials.evidence import Counts, Interval


def arm_to_wire(counts: Counts) -> pb.LessonArm:
    """The tasks of one arm."""
    return pb.LessonArm(
        assigned_count=counts.assigned,
        success_count=counts.succeeded,
        failure_count=counts.failed,
        missing_count=counts.missing,
        returned_count=counts.returned,
        stayed_away_count=counts.stayed_away,
    )


def some_arm_to_wire(counts: Counts) -> pb.LessonArm | None:
    """The tasks of one arm; None if there are none."""
    return arm_to_wire(counts) if counts.assigned else None


def interval_to_wire(interval: Interval | None) -> pb.LiftInterval | None:
    """An interval of the lift; None if there is none."""
    return None if interval is None else pb.LiftInterval(low=interval.low, high=interval.high)
