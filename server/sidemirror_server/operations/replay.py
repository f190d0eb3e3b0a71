"""`sidemirror replay`: plays recorded episodes through RunTurn and reports the sidecar's directives.

Each episode gets a new session, and several are played at once. Events of an episode are sent as an agent would send
them. At each decision point, replay reads all directives before it goes on.
"""

import argparse
import asyncio
import contextlib
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from sidemirror.v1 import common_pb2, thinking_pb2_grpc
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.operations import exit_codes
from sidemirror_server.operations.episodes import BadEpisode, Episode, RecordedTurn, read_episodes, turns_of
from sidemirror_server.operations.loop import run
from sidemirror_server.operations.own_sidecar import own_sidecar
from sidemirror_server.operations.replay_report import Played, Refused, ReplayReport, ReplayTally, show_report
from sidemirror_server.operations.shown import words_of
from sidemirror_server.operations.target import Unreachable, address_given, dial
from sidemirror_server.operations.turn_stream import TurnBroken, TurnStream

# Episodes at once. Chosen here: enough to share commits, far below the server's limit of streams.
_AT_ONCE = 16


def replay(options: argparse.Namespace) -> int:
    """Plays the file and prints the results. Returns 0 if every episode was played and every event is durable."""
    path = Path(options.file)
    config = pb.ThinkingConfig(level=f"THINK_LEVEL_{options.level.upper()}", reflect_every=options.reflect_every)
    try:
        lines = list(_limited(read_episodes(path), options.limit))
    except OSError as error:
        print(f"sidemirror: {path}: {error.strerror}", file=sys.stderr)
        return exit_codes.NO_INPUT
    try:
        report = run(play(path, lines, config, address_given(options.address), quiet=options.json))
    except Unreachable as error:
        print(f"sidemirror: {error}", file=sys.stderr)
        return exit_codes.UNAVAILABLE
    show_report(report, as_json=options.json)
    if report.bad_lines:
        return exit_codes.DATA
    return 0 if report.complete else exit_codes.FAILED


async def play(
    path: Path, lines: list[Episode | BadEpisode], config: pb.ThinkingConfig, address: str, *, quiet: bool
) -> ReplayReport:
    """Plays the episodes against the sidecar at `address`; starts a new sidecar if `address` is empty."""
    episodes = [line for line in lines if isinstance(line, Episode)]
    bad = tuple(line for line in lines if isinstance(line, BadEpisode))
    ran = uuid.uuid4().hex[:8]
    waiting = iter(episodes)
    played: list[Played] = []
    started_s = asyncio.get_running_loop().time()
    sidecar = contextlib.nullcontext(address) if address else own_sidecar()
    async with sidecar as target, dial(target, is_own=not address) as channel:
        stub = thinking_pb2_grpc.ThinkingServiceStub(channel)
        with _progress(len(episodes), quiet=quiet) as advance:

            async def play_some() -> None:
                for episode in waiting:
                    played.append(await play_episode(stub, episode, f"{episode.episode_id}~{ran}", config))
                    advance()

            async with asyncio.TaskGroup() as group:
                for _ in range(_AT_ONCE):
                    group.create_task(play_some())
    took_s = asyncio.get_running_loop().time() - started_s
    return ReplayReport(path.name, address, tuple(played), bad, took_s)


async def play_episode(
    stub: "thinking_pb2_grpc.ThinkingServiceAsyncStub", episode: Episode, session_id: str, config: pb.ThinkingConfig
) -> Played:
    """Plays one episode in a new session. Errors that end it early are reported, not raised."""
    tally = ReplayTally(episodes=1)
    tally.outcomes[episode.outcome] += 1
    refused: Refused | None = None
    for turn in turns_of(episode, session_id, config):
        try:
            await _play_turn(stub, turn, tally)
        except TurnBroken as error:
            refused = Refused(episode.episode_id, str(error))
            break
    return Played(episode.agent.domain or "-", tally, refused)


async def _play_turn(
    stub: "thinking_pb2_grpc.ThinkingServiceAsyncStub", turn: RecordedTurn, tally: ReplayTally
) -> None:
    tally.turns += 1
    tally.left_out += turn.left_out
    async with TurnStream(stub) as stream:
        try:
            for part in turn.parts:
                for directive in await stream.report(part):
                    _count(tally, directive)
        finally:
            tally.sent += stream.sent
            tally.acknowledged += stream.durable


def _count(tally: ReplayTally, directive: pb.TurnDirective) -> None:
    match directive.WhichOneof("kind"):
        case "nudge":
            tally.nudges[words_of(pb.Pattern, directive.nudge.pattern)] += 1
        case "reflection":
            tally.reflections[words_of(common_pb2.ResultStatus, directive.reflection.status)] += 1
            for reason in directive.reasons:
                tally.reasons[words_of(pb.ReflectionReason, reason)] += 1
        case "gap":
            tally.gaps += 1


def _limited(lines: Iterator[Episode | BadEpisode], limit: int) -> Iterator[Episode | BadEpisode]:
    """The lines up to the `limit`-th episode; all lines if it is 0."""
    taken = 0
    for line in lines:
        yield line
        taken += isinstance(line, Episode)
        if limit and taken >= limit:
            return


@contextlib.contextmanager
def _progress(total: int, *, quiet: bool) -> Iterator[Callable[[], None]]:
    """Counts episodes on stderr if a person watches; yields the function to call after each."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("episodes"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as progress:
        task = progress.add_task("", total=total)
        yield lambda: progress.advance(task)
