"""Memories kept and searched beside mem0 with local Qdrant and LangGraph's SqliteStore: the same rows and vectors."""

import asyncio
import contextlib
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from bench.corpus import DIMENSIONS, MODEL, SCOPE, Corpus, keep, record, scope_of
from bench.environments import PINNED, Unavailable, made, version
from bench.figures import Figure, Scale, median, now, share
from bench.memory import Known
from bench.processes import Servers, cpu_s
from sidemirror_server.memory.finding.embeddings import MemoryMeanings
from sidemirror_server.memory.finding.recall import Question, Recall
from sidemirror_server.memory.finding.search import Embedded, Filter
from sidemirror_server.memory.finding.waking import WakingMemories
from sidemirror_server.memory.record import Lesson
from sidemirror_server.models.embedder import Embeddings
from sidemirror_server.models.embedding import PaidEmbedder
from sidemirror_server.storage.sqlite.database import FILE_NAME, SqliteDatabase
from sidemirror_server.storage.sqlite.memories import SqliteMemories
from sidemirror_server.storage.sqlite.memory_process import SearchProcesses
from sidemirror_server.storage.sqlite.memory_search import SqliteMemorySearch
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.scope import Scope

_WRITERS = 64
# In each round, of each: rows by one caller, questions. Rows by 64 callers: `Scale.writes` in all, ten each at least.
_ONE_BY_ONE, _QUESTIONS = 100, 8
_AT_ONCE = 5_000
_OWN = "sidemirror"


class _Goal(NamedTuple):
    """How many times as fast as a peer: decision 041. That does not say how many write at a time with mem0, which
    has no way to write for several at once: its figure for one caller is that for 64."""

    title: str
    package: str
    needs_extensions: bool
    writes_at_once: bool
    writes: tuple[tuple[str, float], ...]
    searches: float


_PEERS = {
    "mem0": _Goal("mem0 {}, local Qdrant", "mem0ai", False, False, (("one", 7.0), ("many", 7.0)), 50.0),
    "langgraph": _Goal("SqliteStore {}", "langgraph-checkpoint-sqlite", True, True, (("many", 1.0),), 8.0),
}


class Rows(NamedTuple):
    """What all of them are given: rows to keep beforehand and to write, and questions."""

    texts: list[str]
    vectors: Any
    questions: list[str]
    question_vectors: Any


class Contender(Protocol):
    """Who keeps and searches the rows."""

    async def fill(self, count: int) -> None: ...

    async def write(self, first: int, count: int, writers: int) -> "Took": ...

    async def search(self, first: int, count: int) -> "Took": ...

    async def close(self) -> None: ...


class Took(NamedTuple):
    """Seconds, each question's or those of all rows; and the CPU's, which other work on a machine stretches less."""

    wall: list[float]
    cpu: float


class Cell(NamedTuple):
    """What one did in one round, for each row or question."""

    wall: list[float]
    cpu: float


async def peers(servers: Servers, scale: Scale) -> list[Figure]:
    """All take turns in each round: rows by one caller, rows by 64, questions by one."""
    many = max(scale.writes * 4, _WRITERS)
    rows = _rows(scale.peer_memories, scale.rounds * (_ONE_BY_ONE + many), (scale.rounds + 1) * _QUESTIONS)
    async with contextlib.AsyncExitStack() as stack:
        contenders: dict[str, Contender] = {_OWN: await _Own.open(servers.folder / "own", rows)}
        stack.push_async_callback(contenders[_OWN].close)
        absent: dict[str, str] = {}
        for name, goal in _PEERS.items():
            try:
                contenders[name] = await _Process.open(name, goal, servers.folder / name, rows)
                stack.push_async_callback(contenders[name].close)
            except Unavailable as error:
                absent[name] = str(error)
        for contender in contenders.values():
            await contender.fill(scale.peer_memories)
            await contender.search(scale.rounds * _QUESTIONS, _QUESTIONS)  # what is begun with the first question
        took = await _rounds(contenders, scale, many)
    figures = []
    for name, goal in _PEERS.items():
        figures += _figures(name, goal, took, absent.get(name, ""), scale)
    return figures


def _rows(filled: int, written: int, asked: int) -> Rows:
    corpus = Corpus(filled)
    questions = corpus.questions()
    count = filled + written
    texts = [f"{text} n{number}" for number, text in enumerate(corpus.texts(count))]  # no two alike
    return Rows(texts, corpus.vectors(count), questions.texts(asked, words=3), questions.vectors(asked))


