"""Prints the tables of `sidemirror memory`. Texts are data: their markup is not interpreted."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sidemirror.v1 import common_pb2
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.operations.lesson_figures import figures, held_by_draw, lift, successes
from sidemirror_server.operations.lesson_sources import NAMELESS, WHOSE_NAMES, author_of, sources_of
from sidemirror_server.operations.shown import plain, words_of
from sidemirror_server.operations.shown_texts import held_because, review_command
from sidemirror_server.operations.turn_lessons import is_correction
from sidemirror_server.rpc.wire.common import name_of

# What the command that makes a memory active again does, by its state.
_AGAIN = {pb.MEMORY_STATE_QUARANTINED: "to release it", pb.MEMORY_STATE_RETIRED: "to bring it back"}
_MODES = {
    pb.SEARCH_MODE_UNSPECIFIED: "by the state, the newest first",
    pb.SEARCH_MODE_FILTER: "by importance and age",
    pb.SEARCH_MODE_FULL_TEXT: "by words alone",
    pb.SEARCH_MODE_HYBRID: "by words and by meaning",
}

_UNTOLD = ", not told until a person reviews it"


def show_hits(
    found: pb.QueryReflectionsResponse, scope: Mapping[str, str], turned_off: Callable[[pb.Memory], str]
) -> None:
    """Prints the hits, best first, and the search that found them; those of no search as a list. Ids are never cut,
    because users copy them for `show` and `review`. `scope`: by which their project was named. `turned_off`: how a
    policy turns a lesson off."""
    console = Console(highlight=False)
    if not found.hits:
        console.print("Nothing fits.")
        return
    for hit in found.hits:
        memory = hit.memory
        kind, origin = name_of(pb.MemoryKind, memory.kind), name_of(common_pb2.Origin, memory.origin)
        about = f"{kind}, importance {memory.importance:.2f}, origin {origin}"
        score = f"{hit.score:.3f} " if found.search_mode else ""
        console.print(Text(f"{score}{plain(memory.id)} {about}", "bold"), soft_wrap=True)
        texts = (
            _content(memory),
            turned_off(memory),
            _why_held(memory, scope),
            f"From {sources_of(memory)}",
            hit.explanation.summary,
        )
        for told in filter(None, texts):
            console.print(Padding(_plain(told), (0, 0, 0, 2), expand=False))
    console.print(f"Found {_MODES.get(found.search_mode, 'somehow')}.")


def show_memory(memory: pb.Memory, versions: Iterable[pb.Memory], scope: Mapping[str, str], off: str = "") -> None:
    """Prints all that is known of one memory, and its earlier versions. `off`: how a policy turns it off."""
    console = Console(highlight=False)
    table = Table(show_header=False)
    table.add_column(style="bold")
    table.add_column(ratio=1)
    held = f" ({held_because(memory)})" if memory.quarantine else ""
    confidence = f"{memory.confidence:.2f}" if memory.HasField("confidence") else ""
    applies = memory.applies_when
    rows = {
        "id": memory.id,
        "kind": name_of(pb.MemoryKind, memory.kind),
        "text": memory.content,
        "state": f"{name_of(pb.MemoryState, memory.state)}{held}{_UNTOLD if memory.awaits_review else ''}"
        f"{f', but {off}' if off else ''}",
        _AGAIN.get(memory.state, ""): review_command(memory, scope),
        "origin": _origin(memory),
        "importance": f"{memory.importance:.2f}",
        "confidence": confidence,
        "tags": ", ".join(memory.tags),
        "error": name_of(pb.ErrorCategory, memory.error_category),
        "applies to tools": ", ".join(applies.tools),
        "applies to errors": ", ".join(name_of(pb.ErrorCategory, category) for category in applies.error_categories),
        "not when": applies.not_when,
        "strategy of": memory.strategy_of,
        "task": _text_in(memory, "task_description"),
        "outcome": _text_in(memory, "outcome"),
        "learned from": sources_of(memory),
        "version": str(memory.version),
    }
    for name, value in rows.items():
        if name and value and value != "unspecified":
            table.add_row(name, _plain(value))
    console.print(table)
    earlier = Table("version", "changed", "state", "by", "why", "text", title="Versions", title_justify="left")
    found = list(versions)
    for version in found:
        when = f"{version.update_time.ToDatetime():%Y-%m-%d %H:%M:%S}"
        why = " ".join(filter(None, (version.change, version.reason and f"({version.reason})")))
        by = author_of(version)
        state = name_of(pb.MemoryState, version.state)
        earlier.add_row(*map(_plain, (str(version.version), when, state, by, why, version.content)))
    console.print(earlier)
    if any(author_of(version) == NAMELESS for version in found):
        console.print(WHOSE_NAMES)


def show_evidence(lessons: Iterable[pb.LessonStatistics]) -> None:
    """Prints what the evidence about one lesson counts, from which version on, and what counts no more."""
    console = Console(highlight=False)
    for lesson in lessons:
        console.print(_plain(f"Evidence from version {lesson.from_version} on: {lesson.detail}"), soft_wrap=True)
        counted = figures(lesson.shown, held_by_draw(lesson), lesson.outside, lesson.kept_in_shadow)
        before = figures(lesson.earlier_shown, lesson.earlier_held_back, lesson.earlier_outside)
        for told in (counted, before and f"of versions before {lesson.from_version}, which count no more: {before}"):
            if told:
                console.print(_plain(f"  {told}"), soft_wrap=True)


def show_history(lines: Iterable[str]) -> None:
    """Prints when what agents are told was changed, and by whom; nothing if it never was."""
    told = list(lines)
    if told:
        Console(highlight=False).print(
            "\n".join(("Changes of what is told", *(f"  {line}" for line in told))), markup=False
        )


def show_lessons(lessons: Sequence[pb.LessonStatistics]) -> None:
    """Prints each lesson: its id and verdict, the reason, then its figures. Ids are never cut, because users copy
    them for `show` and `review`."""
    console = Console(highlight=False)
    if not lessons:
        console.print("No outcome was reported for a task that a lesson was shown for or held back from.")
        return
    for lesson in lessons:
        retired = " (retired)" if lesson.state == pb.MEMORY_STATE_RETIRED else ""
        console.print(
            Text(f"{plain(lesson.reflection_id)} {words_of(pb.LessonVerdict, lesson.verdict)}{retired}", "bold"),
            soft_wrap=True,
        )
        told_of = {
            "lift": lift(lesson),
            "succeeded with it": successes(lesson.shown),
            "succeeded without it": successes(held_by_draw(lesson)),
            "succeeded without it, in shadow mode, not compared": successes(lesson.kept_in_shadow),
            "succeeded, not compared": successes(lesson.outside),
            f"before version {lesson.from_version}, which counts no more": figures(
                lesson.earlier_shown, lesson.earlier_held_back, lesson.earlier_outside
            ),
            "its error came up again": _returned(lesson),
        }
        shown = [f"{name}: {figure}" for name, figure in told_of.items() if figure]
        for told in (lesson.detail, *shown):
            console.print(Padding(_plain(told), (0, 0, 0, 2), expand=False))
    console.print("Tasks: how many of those with an outcome succeeded, and how many have none yet. A turn is one task.")
    console.print("Counted are blocks whose outcome was reported; what advice told at a failing call mostly is not.")


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _origin(memory: pb.Memory) -> str:
    """How far a lesson's words are trusted. A correction has that of its episode's tools, though a user said it."""
    origin = name_of(common_pb2.Origin, memory.origin)
    if memory.origin != common_pb2.ORIGIN_TOOL or not is_correction(memory):
        return origin
    return f"{origin} (its user said it; what it was learned from has texts of tools too)"


def _plain(text: str) -> Text:
    """The text without control sequences that move a terminal's cursor."""
    return Text("".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text))


