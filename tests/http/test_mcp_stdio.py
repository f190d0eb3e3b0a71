"""`sidemirror mcp`: the tools over stdin and stdout, by the official client and by the inspector, over a sidecar that
answers, one that is not there, and one that asks for a token."""

import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from sidemirror_server.http.mcp import tools
from sidemirror_server.http.mcp.tools import BY_NAME
from sidemirror_server.memory.recoveries import moves
from tests.acceptance import product
from tests.http.inspector import inspector
from tests.http.test_mcp import said
from tests.memory.recovering import FAILURE, SENTENCE, UNTOLD, live_through
from tests.wire.access import ACME, write_access
from tests.wire.sidecar import PATIENCE_S, sidecar

pytestmark = pytest.mark.slow("the package of MCP takes seconds to load, in a process of its own")


@asynccontextmanager
async def started(address: str, *more: str, mode: Any = "auto", **variables: str) -> AsyncIterator[Client]:
    """The official client of a host that starts the command."""
    command = StdioServerParameters(
        command=str(product.COMMAND), args=["mcp", "--address", address, *more], env=variables or None
    )
    async with Client(stdio_client(command), mode=mode, read_timeout_seconds=60) as client:
        yield client


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_each_tool_is_listed_and_called(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "SILENT_FRACTION", 0.0)
    with sidecar(tmp_path) as server:
        await live_through(server.address, UNTOLD)
        async with started(server.address, mode=mode) as client:
            listed = (await client.list_tools()).tools
            assert {tool.name: tool.input_schema for tool in listed} == {
                name: tool.schema for name, tool in BY_NAME.items()
            }
            assert await said(client, "recall_lessons", task="count the open orders") == tools.NO_LESSONS
            worked = await said(client, "what_worked", tool="sql", error_text=FAILURE, arguments="SELECT 1 FROM orders")
            assert SENTENCE in worked
            receipt_id = worked.rpartition(" ")[2].rstrip(".")
            assert await said(client, "report_outcome", receipt_id=receipt_id, outcome="success") == tools.NOTED
            judged = await said(client, "critique_answer", question="How many?", answer="17.")
            assert judged in (tools.NO_ISSUES, tools.NOT_JUDGED)
            wrong = await client.call_tool("critique_answer", {"answer": 3, "tool_results": [{"tool": 1}]})
            assert wrong.is_error
            assert [line.partition(":")[0] for line in wrong.content[0].text.split("\n")] == [  # type: ignore[union-attr]  # our tools answer in text
                *("question", "answer"),
                *("tool_results[0].tool", "tool_results[0].content"),
            ]


async def test_without_a_sidecar_each_tool_says_so(tmp_path: Path) -> None:
    """And goes on when there is one again. Seen to fail when the command asks for a sidecar first."""
    address = f"unix:{tmp_path}/sidecar.sock"
    async with started(address) as client:
        result = await client.call_tool("recall_lessons", {"task": "t"})
        assert result.is_error
        assert f"nothing can be reached at {address}" in str(result.content)


async def test_it_speaks_for_the_scope_and_with_the_token_that_it_was_given(tmp_path: Path) -> None:
    access = write_access(tmp_path / "access.json")
    secret = tmp_path / "token"
    secret.touch(0o600)
    secret.write_text(ACME)
    with sidecar(tmp_path, settings={"access_file": str(access)}) as server:
        for given, told in (
            ({"SIDEMIRROR_TOKEN_FILE": str(secret)}, tools.NO_LESSONS),
            ({}, "UNAUTHENTICATED"),
        ):
            async with started(server.address, "--tenant-id", "acme", "--project-id", "shop", **given) as client:
                result = await client.call_tool("recall_lessons", {"task": "t"})
                assert told in str(result.content)
        async with started(server.address, "--scope", "intruder/shop", SIDEMIRROR_TOKEN_FILE=str(secret)) as client:
            result = await client.call_tool("recall_lessons", {"task": "t"})
            assert (result.is_error, "PERMISSION_DENIED" in str(result.content)) == (True, True)


def test_it_ends_with_its_stdin_and_says_nothing_of_bad_lines(tmp_path: Path) -> None:
    """Nothing but answers on stdout, and nothing of what was sent on stderr."""
    lines = b'canary\n{"jsonrpc": "2.0", "id": 1, "method": "canary"}\n\xff\xfe\n[]\n' + b"canary" * 20_000 + b"\n"
    command = (str(product.COMMAND), "mcp", "--address", f"unix:{tmp_path}/none")
    ran = subprocess.run(command, input=lines, capture_output=True, check=False, timeout=PATIENCE_S)
    assert (ran.returncode, b"canary" in ran.stderr) == (0, False), ran.stderr
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in ran.stdout.splitlines())


@pytest.mark.timeout(300)
def test_the_inspector_lists_and_calls_each_tool(tmp_path: Path) -> None:
    """The inspector's command line, from npm. It is skipped where npm cannot install it."""
    with sidecar(tmp_path) as server:
        asked = (*inspector(), "--cli", str(product.COMMAND), "mcp", "--address", server.address)

        def run(*arguments: str) -> Any:
            ran = subprocess.run((*asked, *arguments), capture_output=True, text=True, check=False, timeout=120)
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
            assert not run("--method", "tools/call", "--tool-name", name, *told).get("isError")
        told = ["--tool-arg", "receipt_id=nobody", "--tool-arg", "outcome=success"]
        assert run("--method", "tools/call", "--tool-name", "report_outcome", *told)["isError"]
