"""What the evidence about a lesson counts, in words. Used by `memory_tables.py` and `turns_why.py`."""

from sidemirror.v1 import reflective_memory_pb2 as pb


def figures(
    shown: pb.LessonArm, held_back: pb.LessonArm, outside: pb.LessonArm, kept: pb.LessonArm | None = None
) -> str:
    """How many tasks of each arm succeeded; empty without tasks. `kept`: in shadow mode."""
    arms = {"with it": shown, "without it": held_back, "with it, not compared": outside}
    arms["without it, in shadow mode, not compared"] = kept or pb.LessonArm()
    return "; ".join(f"succeeded {name} {successes(arm)}" for name, arm in arms.items() if arm.assigned_count)


def held_by_draw(lesson: pb.LessonStatistics) -> pb.LessonArm:
    """What was held back, without what shadow mode kept."""
    held, kept = lesson.held_back, lesson.kept_in_shadow
    fields = [field.name for field in pb.LessonArm.DESCRIPTOR.fields]
    return pb.LessonArm(**{name: getattr(held, name) - getattr(kept, name) for name in fields})


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
    held = held_by_draw(lesson)
    counted = figures(lesson.shown, held, lesson.outside, lesson.kept_in_shadow) or "no task is counted"
    before = figures(lesson.earlier_shown, lesson.earlier_held_back, lesson.earlier_outside)
    earlier = f"; before version {lesson.from_version}, which counts no more: {before}" if before else ""
    if lesson.HasField("lift"):
        return f"{counted}{earlier}; lift {lift(lesson)}"
    is_compared = lesson.shown.assigned_count and held.assigned_count
    why = "an arm has no outcome yet" if is_compared else "nothing was compared"
    return f"{counted}{earlier}; no lift: {why}"
