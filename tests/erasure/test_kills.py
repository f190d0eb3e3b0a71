"""Killed in the middle of an erasure, again and again: it goes on, ends once, and leaves nothing.

Seen to fail with an erasure that forgot its other records when one was removed."""

import asyncio
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import sidecar_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from tests.erasure.test_erase import in_files, in_tables
from tests.faults.process import Process
from tests.postgres.databases import Databases
from tests.wire.calls import called, failed

WORD, SUBJECT = "qzcanarykilled", "killed@example.com"
TURNS = 150
LIVES = 2


@pytest.mark.slow("processes are killed at random")
async def test_it_goes_on(tmp_path: Path) -> None:
    await killed_and_goes_on(tmp_path)
    assert not any(in_files(tmp_path / "data", WORD).values())


@pytest.mark.long
@pytest.mark.timeout(300)
async def test_it_goes_on_in_postgres(tmp_path: Path, databases: Databases) -> None:
    async with databases.fresh() as name:
        await killed_and_goes_on(tmp_path, database_url=databases.cluster.url("sidecar", name))
        assert not any((await in_tables(databases.cluster.url("superuser", name), WORD)).values())


async def killed_and_goes_on(folder: Path, **settings: str) -> None:
    process = Process(folder, settings)
    asked = sidecar_pb2.EraseRequest(request_id="once", subject_id=SUBJECT)
    try:
        await process.start()
        await asyncio.to_thread(speak, process.address)
        left = [TURNS]
        for _ in range(LIVES):
            erasing = asyncio.create_task(erased(process.address, asked))
            while (now := await asyncio.to_thread(turns_left, process.address)) == left[-1] and not erasing.done():
                pass  # it has begun when the first turn of this life is gone
            process.kill()
            await asyncio.gather(erasing, return_exceptions=True)
            left.append(now)
            await process.start()
        answer = await erased(process.address, asked)
        assert answer.counts["turns"] == TURNS, "each is counted once"
        assert any(0 < count < TURNS for count in left), f"no kill was in the middle: {left}"
        assert await asyncio.to_thread(turns_left, process.address) == 0
    finally:
        process.kill()
    assert WORD not in process.text()


def speak(address: str) -> None:
    with grpc.insecure_channel(address) as channel:
        stub = ThinkingServiceStub(channel)
        for number in range(TURNS):
            start = pb.StartTurnRequest(turn_id=f"t{number}", task=WORD, subject_ids=[SUBJECT])
            stub.StartTurn(start, timeout=60)
            events = [called("look", WORD), failed(WORD)]
            stub.ReportEvents(pb.ReportEventsRequest(turn_id=f"t{number}", events=events), timeout=60)


async def erased(address: str, request: sidecar_pb2.EraseRequest) -> sidecar_pb2.EraseResponse:
    async with grpc.aio.insecure_channel(address) as channel:
        answer: sidecar_pb2.EraseResponse = await SidecarServiceStub(channel).Erase(request, timeout=120)
        return answer


def turns_left(address: str) -> int:
    with grpc.insecure_channel(address) as channel:
        return len(ThinkingServiceStub(channel).ListTurns(pb.ListTurnsRequest(page_size=1_000), timeout=60).turns)
