"""How `sidemirror memory lessons` shows whether lessons help: a table on a terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from sidemirror.v1 import reflective_memory_pb2 as pb


def show_lessons(lessons: Sequence[pb.LessonStatistics]) -> None:
    """One row for each lesson, with what it says and why below its verdict."""
    console = Console(highlight=False)
    if not lessons:
        console.print("No outcome was reported for a task that a lesson was shown for or held back from.")
        return
    table = Table(show_lines=True)
    table.add_column("lesson", overflow="fold")
    table.add_column("verdict", ratio=1)
    for heading in ("lift, points", "with it", "without it", "not compared", "error returned"):
        table.add_column(heading, justify="right")
    for lesson in lessons:
        retired = " (retired)" if lesson.state == pb.MEMORY_STATE_RETIRED else ""
        table.add_row(
            lesson.reflection_id,
            f"{_verdict(lesson)}{retired}: {lesson.detail}",
            _lift(lesson),
            _successes(lesson.shown),
            _successes(lesson.held_back),
            _successes(lesson.outside),
            _returned(lesson),
        )
    console.print(table)
    console.print("Tasks: how many of those with an outcome succeeded, and how many have none yet.")


def _verdict(lesson: pb.LessonStatistics) -> str:
    return pb.LessonVerdict.Name(lesson.verdict).removeprefix("LESSON_VERDICT_").lower().replace("_", " ")


def _lift(lesson: pb.LessonStatistics) -> str:
    if not lesson.HasField("lift"):
        return ""
    return f"{100 * lesson.lift:+.1f}\n{100 * lesson.interval.low:+.1f} to {100 * lesson.interval.high:+.1f}"


def _successes(arm: pb.LessonArm) -> str:
    if not arm.assigned_count:
        return ""
    missing = f"\n{arm.missing_count} missing" if arm.missing_count else ""
    return f"{arm.success_count} of {arm.success_count + arm.failure_count}{missing}"


def _returned(lesson: pb.LessonStatistics) -> str:
    """Where it was shown, and where it was held back, as far as that is known."""
    shown = lesson.shown.returned_count + lesson.outside.returned_count
    with_it = shown + lesson.shown.stayed_away_count + lesson.outside.stayed_away_count
    without = lesson.held_back.returned_count + lesson.held_back.stayed_away_count
    lines = [f"with it {shown} of {with_it}"] if with_it else []
    if without:
        lines.append(f"without it {lesson.held_back.returned_count} of {without}")
    return "\n".join(lines)