def _content(memory: pb.Memory) -> str:
    state = "" if memory.state == pb.MEMORY_STATE_ACTIVE else f"[{name_of(pb.MemoryState, memory.state)}] "
    state = "[not told until reviewed] " if memory.awaits_review else state
    return f"{state}{memory.content}"


def _why_held(memory: pb.Memory, scope: Mapping[str, str]) -> str:
    """Why a memory is in quarantine, and what releases it; empty for one that is not."""
    if memory.state != pb.MEMORY_STATE_QUARANTINED:
        return ""
    return f"In quarantine ({held_because(memory)}); to release it: {review_command(memory, scope)}"


def _text_in(memory: pb.Memory, name: str) -> str:
    value = memory.metadata[name] if name in memory.metadata else ""  # noqa: SIM401  # a Struct message has no `get`
    return value if isinstance(value, str) else ""


def _returned(lesson: pb.LessonStatistics) -> str:
    """How often the lesson's error came back with and without the lesson, among tasks where that is known."""
    shown = lesson.shown.returned_count + lesson.outside.returned_count
    with_it = shown + lesson.shown.stayed_away_count + lesson.outside.stayed_away_count
    without = lesson.held_back.returned_count + lesson.held_back.stayed_away_count
    lines = [f"with it {shown} of {with_it}"] if with_it else []
    if without:
        lines.append(f"without it {lesson.held_back.returned_count} of {without}")
    return ", ".join(lines)
