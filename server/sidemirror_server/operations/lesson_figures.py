"""What the evidence about a lesson counts, in words. Used by `memory_tables.py` and `turns_why.py`."""

from sidemirror.v1 import reflective_memory_pb2 as pb


def figures(shown: pb.LessonArm, held_back: pb.LessonArm, outside: pb.LessonArm) -> str:
    """How many tasks of each arm succeeded; empty without tasks."""
    arms = {"with it": shown, "without it": held_back, "with it, not compared": outside}
    return "; ".join(f"succeeded {name} {successes(arm)}" for name, arm in arms.items() if arm.assigned_count)


def successes(arm: pb.LessonArm) -> str:
    """How many tasks with an outcome succeeded, and how many have none; empty without tasks."""
    if not arm.assigned_count:
        return ""
    missing = f", {arm.missing_count} missing" if arm.missing_count else ""
    return f"{arm.success_count} of {arm.success_count + arm.failure_count}{missing}"


def lift(lesson: pb.LessonStatistics) -> str:
    """By how much more often tasks succeed with the lesson, with its interval; empty where there is none."""
    if not lesson.HasField("lift"):
        return ""
    low, high = 100 * lesson.interval.low, 100 * lesson.interval.high
    return f"{100 * lesson.lift:+.1f} points, {low:+.1f} to {high:+.1f}"


def in_one_line(lesson: pb.LessonStatistics) -> str:
    """All that is counted: of the current words, then of earlier versions, and the lift or why there is none."""
    counted = figures(lesson.shown, lesson.held_back, lesson.outside) or "no task is counted"
    before = figures(lesson.earlier_shown, lesson.earlier_held_back, lesson.earlier_outside)
    earlier = f"; before version {lesson.from_version}, which counts no more: {before}" if before else ""
    if lesson.HasField("lift"):
        return f"{counted}{earlier}; lift {lift(lesson)}"
    is_compared = lesson.shown.assigned_count and lesson.held_back.assigned_count
    why = "an arm has no outcome yet" if is_compared else "nothing was compared"
    return f"{counted}{earlier}; no lift: {why}"
