"""`sidemirror demo`: a small agent works on a real task, first alone and then with a sidecar beside it.

Nothing here is a recording: the agent (policy.py) calls real tools (tools.py), which really fail (service.py,
books.py), and a real sidecar answers on another port. Both attempts run the same code from the same start; only the
sidecar's messages differ. After the first attempt, the agent reports the failed goal and stores a reflection. The
sidecar offers both lessons when the second attempt starts.
"""

import tempfile
from pathlib import Path

from sidemirror.v1 import common_pb2, thinking_pb2_grpc
from sidemirror_server.models.language_model import LanguageModel
from sidemirror_server.operations import exit_codes
from sidemirror_server.operations.demo.attempt import Attempt, Onlooker, alone, attempt
from sidemirror_server.operations.demo.books import QUESTION, right_answer, write_books
from sidemirror_server.operations.demo.goal import report_goal
from sidemirror_server.operations.demo.memory import reflect, tell, what_fits
from sidemirror_server.operations.demo.recovery import Lived, sessions
from sidemirror_server.operations.demo.review import Witness, reviews
from sidemirror_server.operations.demo.service import Service
from sidemirror_server.operations.demo.tools import Tools
from sidemirror_server.operations.loop import run
from sidemirror_server.operations.own_sidecar import own_sidecar
from sidemirror_server.operations.target import dial
from sidemirror_server.operations.turn_stream import TurnStream


def demo(*, without_sidecar: bool = False) -> int:
    """Shows both attempts, or only the one without a sidecar. 0 when the last one found the right answer."""
    return run(_show(without_sidecar=without_sidecar))


async def _show(*, without_sidecar: bool) -> int:
    from rich.console import Console

    from sidemirror_server.operations.demo.screen import Screen

    screen = Screen(Console(highlight=False))
    screen.say(f"The question: {QUESTION}")
    screen.say(
        "The agent has the books as a SQLite file and a service for payments and rates over HTTP. Both are real."
    )
    screen.title("First attempt: the agent alone")
    first, second = Witness(screen), Witness(screen)
    attempts = {"alone": await alone_attempt(first)}
    if not without_sidecar:
        screen.title("Second attempt: the same agent, with a sidecar beside it")
        attempts["with a sidecar"] = await sidecar_attempt(second, after=first)
        screen.title("Before the answer leaves: two drafts of it, and does each hold up?")
        for review in await reviews(second.results):
            screen.review(review)
    screen.compare(attempts)
    if not without_sidecar:
        screen.title("What became of the lessons: does memory help?")
        screen.told(second.known)
        screen.title("Without being asked: what repaired a call is told when one fails alike")
        screen.lived(await recovery_sessions())
    answers = [attempt.answer for attempt in attempts.values()]
    return 0 if answers[-1] == right_answer() else exit_codes.FAILED


async def alone_attempt(onlooker: Onlooker) -> Attempt:
    """One attempt without a sidecar, on books and a service of its own."""
    with tempfile.TemporaryDirectory(prefix="sidemirror-demo-") as folder:
        service = Service()
        async with service.running():
            return await attempt(_tools(Path(folder), service), alone, onlooker)


async def sidecar_attempt(
    onlooker: Onlooker, model: LanguageModel | None = None, after: Witness | None = None
) -> Attempt:
    """One attempt with a sidecar, which asks `model` for its reflections (default: the built-in rules). `after`: a
    failed attempt, which is reported and reflected on first."""
    with tempfile.TemporaryDirectory(prefix="sidemirror-demo-") as folder:
        service = Service()
        async with service.running(), own_sidecar(model) as address, dial(address, is_own=True) as channel:
            block = common_pb2.ContextBlock()
            if after is not None:
                onlooker.learned(await report_goal(channel, after.results))
                onlooker.kept(await reflect(channel, after.made))
                block = await what_fits(channel, after.made)
            witness = Witness(onlooker)
            async with TurnStream(thinking_pb2_grpc.ThinkingServiceStub(channel)) as stream:
                result = await attempt(_tools(Path(folder), service), stream.report, witness, block.text)
            onlooker.told(await tell(channel, block, witness.made, succeeded=result.answer is not None))
            return result


async def recovery_sessions() -> list[Lived]:
    """Sessions that meet the same error until one is told what repaired it before."""
    with tempfile.TemporaryDirectory(prefix="sidemirror-demo-") as folder:
        async with own_sidecar() as address, dial(address) as channel:
            return await sessions(channel, Path(folder))


def _tools(folder: Path, service: Service) -> Tools:
    write_books(folder / "books.sqlite")
    return Tools(folder / "books.sqlite", service.url)
