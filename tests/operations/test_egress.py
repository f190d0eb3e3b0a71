"""`sidemirror doctor --egress`: every address that a sidecar connects to, and no other."""

import ast
import asyncio
import contextlib
import itertools
import os
import re
import sys
import threading
import tomllib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil
import pytest

from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.cli import main
from sidemirror_server.models.language_model import Purpose
from sidemirror_server.operations import egress
from sidemirror_server.operations.egress import CONNECTS, Exit, exits
from sidemirror_server.settings import BadSettings
from tests.architecture.repository import ROOT
from tests.faults.process import Process
from tests.faults.sidecars import channel, connected
from tests.faults.waiting import until
from tests.goals import agents as goals
from tests.models.endpoint import KEY, LOCAL, Endpoint
from tests.postgres.databases import Databases
from tests.redis.server import RedisServer
from tests.wire.calls import MEDIUM, called, failed

SERVER = ROOT / "server"
# The packages that the server depends on, by the names that they are imported by. What can connect to another address
# has to be told by `CONNECTS`, wherever it is imported.
CONNECTING = {"anthropic", "asyncpg", "grpc", "httpx2", "openai", "opentelemetry.exporter", "qdrant_client", "redis"}
NOT_CONNECTING = {
    *("genai_prices", "google", "grpc_health", "grpc_reflection", "grpc_status", "jinja2", "mcp", "msgspec", "numpy"),
    *("opentelemetry", "prometheus_client", "rich", "sidemirror", "simsimd", "uvicorn", "uvloop"),
}
DISTRIBUTIONS = {
    **{name: name.replace("-", "_") for name in ("genai-prices", "prometheus-client", "qdrant-client")},
    "grpcio": "grpc",
    "grpcio-health-checking": "grpc_health",
    "grpcio-reflection": "grpc_reflection",
    "grpcio-status": "grpc_status",
    "protobuf": "google",
    "sidemirror-api": "sidemirror",
    "opentelemetry-exporter-otlp-proto-grpc": "opentelemetry.exporter",
    # It answers Prometheus and connects to nothing.
    "opentelemetry-exporter-prometheus": "opentelemetry",
    "opentelemetry-api": "opentelemetry",
    "opentelemetry-proto": "opentelemetry",
    "opentelemetry-sdk": "opentelemetry",
}
# Of the standard library.
CONNECTING_TOO = {"ftplib", "http.client", "imaplib", "poplib", "smtplib", "socket", "urllib.request", "xmlrpc"}
# Modules that import one of these and open no connection of the sidecar's own.
OTHERS = {
    **dict.fromkeys(["sidemirror_server.rpc", "sidemirror_server.http"], "it serves; nothing there connects"),
    "sidemirror_server.operations.console": "the door of the sidecar itself",
    "sidemirror_server.operations.target": "the commands' connection to the sidecar itself",
    "sidemirror_server.operations.attach.calling": "doctor and attach call the sidecar as attached agents do",
    "sidemirror_server.operations.mcp": "the tools of MCP call the sidecar",
    "sidemirror_server.operations.address_check": "doctor asks what listens at the sidecar's own addresses",
    "sidemirror_server.operations.choices_check": "doctor knocks at the collector's address, and sends nothing",
    "sidemirror_server.operations.egress": "how the environment's proxies are read",
    **dict.fromkeys(
        [
            f"sidemirror_server.operations.{name}"
            for name in (
                "goals",
                "health",
                "usage",
                "costs",
                "watch",
                "turn_stream",
                "turn_goals",
                "demo",
                "policies",
                "policy",
                "advice",
                "advice_history",
                "elsewhere",
                "folder",
                "erase",
                "memory",
                "memory_recoveries",
                "memory_search",
                "not_shown",
                "turn_lessons",
                "turned_off",
                "shown_texts",
                "turn_entries",
                "turn_ids",
                "turn_silences",
                "turns",
                "turns_why",
            )
        ],
        "commands, by `target`",
    ),
}