def _write(folder: Path, rows: Rows) -> None:
    """Where a peer's process reads them (`bench/peer/worker.py`)."""
    folder.mkdir()
    (folder / "texts.json").write_text(json.dumps(rows.texts))
    (folder / "questions.json").write_text(json.dumps(rows.questions))
    np.save(folder / "vectors.npy", rows.vectors)
    np.save(folder / "question_vectors.npy", rows.question_vectors)


_Cells = dict[str, dict[str, list[Cell]]]


async def _rounds(contenders: dict[str, Contender], scale: Scale, many: int) -> _Cells:
    """Seconds for a row or a question, by contender and by what was done, a list for each round."""
    took: _Cells = {name: {"one": [], "many": [], "search": []} for name in contenders}
    row, names = scale.peer_memories, list(contenders)
    for round_ in range(scale.rounds):
        for name in names[round_ % len(names) :] + names[: round_ % len(names)]:  # nobody is always the first
            contender, own = contenders[name], took[name]
            own["one"].append(_each(await contender.write(row, _ONE_BY_ONE, 1), _ONE_BY_ONE))
            if name in _PEERS and not _PEERS[name].writes_at_once:
                own["many"].append(own["one"][-1])
            else:
                own["many"].append(_each(await contender.write(row + _ONE_BY_ONE, many, _WRITERS), many))
            searched = await contender.search(round_ * _QUESTIONS, _QUESTIONS)
            own["search"].append(Cell(searched.wall, searched.cpu / _QUESTIONS))
        row += _ONE_BY_ONE + many
    return took


def _each(took: Took, count: int) -> Cell:
    return Cell([took.wall[0] / count], took.cpu / count)


def _figures(name: str, goal: _Goal, took: _Cells, absent: str, scale: Scale) -> list[Figure]:
    title = goal.title.format(version(goal.package))
    wanted = [(kind, f"writes, {'one caller' if kind == 'one' else f'{_WRITERS} callers'}", at_least)
              for kind, at_least in goal.writes]  # fmt: skip
    wanted.append(("search", f"searches among {scale.peer_memories:,} rows", goal.searches))
    figures = []
    for kind, what, at_least in wanted:
        ratio, detail = float("nan"), absent
        if not absent:
            own, other = took[_OWN][kind], took[name][kind]
            ratio = median([median(b.wall) / median(a.wall) for a, b in zip(own, other, strict=True)])
            detail = _told(own, other, is_rate=kind != "search")
        figures.append(Figure(f"{title}: {what}: ours / theirs", ratio, at_least, False, "×", detail))
    return figures


def _told(own: Sequence[Cell], other: Sequence[Cell], *, is_rate: bool) -> str:
    told, cpu = [], []
    for side in (own, other):
        wall = [value for cell in side for value in cell.wall]
        p50, p99 = median(wall), share(wall, 0.99)
        told.append(f"{1 / p50:,.0f}/s" if is_rate else f"p50 {p50 * 1000:.1f} p99 {p99 * 1000:.1f} ms")
        cpu.append(f"{median([cell.cpu for cell in side]) * 1000:.2f}")
    return f"{' against '.join(told)}; CPU {' against '.join(cpu)} ms each"


class _Meanings:
    """What stands in for an embedding model: a look-up."""

    name = MODEL.partition("/")[0]

    def __init__(self) -> None:
        self.made: dict[str, tuple[float, ...]] = {}

    async def embed(self, _scope: Scope, texts: tuple[str, ...], _deadline_s: float, *, background: bool) -> Embeddings:
        assert background  # nobody waits for them
        unknown = (1.0,) + (0.0,) * (DIMENSIONS - 1)
        return Embeddings(tuple(self.made.get(text, unknown) for text in texts), 0)


class _Kept(SqliteMemorySearch):
    """Says when as many vectors are kept as are expected."""

    def __init__(self, database: SqliteDatabase, processes: SearchProcesses) -> None:
        super().__init__(database, processes)
        self.all_of_them = asyncio.Event()
        self._missing = 0

    @property
    def expected(self) -> int:
        return self._missing

    @expected.setter
    def expected(self, many: int) -> None:
        self._missing = many
        self.all_of_them.clear()

    async def embed(self, scope: Scope, model: str, embedded: tuple[Embedded, ...]) -> None:
        await super().embed(scope, model, embedded)
        self._missing -= len(embedded)
        if self._missing <= 0:
            self.all_of_them.set()


