"""MCP through the door, by the official client: each tool is listed and called, in the versions of the protocol."""

import asyncio
import json
import logging
import random
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from sidemirror.v1 import common_pb2
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.http.mcp import official, tools
from sidemirror_server.http.mcp.tools import BY_NAME
from sidemirror_server.memory.recoveries import moves
from sidemirror_server.turns.shell import REVISE, SENTENCES
from tests.faults.sidecars import channel
from tests.http.callers import Answer, bearing, request
from tests.http.inspector import inspector
from tests.http.sidecars import door, token_of
from tests.memory.recovering import FAILURE, SENTENCE, UNTOLD, live_through
from tests.memory.steering import STEERING_TEXTS
from tests.wire.access import ACME, INTRUDER, write_access
from tests.wire.sidecar import SidecarThread
from tests.wire.test_limits import memories
from tests.wire.test_shell import REVIEWED, review
from tests.wire.test_text_entry import CANARY, SECRET

pytestmark = pytest.mark.slow("the package of MCP takes seconds to load")
FAST = {"limits__http_requests_per_second": "5000"}


@asynccontextmanager
async def connected(port: int, token: str, mode: Any = "auto", place: str = "") -> AsyncIterator[Client]:
    """The official client. `mode`: `legacy` for the handshake of earlier versions of the protocol."""
    async with httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}, trust_env=False) as http:
        transport = streamable_http_client(f"http://127.0.0.1:{port}/mcp{place}", http_client=http)
        async with Client(transport, mode=mode, read_timeout_seconds=60) as client:
            yield client


async def said(client: Client, name: str, **arguments: Any) -> str:
    """What a tool answers; an error fails."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result
    return "".join(part.text for part in result.content)  # type: ignore[union-attr]  # our tools answer in text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_each_tool_is_listed_and_called(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "SILENT_FRACTION", 0.0)
    with door(tmp_path, FAST) as server:
        await live_through(server.address, UNTOLD)
        async with connected(server.http_port, token_of(tmp_path / "data"), mode) as client:
            listed = (await client.list_tools()).tools
            assert {tool.name: tool.input_schema for tool in listed} == {
                name: tool.schema for name, tool in BY_NAME.items()
            }
            assert await said(client, "recall_lessons", task="count the open orders") == tools.NO_LESSONS
            worked = await said(client, "what_worked", tool="sql", error_text=FAILURE, arguments="SELECT 1 FROM orders")
            assert SENTENCE in worked
            receipt_id = worked.rpartition(" ")[2].rstrip(".")
            assert await said(client, "report_outcome", receipt_id=receipt_id, outcome="success") == tools.NOTED
            judged = await said(
                client,
                "critique_answer",
                question="How many orders are open?",
                answer="There are 17 open orders.",
                tool_results=[{"tool": "run_sql", "content": '{"open_orders": 12}'}],
            )
            fixed = {*SENTENCES.values(), REVISE, tools.NO_ISSUES}
            assert {*judged.split("\n")} <= fixed
        async with channel(server.address) as connection:
            again = pb.ReportOutcomeRequest(receipt_id=receipt_id, outcome=common_pb2.TASK_OUTCOME_SUCCESS)
            await ReflectiveMemoryServiceStub(connection).ReportOutcome(again, timeout=60)


async def test_what_is_wrong_is_the_tools_error(tmp_path: Path) -> None:
    with door(tmp_path, FAST) as server:
        async with connected(server.http_port, token_of(tmp_path / "data")) as client:
            for name, arguments, told in (
                ("recall_lessons", {}, "task"),
                ("report_outcome", {"receipt_id": "nobody", "outcome": "success"}, "not_found"),
                ("store_lesson", {}, "recall_lessons"),
                ("recall_lessons", {"task": "x" * 300_000}, "task"),
            ):
                result = await client.call_tool(name, arguments)
                assert result.is_error
                assert told in str(result.content)


async def test_another_tenants_lessons_are_not_recalled(tmp_path: Path) -> None:
    """By the address, and by the token."""
    access = write_access(tmp_path / "access.json")
    with door(tmp_path, {**FAST, "access_file": str(access)}) as server:
        async with connected(server.http_port, INTRUDER, place="?tenant_id=acme") as client:
            for name in BY_NAME:
                arguments = dict.fromkeys(BY_NAME[name].schema["required"], "success")
                result = await client.call_tool(name, arguments)
                assert (result.is_error, "permission_denied" in str(result.content)) == (True, True)
        async with connected(server.http_port, ACME, place="?tenant_id=acme") as client:
            assert await said(client, "recall_lessons", task="orders") == tools.NO_LESSONS


@pytest.fixture
def taught(tmp_path: Path) -> Iterator[SidecarThread]:
    """A sidecar whose agent has stored each steering text as a lesson."""
    with door(tmp_path, {**FAST, "limits__requests_per_second": "0"}) as server:
        with memories(server) as stub:
            for number, steering in enumerate(STEERING_TEXTS):
                lesson = pb.ReflectionResult(reflection_text=steering.text, importance=1.0)
                stub.StoreReflection(pb.StoreReflectionRequest(result=lesson, request_id=f"r{number}"), timeout=60)
        yield server


async def test_no_steering_text_comes_back(taught: SidecarThread) -> None:
    """Asked for by its own words. Seen to fail without `has_shell` in the request."""
    async with connected(taught.http_port, token_of(taught.folder / "data")) as client:
        for steering in STEERING_TEXTS:
            assert await said(client, "recall_lessons", task=steering.text) == tools.NO_LESSONS


async def test_a_lesson_that_a_person_reviewed_is_recalled(tmp_path: Path) -> None:
    """And the outcome is reported by its receipt."""
    with door(tmp_path, FAST) as server:
        with memories(server) as stub:
            kept = stub.StoreReflection(
                pb.StoreReflectionRequest(result=pb.ReflectionResult(reflection_text=REVIEWED, importance=0.9)),
                timeout=60,
            )
            review(stub, "", kept.reflection_id)
        async with connected(server.http_port, token_of(tmp_path / "data")) as client:
            recalled = await said(client, "recall_lessons", task=REVIEWED, tools=["which"])
            assert REVIEWED in recalled
            receipt_id = recalled.rpartition(" ")[2].rstrip(".")
            assert await said(client, "report_outcome", receipt_id=receipt_id, outcome="failure") == tools.NOTED


async def test_a_secret_is_seen_nowhere_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """In every argument. It is in no answer, no log and no file of the store."""
    caplog.set_level(logging.DEBUG)
    with door(tmp_path, FAST) as server:
        async with connected(server.http_port, token_of(tmp_path / "data")) as client:
            for name, arguments in (
                ("recall_lessons", {"task": SECRET, "tools": [SECRET]}),
                ("what_worked", {"tool": SECRET, "error_text": SECRET, "arguments": SECRET}),
                (
                    "critique_answer",
                    {
                        "question": SECRET,
                        "answer": SECRET,
                        "tool_results": [{"tool": SECRET, "content": SECRET, "is_error": True}],
                    },
                ),
            ):
                assert CANARY not in await said(client, name, **arguments)
    ours = [record for record in caplog.records if record.name.startswith(("sidemirror", "mcp.server", "uvicorn"))]
    assert CANARY not in "".join(f"{record.getMessage()} {vars(record)}" for record in ours)
    for file in (tmp_path / "data").iterdir():
        assert CANARY.encode() not in file.read_bytes()


async def test_bodies_that_are_no_calls_are_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Cut and changed requests of both versions: never a failure of ours, nothing of them in the log."""
    chance = random.Random(5)
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "recall_lessons", "arguments": {"task": "canary"}},
    }
    with door(tmp_path, FAST) as server:
        headers = {**bearing(token_of(tmp_path / "data")), "accept": "application/json, text/event-stream"}
        for number in range(300):
            body = bytearray(json.dumps(call).encode())
            for _ in range(chance.randint(0, 3)):
                place = chance.randrange(len(body) + 1)
                word = chance.choice((b"null", b"[", b"{}", b'"', b"\xff", b"1e999", b'"\\ud800"', b'"_meta":{},'))
                body[place : place + chance.choice((0, 1, 9))] = word
            version = chance.choice(("2025-06-18", "2025-11-25", "2026-07-28", "9999-99-99"))
            more = {"mcp-protocol-version": version, "mcp-method": "tools/call"} if number % 3 else {}
            answer: Answer = await asyncio.to_thread(
                request, server.http_port, "/mcp", bytes(body), {**headers, **more}
            )
            assert answer.status in (200, 202, 400, 404), (answer, bytes(body))
            assert answer.headers["cache-control"] == "no-store"
        assert request(server.http_port, "/mcp", json.dumps(call).encode(), headers).status == 200
    assert "canary" not in caplog.text
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