def imported(path: Path) -> Iterator[str]:
    """The names of the modules that a module imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{name.name}" for name in node.names)


def begins(name: str, prefixes: "set[str] | dict[str, str]") -> bool:
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in prefixes)


def test_every_module_that_can_connect_is_named() -> None:
    """Seen to fail when a module of the rooms imports httpx2, and when the line of Redis is gone."""
    unnamed = set()
    for path in sorted(SERVER.rglob("*.py")):
        module = ".".join(path.relative_to(SERVER).with_suffix("").parts).removesuffix(".__init__")
        connects = any(begins(name, CONNECTING | CONNECTING_TOO) for name in imported(path))
        if connects and not begins(module, {*CONNECTS, *OTHERS}):
            unnamed.add(module)
    assert unnamed == set()


def test_what_is_named_is_there() -> None:
    modules = {
        ".".join(path.relative_to(SERVER).with_suffix("").parts).removesuffix(".__init__")
        for path in SERVER.rglob("*.py")
    }
    assert {name for name in (*CONNECTS, *OTHERS) if not any(begins(module, {name}) for module in modules)} == set()


def test_every_dependency_is_known() -> None:
    """A new SDK is one that connects, or one that does not. Seen to fail with a dependency that is not in the lists."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    told = [*project["dependencies"], *itertools.chain(*project["optional-dependencies"].values())]
    names = {re.split(r"[^\w-]", line, maxsplit=1)[0] for line in told}
    packages = {DISTRIBUTIONS.get(name, name) for name in names}
    assert packages - CONNECTING - NOT_CONNECTING == set()


def test_every_purpose_says_what_is_asked_and_when() -> None:
    assert egress._ASKED.keys() == set(Purpose)


def told(environment: dict[str, str] | None = None, **flags: str) -> dict[str, Exit]:
    return {one.address: one for one in exits(flags, environment or {})}