class _Own:
    """Ours at the ports, as the product puts them together: a lesson is learned, and its vector is kept behind the
    caller's back; words and vectors are searched. 64 callers are 64 tasks."""

    def __init__(self, database: SqliteDatabase, processes: SearchProcesses, rows: Rows) -> None:
        self._database = database
        self._processes = processes
        self._rows = rows
        self._kept = _Kept(database, processes)
        self._meanings = _Meanings()
        self._vectors = MemoryMeanings(cast("PaidEmbedder", self._meanings), self._kept, SystemClock())
        memories = SqliteMemories(database)
        self._learning = WakingMemories(memories, self._vectors.wake)
        meanings = Known()
        for text, vector in zip(rows.questions, rows.question_vectors, strict=True):
            meanings.vectors[text] = tuple(map(float, vector))
        self._recall = Recall(memories, self._kept, meanings, SystemClock())

    @classmethod
    async def open(cls, folder: Path, rows: Rows) -> "_Own":
        database = await SqliteDatabase.open(folder, now_us=0)
        return cls(database, SearchProcesses(folder / FILE_NAME), rows)

    async def fill(self, count: int) -> None:
        for first in range(0, count, _AT_ONCE):
            until = min(first + _AT_ONCE, count)
            await keep(self._database, first, self._rows.texts[first:until], self._rows.vectors[first:until])

    async def write(self, first: int, count: int, writers: int) -> Took:
        """Until the last one has its vector, durable like all that was learned."""
        numbers = range(first, first + count)
        ready = [(scope_of(number), record(number, self._rows.texts[number])) for number in numbers]
        self._meanings.made = {self._rows.texts[number]: self._rows.vectors[number].tolist() for number in numbers}
        self._kept.expected = count

        async def one_writer(at: int) -> None:
            for scope, memory in ready[at::writers]:
                await self._learning.learn(scope, Lesson(memory, None, memory.memory_id), memory.created_us)

        began, cpu = now(), self._cpu_s()
        embedding = asyncio.create_task(self._vectors.run())
        await asyncio.gather(*[one_writer(at) for at in range(writers)])
        await self._kept.all_of_them.wait()
        took, cpu = now() - began, self._cpu_s() - cpu
        embedding.cancel()
        await asyncio.gather(embedding, return_exceptions=True)
        return Took([took], cpu)

    async def search(self, first: int, count: int) -> Took:
        took, cpu = [], self._cpu_s()
        for text in self._rows.questions[first : first + count]:
            began = now()
            answer = await self._recall.ask(SCOPE, Question(text, 5, Filter()))
            took.append(now() - began)
            if not answer.hits:
                raise AssertionError(f"nothing found for {text}")
        return Took(took, self._cpu_s() - cpu)

    def _cpu_s(self) -> float:
        """Of this process and of those that search."""
        begun = [one._begun for one in (self._processes.words, self._processes.vectors)]  # noqa: SLF001  # their ids
        return time.process_time() + sum(cpu_s(one.result().process.pid) for one in begun if one is not None)

    async def close(self) -> None:
        await self._processes.close()
        await self._database.close()


class _Process:
    """A peer in its own environment: `bench/peer/with_NAME.py`."""

    def __init__(self, process: asyncio.subprocess.Process, said: Path) -> None:
        self._process = process
        self._said = said

    @classmethod
    async def open(cls, name: str, goal: _Goal, folder: Path, rows: Rows) -> "_Process":
        """Raises Unavailable."""
        _write(folder, rows)
        python = await asyncio.to_thread(made, name, folder, loads_extensions=goal.needs_extensions)
        with (folder / "said").open("wb") as said:
            process = await asyncio.create_subprocess_exec(
                *(str(python), str(PINNED / f"with_{name}.py"), str(folder)),
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=said, limit=2**24,
            )  # fmt: skip
        return cls(process, folder / "said")

    async def _ask(self, order: str, first: int, count: int, writers: int = 1) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"order": order, "first": first, "count": count, "writers": writers}
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        line = await self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a peer ended when it should {order}: {self._said.read_text()[-2000:]}")
        return json.loads(line)

    async def fill(self, count: int) -> None:
        await self._ask("fill", 0, count)

    async def write(self, first: int, count: int, writers: int) -> Took:
        done = await self._ask("write", first, count, writers)
        return Took([done["took"]], done["cpu"])

    async def search(self, first: int, count: int) -> Took:
        done = await self._ask("search", first, count)
        return Took(done["took"], done["cpu"])

    async def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