async def test_a_package_that_does_not_start_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen to fail, with a request that waits for ever, when only its beginning is waited for."""
    manager_of = official.manager_of

    class Failing:
        def run(self) -> Any:
            raise OSError("it does not start")

    with door(tmp_path, FAST) as server:
        headers = {**bearing(token_of(tmp_path / "data")), "accept": "application/json, text/event-stream"}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
        monkeypatch.setattr(official, "manager_of", lambda *_: Failing())
        failed: Answer = await asyncio.to_thread(request, server.http_port, "/mcp", body, headers)
        assert failed.status == 500
        monkeypatch.setattr(official, "manager_of", manager_of)
        served: Answer = await asyncio.to_thread(request, server.http_port, "/mcp", body, headers)
        assert served.status == 200


async def test_without_the_package_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib

    def lacking(name: str) -> Any:
        raise ModuleNotFoundError(name)

    with door(tmp_path) as server:
        monkeypatch.setattr(importlib, "import_module", lacking)
        headers = bearing(token_of(tmp_path / "data"))
        answer = await asyncio.to_thread(request, server.http_port, "/mcp", b"{}", headers)
        assert (answer.status, b"sidemirror-server[mcp]" in answer.body) == (501, True)


@pytest.mark.timeout(300)
def test_the_inspector_lists_and_calls_each_tool(tmp_path: Path) -> None:
    """The inspector's command line, from npm. It is skipped where npm cannot install it."""
    with door(tmp_path, FAST) as server:
        headers = f"Authorization: Bearer {token_of(tmp_path / 'data')}"
        asked = (*inspector(), "--cli", f"http://127.0.0.1:{server.http_port}/mcp", "--transport", "http")

        def run(*arguments: str) -> Any:
            command = (*asked, "--header", headers, *arguments)
            ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
            # Its code for a tool's own error.
            assert ran.returncode in (0, 5), ran.stderr[-3000:]
            return json.loads(ran.stdout)

        assert {tool["name"] for tool in run("--method", "tools/list")["tools"]} == {*BY_NAME}
        given = {
            "recall_lessons": ("task=orders",),
            "what_worked": ("tool=sql", "error_text=no such table"),
            "critique_answer": ("question=q", "answer=a"),
        }
        for name, arguments in given.items():
            told = [part for argument in arguments for part in ("--tool-arg", argument)]
            answer = run("--method", "tools/call", "--tool-name", name, *told)
            assert not answer.get("isError"), answer
        told = ["--tool-arg", "receipt_id=nobody", "--tool-arg", "outcome=success"]
        assert run("--method", "tools/call", "--tool-name", "report_outcome", *told)["isError"]
