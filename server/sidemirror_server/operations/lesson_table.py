"""How `sidemirror memory lessons` shows whether lessons help."""

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.operations.shown import words_of


def show_lessons(lessons: Sequence[pb.LessonStatistics]) -> None:
    """One for each, with what it says and why, and then the figures. Ids are whole, however narrow the terminal is:
    `show` and `review` take what stands there."""
    console = Console(highlight=False)
    if not lessons:
        console.print("No outcome was reported for a task that a lesson was shown for or held back from.")
        return
    for lesson in lessons:
        retired = " (retired)" if lesson.state == pb.MEMORY_STATE_RETIRED else ""
        console.print(
            Text(f"{lesson.reflection_id} {words_of(pb.LessonVerdict, lesson.verdict)}{retired}", "bold"),
            soft_wrap=True,
        )
        figures = {
            "lift": _lift(lesson),
            "succeeded with it": _successes(lesson.shown),
            "succeeded without it": _successes(lesson.held_back),
            "succeeded, not compared": _successes(lesson.outside),
            "its error came up again": _returned(lesson),
        }
        shown = [f"{name}: {figure}" for name, figure in figures.items() if figure]
        for told in (lesson.detail, *shown):
            console.print(Padding(Text(told), (0, 0, 0, 2), expand=False))
    console.print("Tasks: how many of those with an outcome succeeded, and how many have none yet.")


def _lift(lesson: pb.LessonStatistics) -> str:
    if not lesson.HasField("lift"):
        return ""
    low, high = 100 * lesson.interval.low, 100 * lesson.interval.high
    return f"{100 * lesson.lift:+.1f} points, {low:+.1f} to {high:+.1f}"


def _successes(arm: pb.LessonArm) -> str:
    if not arm.assigned_count:
        return ""
    missing = f", {arm.missing_count} missing" if arm.missing_count else ""
    return f"{arm.success_count} of {arm.success_count + arm.failure_count}{missing}"


def _returned(lesson: pb.LessonStatistics) -> str:
    """Where it was shown, and where it was held back, as far as that is known."""
    shown = lesson.shown.returned_count + lesson.outside.returned_count
    with_it = shown + lesson.shown.stayed_away_count + lesson.outside.stayed_away_count
    without = lesson.held_back.returned_count + lesson.held_back.stayed_away_count
    lines = [f"with it {shown} of {with_it}"] if with_it else []
    if without:
        lines.append(f"without it {lesson.held_back.returned_count} of {without}")
    return ", ".join(lines)