def test_by_default_there_is_none(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert told() == {}
    for name in list(os.environ):
        if name.startswith(("SIDEMIRROR_", "ANTHROPIC_", "OPENAI_")):
            monkeypatch.delenv(name)
    assert main(["doctor", "--egress"]) == 0
    assert capsys.readouterr().out == "A sidecar with these settings connects to no address.\n"


def test_models_and_what_chose_their_addresses() -> None:
    key = {"ANTHROPIC_API_KEY": "sk-very-secret"}
    (public,) = told(key).values()
    assert (public.address, public.leaves_machine) == ("https://api.anthropic.com", True)
    assert public.setting == "ANTHROPIC_API_KEY, at anthropic's public address"
    assert public.purposes == tuple(purpose.value for purpose in Purpose if purpose is not Purpose.MEMORY_EMBEDDING)
    (other,) = told({**key, "ANTHROPIC_BASE_URL": "https://me:hunter2@proxy.example/a?key=hunter2"}).values()
    assert (other.address, other.setting) == ("https://proxy.example/a", "ANTHROPIC_BASE_URL")
    local = {"model__base_url": "http://localhost:11434/v1", "model__name": "small", "embedding__name": "vectors"}
    found = told({"OPENAI_BASE_URL": "https://other.example/v1"}, **local)
    assert {address: (one.setting, one.leaves_machine) for address, one in found.items()} == {
        "http://localhost:11434/v1": ("--model--base-url", False),
        "https://other.example/v1": ("OPENAI_BASE_URL", True),
    }
    assert found["https://other.example/v1"].purposes == ("memory_embedding",)
    assert found["https://other.example/v1"].off == "unset SIDEMIRROR_EMBEDDING__NAME"
    (ours,) = told({"SIDEMIRROR_MODEL__API_KEY": "sk-very-secret"}).values()
    assert ours.setting == "SIDEMIRROR_MODEL__API_KEY, at anthropic's public address"
    two = told({**key, "SIDEMIRROR_PURPOSES__DREAMING__MODEL": "another"}, model__provider="anthropic")
    assert len(two) == 1
    assert len(exits({}, {**key, "SIDEMIRROR_PURPOSES__DREAMING__MODEL": "another"})) == 2


def test_a_model_of_another_package_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        provider, name = "other", "model"

    monkeypatch.setattr("sidemirror_server.assembly.models._maker", lambda _: lambda *_: Other())
    (one,) = told(model__provider="other", model__name="model").values()
    assert (one.address, one.leaves_machine) == ("not known: the installed package decides", True)
    (scorer,) = told(memory__scorer="mine").values()
    assert (scorer.what, scorer.leaves_machine) == ("scorer mine", True)
    (store,) = told(store="mine").values()
    assert (store.what, store.leaves_machine) == ("store mine", True)


def test_stores_collectors_and_proxies() -> None:
    environment = {
        "SIDEMIRROR_DATABASE_URL": "postgresql://role:hunter2@db-1:5432,db-2/name?sslmode=require",
        "SIDEMIRROR_REDIS_URL": "rediss://:hunter2@cache:6380/0",
        "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://me:hunter2@collector:4317",
        "https_proxy": "http://me:hunter2@proxy:3128",
        "ANTHROPIC_API_KEY": "sk-x",
    }
    found = told(environment, tracing="true", metrics="true", metrics_address="0.0.0.0:9464")
    assert {address: (one.setting, one.has_texts, one.proxy) for address, one in found.items()} == {
        "https://api.anthropic.com": ("ANTHROPIC_API_KEY, at anthropic's public address", True, "http://proxy:3128"),
        "postgresql://db-1:5432": ("SIDEMIRROR_DATABASE_URL", True, ""),
        "postgresql://db-2": ("SIDEMIRROR_DATABASE_URL", True, ""),
        "rediss://cache:6380": ("SIDEMIRROR_REDIS_URL", True, ""),
        "http://localhost:4317": ("--tracing, at the exporter's default", False, "http://proxy:3128"),
        "http://collector:4317": ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", False, "http://proxy:3128"),
    }
    assert "hunter2" not in repr(found)
    near = {"model__base_url": "http://127.0.0.1:11434/v1", "model__name": "small"}
    assert [one.leaves_machine for one in told({}, **near).values()] == [False]
    # Its texts pass another machine. Seen to fail when only the address is looked at.
    assert [one.leaves_machine for one in told({"http_proxy": "http://proxy:3128"}, **near).values()] == [True]
    sockets = {
        "SIDEMIRROR_DATABASE_URL": "postgresql://role@/name?host=/run/pg",
        "SIDEMIRROR_REDIS_URL": "unix:///run/r",
    }
    assert {address: one.leaves_machine for address, one in told(sockets).items()} == {
        "unix:/run/pg": False,
        "unix:/run/r": False,
    }
    elsewhere = {"SIDEMIRROR_DATABASE_URL": "postgresql://role@/name", "PGHOST": "db-3"}
    assert set(told(elsewhere)) == {"postgresql://db-3"}


def test_settings_that_cannot_be_used_are_no_answer() -> None:
    with pytest.raises(BadSettings, match="model__name"):
        exits({"model__provider": "openai_compatible", "model__base_url": "http://x/v1"}, {})


def test_for_people(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIDEMIRROR_REDIS_URL", "redis://localhost/0")
    assert main(["doctor", "--egress", "--model--provider", "rules"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "redis://localhost  this machine: Redis",
        "  chosen by SIDEMIRROR_REDIS_URL",
        "  sent      the objective and the lesson of each finished goal",
        f"  left out  {egress._REDACTED}",
        "  when      a goal's reflection is made, read or published again",
        "  off       unset SIDEMIRROR_REDIS_URL",
        "No text leaves this machine.",
    ]


class Recorder:
    """Listens on loopback, counts the connections that it accepts, and passes them on to `target` (a Unix socket), or
    reads what comes and answers nothing."""

    def __init__(self, target: str = "") -> None:
        self.accepted = 0
        self._target = target
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        task = asyncio.create_task(self._carry_all(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry_all(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError):
            if not self._target:
                while await reader.read(65536):
                    pass
                return
            far_reader, far = await asyncio.open_unix_connection(self._target)
            ways = [asyncio.create_task(_carry(reader, far)), asyncio.create_task(_carry(far_reader, writer))]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                far.close()
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)


async def _carry(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(65536):
        target.write(data)
        await target.drain()


class Peers:
    """Looks again and again at whom a process and its children are connected to, on a thread."""

    def __init__(self, process: Process) -> None:
        self.ports: set[tuple[str, int]] = set()
        self._process = process
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(0.005):
            own = psutil.Process(self._process.pid)
            with contextlib.suppress(psutil.NoSuchProcess):
                for one in (own, *own.children(recursive=True)):
                    for found in one.net_connections("inet"):
                        if found.status == psutil.CONN_ESTABLISHED and found.laddr.port != self._process.port:
                            self.ports.add((found.raddr.ip.removeprefix("::ffff:"), found.raddr.port))


@contextlib.asynccontextmanager
async def recorders(**targets: str) -> AsyncIterator[dict[str, Recorder]]:
    async with contextlib.AsyncExitStack() as stack:
        yield {name: await stack.enter_async_context(Recorder(target)) for name, target in targets.items()}


@pytest.mark.slow("a sidecar is started with everything that it can be connected to")
@pytest.mark.skipif(sys.platform != "linux", reason="a process's connections are read from /proc")
async def test_what_gets_connections_is_what_is_told(
    databases: Databases, own_server: RedisServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With everything set at addresses of this machine: each that is told gets a connection, and the process has none
    to another. Seen to fail without `_redis` in the table, and with `_telemetry` telling one endpoint for both."""
    redis = re.search(r"unix://([^?]+)", own_server.url)
    assert redis is not None, own_server.url
    async with (
        databases.fresh() as name,
        Endpoint() as model,
        Endpoint() as vectors,
        recorders(
            postgres=str(next(databases.cluster.socket.glob(".s.PGSQL.*[0-9]"))),
            redis=redis[1],
            traces="",
            metrics="",
        ) as recorded,
    ):
        settings = {"tracing": "true", "metrics": "true", "metrics_address": "127.0.0.1:0", "model__name": LOCAL}
        settings |= {"model__base_url": model.openai_url, "embedding__name": "text-embedding-3-small"}
        settings |= {"embedding__base_url": vectors.openai_url}
        settings |= {"model__provider": "openai_compatible"}
        settings |= {"model__input_usd_per_mtok": "0", "model__output_usd_per_mtok": "0"}
        settings |= {"embedding__usd_per_mtok": "0"}
        settings |= {"database_url": f"postgresql://sidecar:hunter2@127.0.0.1:{recorded['postgres'].port}/{name}"}
        settings |= {"redis_url": f"redis://127.0.0.1:{recorded['redis'].port}/0"}
        environment = {
            "SIDEMIRROR_MODEL__API_KEY": KEY,
            "SIDEMIRROR_EMBEDDING__API_KEY": KEY,
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"http://127.0.0.1:{recorded['traces'].port}",
            "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"http://127.0.0.1:{recorded['metrics'].port}",
            "OTEL_METRIC_EXPORT_INTERVAL": "200",
            "OTEL_BSP_SCHEDULE_DELAY": "100",
        }
        listed = {(address(one)) for one in exits(settings, environment)}
        async with Process(tmp_path, settings, secrets=environment) as process:
            with Peers(process) as peers:
                await use(process.address)
                await until(lambda: bool(model.calls) and bool(vectors.calls))
                await until(lambda: all(one.accepted for one in recorded.values()))
                await until(lambda: peers.ports >= listed)
        assert peers.ports == listed
        assert len(listed) == 6


def address(one: Exit) -> tuple[str, int]:
    found = re.fullmatch(r"\w+://([\d.]+):(\d+)(/v1)?", one.address)
    assert found is not None, one.address
    return found[1], int(found[2])


async def use(sidecar: str) -> None:
    """Something of everything: a reflection in a turn, a memory, a finished goal."""
    async with connected(sidecar) as stub:
        await stub.StartTurn(pb.StartTurnRequest(turn_id="t", config=MEDIUM), timeout=60)
        events = [called("look"), failed()]
        await stub.ReportEvents(pb.ReportEventsRequest(turn_id="t", events=events), timeout=60)
        await stub.Reflect(pb.ReflectRequest(turn_id="t"), timeout=60)
    async with channel(sidecar) as connection:
        memory = ReflectiveMemoryServiceStub(connection)
        result = memory_pb.ReflectionResult(reflection_text="It was slow.", strategy_text="Wait longer.")
        await memory.StoreReflection(memory_pb.StoreReflectionRequest(result=result), timeout=60)
    async with goals.connected(sidecar) as stub:
        await stub.ReportGoal(goals.a_report("g"), timeout=60)
        await goals.until_ended(stub, 1, within_s=60)
