"""The process beside the server: what ends it is refused, and whoever asks next is answered."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from sidemirror_server.rpc.boundary import child_process
from sidemirror_server.rpc.boundary.child_process import ChildProcess, FatalQuestion
from sidemirror_server.rpc.otlp.decoder import SpanDecoder
from tests.faults.waiting import until
from tests.telemetry_in.captures import export_of
from tests.telemetry_in.made import request_of
from tests.telemetry_in.received import export, post, takes_spans


async def test_a_question_that_ends_two_processes_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing of it is printed. Seen to fail with Python's own traceback, and when a process is asked only once."""
    child = ChildProcess("tests.wire.fatal_child", str(tmp_path / "seen").encode())
    try:
        with pytest.raises(FatalQuestion):
            await child.ask(b"! canary")
        assert await child.ask(b"next") == b"NEXT"
        assert await child.ask(b"? once") == b"? ONCE"
    finally:
        await child.close()
    told = capfd.readouterr().err
    assert "canary" not in told
    assert "ValueError at" in told


async def test_a_question_that_takes_too_long_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not asked again. Seen to fail when it is: the second time runs out too."""
    monkeypatch.setattr(child_process, "_LONGEST_S", 0.0)
    child = ChildProcess("tests.wire.fatal_child", str(tmp_path / "seen").encode())
    begun: list[str] = []
    start = child_process._begun

    def counted(module: str, first: bytes) -> Any:
        begun.append(module)
        return start(module, first)

    monkeypatch.setattr(child_process, "_begun", counted)
    try:
        with pytest.raises(FatalQuestion):
            await child.ask(b"next")
        assert len(begun) == 1
    finally:
        await child.close()


async def test_the_question_of_a_caller_that_has_left_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exporters leave after ten seconds and send again. Seen to fail when a question is a task before its turn comes:
    each of them was held in memory and answered, and those of nobody grew without a bound."""
    asked: list[bytes] = []
    may_answer = threading.Event()
    answered = child_process._asked

    def counted(process: Any, question: bytes) -> bytes:
        asked.append(question)
        may_answer.wait(30)
        return answered(process, question)

    monkeypatch.setattr(child_process, "_asked", counted)
    child = ChildProcess("tests.wire.fatal_child", str(tmp_path / "seen").encode())
    try:
        first = asyncio.create_task(child.ask(b"first"))
        await until(lambda: bool(asked))
        for number in range(20):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(child.ask(b"%d" % number), 0.01)
        first.cancel()
        last = asyncio.create_task(child.ask(b"last"))
        may_answer.set()
        assert await last == b"LAST"
        assert asked == [b"first", b"last"]
    finally:
        await child.close()


def test_an_export_that_ends_the_decoder_is_a_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exporter gives up on it, and does not send it for ever. Seen to fail with UNAVAILABLE."""
    ask = ChildProcess.ask

    async def ended(self: ChildProcess, question: bytes) -> bytes:
        if b"run_sql" in question:
            raise FatalQuestion
        return await ask(self, question)

    monkeypatch.setattr(ChildProcess, "ask", ended)
    request = export_of("pydantic-ai")
    with takes_spans(tmp_path) as server:
        with pytest.raises(grpc.RpcError) as refused:
            export(server.address, request)
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert post(server, request.SerializeToString())[0] == 400
        assert export(server.address, request_of(())) == ExportTraceServiceResponse()


async def test_a_decoder_that_was_killed_is_started_again() -> None:
    body = export_of("pydantic-ai").SerializeToString()
    decoder = SpanDecoder(5)
    try:
        first = await decoder.decode(body, is_json=False, with_content=True)
        assert decoder._process._process is not None
        decoder._process._process.kill()
        await asyncio.to_thread(decoder._process._process.wait)
        assert await decoder.decode(body, is_json=False, with_content=True) == first
    finally:
        await decoder.close()
