"""`sidemirror memory`: finds, shows, reviews, exports and imports the reflections and strategies of a running
sidecar."""

import argparse
import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TextIO

import grpc

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1 import sidecar_pb2
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.operations import exit_codes
from sidemirror_server.operations.shown import plain, print_json
from sidemirror_server.operations.target import asked, scope_of
from sidemirror_server.vocabulary.clock import Clock, SystemClock

_TIMEOUT_S = 30.0
# A message may have 4 MiB and 1,000 lines.
_LINES_AT_ONCE, _BYTES_AT_ONCE = 500, 2 * 1024 * 1024
# The pause between progress messages of an import or export. Chosen here: short enough not to look stuck.
_SAID_EVERY_S = 5.0
# How lines are read: without a byte order mark, with surrogates for bytes that are no UTF-8.
_LINES, _TORN = "utf-8-sig", "surrogateescape"
# How many refused lines are printed. Every line of a file that is not an export is refused.
_REFUSED_SHOWN = 20


def memory(options: argparse.Namespace) -> int:
    """Runs the subcommand `options.verb`; returns the exit code."""
    verbs = {
        "lessons": _lessons,
        "review": _review,
        "export": _export,
        "import": _import,
        "dreams": _dreams,
        "prunings": _prunings,
    }
    # These also ask what was turned off of the sidecar's advice.
    with_history = {"search": _search, "show": _show, "recoveries": _recoveries}

    def run(channel: grpc.Channel) -> int:
        stub = ReflectiveMemoryServiceStub(channel)
        if options.verb in with_history:
            return with_history[options.verb](stub, options, channel)
        return verbs[options.verb](stub, options)

    try:
        return asked(options.address, run)
    except OSError as error:
        if getattr(options, "file", "-") == "-":
            raise  # of the command's own output, which `output.py` handles
        print(f"sidemirror: {options.file}: {error.strerror}", file=sys.stderr)
        return exit_codes.NO_INPUT if options.verb == "import" else exit_codes.CANNOT_CREATE


def _search(stub: ReflectiveMemoryServiceStub, options: argparse.Namespace, channel: grpc.Channel) -> int:
    from sidemirror_server.operations.memory_search import search

    return search(stub, options, channel)


def _show(stub: ReflectiveMemoryServiceStub, options: argparse.Namespace, channel: grpc.Channel) -> int:
    scope = scope_of(options)
    one = pb.GetReflectionRequest(reflection_id=options.id, **scope)
    found = stub.GetReflection(one, timeout=_TIMEOUT_S).memory
    all_of_it = pb.ListReflectionVersionsRequest(reflection_id=options.id, **scope)
    versions = stub.ListReflectionVersions(all_of_it, timeout=_TIMEOUT_S).versions
    if options.json:
        print_json(found, versions=versions)
        return 0
    from sidemirror_server.operations.advice_history import about, advice_changes
    from sidemirror_server.operations.memory_tables import show_evidence, show_history, show_memory
    from sidemirror_server.operations.turned_off import TurnedOff, rests_on

    show_memory(found, versions, scope, TurnedOff(channel, scope).lesson(found))
    counted = pb.GetLessonStatisticsRequest(reflection_ids=[options.id], **scope)
    show_evidence(stub.GetLessonStatistics(counted, timeout=_TIMEOUT_S).lessons)
    changes, kind = advice_changes(channel, scope), sidecar_pb2.ADVICE_KIND_LESSONS
    show_history(about(changes, found.id, kind, rests_on=rests_on(found)))
    return 0


def _lessons(stub: ReflectiveMemoryServiceStub, options: argparse.Namespace) -> int:
    known: list[pb.LessonStatistics] = []
    token = ""
    while True:
        request = pb.GetLessonStatisticsRequest(reflection_ids=options.ids, page_token=token, **scope_of(options))
        page = stub.GetLessonStatistics(request, timeout=_TIMEOUT_S)
        known += page.lessons
        token = page.next_page_token
        if not token:
            break
    if options.json:
        print_json(pb.GetLessonStatisticsResponse(lessons=known))
        return 0
    from sidemirror_server.operations.memory_tables import show_lessons

    show_lessons(known)
    return 0


def _review(stub: ReflectiveMemoryServiceStub, options: argparse.Namespace) -> int:
    state = f"MEMORY_STATE_{options.state.upper()}"
    request = pb.ReviewReflectionRequest(
        reflection_id=options.id, state=state, reason=options.reason, **scope_of(options)
    )
    changed = stub.ReviewReflection(request, timeout=_TIMEOUT_S).memory
    print(f"{plain(changed.id)} is {options.state} now, version {changed.version}.")
    return 0


def _export(stub: ReflectiveMemoryServiceStub, options: argparse.Namespace) -> int:
    progress = _Progress("exported", SystemClock())
    with _written(options.file) as write:
        request = pb.ExportReflectionsRequest(include_observations=options.observations, **scope_of(options))
        for part in stub.ExportReflections(request):
            for line in part.lines:
                write(f"{line}\n")
                progress.one()
    what = "memories and observations" if options.observations else "memories"
    print(f"{progress.count:,} {what} exported.", file=sys.stderr)
    return 0


def _import(stub: ReflectiveMemoryServiceStub, options: argparse.Namespace) -> int:
    torn: list[int] = []
    with _read(options.file) as lines:
        told = _told(_readable(lines, torn), _Progress("sent", SystemClock()))
        came_of_it = stub.ImportReflections(_requests(told, scope_of(options)))
    # Memories, or observations: the answer counts them together.
    erased = f", {came_of_it.erased_count:,} were erased before" if came_of_it.erased_count else ""
    print(f"{came_of_it.imported_count:,} imported, {came_of_it.known_count:,} were known{erased}.", file=sys.stderr)
    refused = [(number, "it is not UTF-8") for number in torn]
    refused += [(line.number, plain(line.reason)) for line in came_of_it.refused]
    for number, reason in sorted(refused)[:_REFUSED_SHOWN]:
        print(f"line {number}: {reason}", file=sys.stderr)
    count = len(torn) + came_of_it.refused_count
    if count > _REFUSED_SHOWN:
        print(f"and {count - _REFUSED_SHOWN:,} more", file=sys.stderr)
    return exit_codes.DATA if count else 0


def _dreams(stub: ReflectiveMemoryServiceStub, options: argparse.Namespace) -> int:
    from sidemirror_server.operations.memory_dreams import dreams

    return dreams(stub, options, scope_of(options))


def _prunings(stub: ReflectiveMemoryServiceStub, options: argparse.Namespace) -> int:
    from sidemirror_server.operations.memory_dreams import prunings

    return prunings(stub, options, scope_of(options))


def _recoveries(stub: ReflectiveMemoryServiceStub, options: argparse.Namespace, channel: grpc.Channel) -> int:
    from sidemirror_server.operations.memory_recoveries import recoveries

    return recoveries(stub, options, scope_of(options), channel)


class _Progress:
    """Counts lines. Prints the count now and then if a person watches."""

    def __init__(self, done: str, clock: Clock) -> None:
        """`done`: the past participle for the message, such as "exported"."""
        self.count = 0
        self._done = done
        self._clock = clock
        self._due_s = clock.monotonic_s() + _SAID_EVERY_S

    def one(self) -> None:
        """Counts one line."""
        self.count += 1
        if (now_s := self._clock.monotonic_s()) >= self._due_s:
            self._due_s = now_s + _SAID_EVERY_S
            if sys.stderr.isatty():
                print(f"{self.count:,} lines {self._done} so far", file=sys.stderr)


def _told(lines: Iterable[str], progress: _Progress) -> Iterator[str]:
    for line in lines:
        yield line
        progress.one()


def _requests(lines: Iterator[str], scope: dict[str, str]) -> Iterator[pb.ImportReflectionsRequest]:
    """The lines in messages below the limits. Empty lines are sent too, so that line numbers match the file."""
    while some := list(islice(lines, _LINES_AT_ONCE)):
        room, part = _BYTES_AT_ONCE, list[str]()
        for line in some:
            line = line.rstrip("\n")
            room -= len(line.encode())
            if room < 0 and part:
                yield pb.ImportReflectionsRequest(lines=part, **scope)
                room, part = _BYTES_AT_ONCE - len(line.encode()), []
            part.append(line)
        yield pb.ImportReflectionsRequest(lines=part, **scope)


@contextlib.contextmanager
def _read(file: str) -> Iterator[TextIO]:
    """The lines of a file or of standard input, with surrogates for bytes that are not UTF-8."""
    if file != "-":
        with Path(file).open(encoding=_LINES, errors=_TORN, newline="\n") as lines:
            yield lines
    else:
        # It is not closed: that would wait for the thread of the call, which reads until it ends, also at Ctrl-C.
        yield os.fdopen(sys.stdin.fileno(), encoding=_LINES, errors=_TORN, newline="\n", closefd=False)


def _readable(lines: Iterable[str], torn: list[int]) -> Iterator[str]:
    """The lines; an empty one for each that is not UTF-8, whose number goes into `torn`."""
    for number, line in enumerate(lines, 1):
        is_torn = any("\udc80" <= letter <= "\udcff" for letter in line)
        if is_torn:
            torn.append(number)
        yield "" if is_torn else line


@contextlib.contextmanager
def _written(file: str) -> Iterator[Callable[[str], object]]:
    """Writes to a file, or to standard output. A file gets its name once it is whole: an export that fails leaves what
    was there. It is its owner's alone, as it has all lessons of a project."""
    path = Path(file).resolve()
    if file == "-":
        # The encoding is UTF-8, whatever the terminal uses.
        yield lambda line: sys.stdout.buffer.write(line.encode())
    elif path.exists() and not path.is_file():  # such as a pipe
        with path.open("w", encoding="utf-8", newline="\n") as opened:
            yield opened.write
    else:
        made, part = tempfile.mkstemp(suffix=".part", prefix=f"{path.name}.", dir=path.parent)
        try:
            with os.fdopen(made, "w", encoding="utf-8", newline="\n") as opened:
                yield opened.write
            Path(part).replace(path)
        except BaseException:
            Path(part).unlink(missing_ok=True)
            raise
