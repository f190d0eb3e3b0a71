"""What `sidemirror doctor` says beside a sidecar that runs: folders, clocks, caps, models and who is loud."""

import asyncio
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror.v1 import thinking_pb2
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_server.operations.doctor import examine
from sidemirror_server.operations.finding import Examination
from sidemirror_server.operations.moments import second
from sidemirror_server.vocabulary.clock import SystemClock
from tests.faults.clocks import SetClock
from tests.faults.process import Process
from tests.faults.sidecars import running
from tests.models.endpoint import CLAUDE, KEY, Fault
from tests.models.talk import Talk, settings_of, talk
from tests.operations.test_doctor import found, found_now


async def test_a_folder_that_was_moved_away(tmp_path: Path) -> None:
    """Seen to fail when it says that the sidecar has another folder, and to choose another address."""
    async with Process(tmp_path) as process:
        (tmp_path / "data").rename(tmp_path / "elsewhere")
        examination = await asyncio.to_thread(found_now, tmp_path, address=process.address)
        (tmp_path / "elsewhere").rename(tmp_path / "data")
    (finding,) = [one for one in examination.findings if not one.ok]
    assert finding.found.startswith(f"the sidecar at {process.address} has lost its sqlite store: sidemirror.db")
    assert (
        finding.advice
        == "put its files back where they were, and it goes on; a restart before loses what is in its memory"
    )


async def test_a_clock_that_is_two_hours_ahead(tmp_path: Path) -> None:
    """Of an embedded store. And nothing says then that a clock is well. Seen to fail with `ok clock` beside it."""
    now_us = SystemClock().now_us()
    async with running(tmp_path, clock=SetClock(now_us + 7_200_000_000)) as served:
        examination = await asyncio.to_thread(found, tmp_path, address=served.address, clock_us=now_us)
    clocks = [(one.ok, one.found) for one in examination.findings if one.subject == "clock"]
    differs = f"the clock of the sidecar at {served.address} is 7,200 s ahead of this command's"
    assert clocks == [(False, f"{differs}: it is {second(now_us + 7_200_000_000)} there")]


async def test_a_cap_that_is_too_small_for_a_question(tmp_path: Path) -> None:
    """Nothing of it is used. Seen to fail when GetServerInfo says nothing of refusals."""
    async with talk(tmp_path, "anthropic", spend__tokens_per_day="100") as made:
        await made.turn("t")
        await made.reflect()
        examination = await asyncio.to_thread(found_now, tmp_path, address=made.address)
        (finding,) = [one for one in examination.findings if one.subject == "cap"]
        assert made.endpoint.calls == []
        with grpc.insecure_channel(made.address) as asked:
            stub = SidecarServiceStub(asked)

            def tell(with_findings: bool) -> pb.GetServerInfoResponse:
                return stub.GetServerInfo(pb.GetServerInfoRequest(with_findings=with_findings), timeout=60)

            told = await asyncio.to_thread(tell, True)
            assert not (await asyncio.to_thread(tell, False)).findings
    assert not finding.ok
    assert "the sidecar's cap on total prevents questions, " in finding.found
    assert ": 0 of 100 tokens are used or reserved, and a question may take 2," in finding.found
    assert finding.advice == "raise it: one question may cost more"
    # The sidecar says it of itself.
    (own,) = [one for one in told.findings if one.subject == "cap"]
    assert (own.is_ok, f"{made.address}: {own.found}", own.advice) == (False, finding.found, finding.advice)


async def test_a_model_that_refuses_every_question_is_named_until_it_answers(tmp_path: Path) -> None:
    """Its refusals cost nothing, so that no figure of the day says it. Seen to fail without `model_outages`."""
    async with talk(tmp_path, "anthropic") as made:
        await made.turn("t")
        made.endpoint.fault = Fault.OUT_OF_MONEY
        for _ in range(2):
            await made.reflect()
        failing = await asyncio.to_thread(found_now, tmp_path, address=made.address)
        made.endpoint.fault = None
        await made.reflect()
        answering = await asyncio.to_thread(found_now, tmp_path, address=made.address)
    (finding,) = [one for one in failing.findings if one.subject == "model" and not one.ok]
    says = f"{CLAUDE} (anthropic) failed the last 2 questions for mid_turn_reflection: failed_model, the last one at "
    assert says in finding.found
    assert [one for one in answering.findings if one.subject == "model" and not one.ok] == []


@pytest.mark.parametrize("fault", [None, Fault.OUT_OF_MONEY])
async def test_a_model_that_has_just_answered_this_command_is_not_accused(fault: Fault | None, tmp_path: Path) -> None:
    """Though no agent has asked it since. Seen to fail as the first line of `--ask-models`, above its answer."""

    def asked(made: Talk) -> Examination:
        flags = {**settings_of("openai_compatible", made.endpoint), "address": made.address}
        flags["data_dir"] = str(tmp_path / "data")
        return examine(flags, SystemClock(), {"SIDEMIRROR_MODEL__API_KEY": KEY}, ask_models=True)

    async with talk(tmp_path, "openai_compatible") as made:
        await made.turn("t")
        made.endpoint.fault = Fault.OUT_OF_MONEY
        for _ in range(2):
            await made.reflect()
        made.endpoint.fault = fault
        examination = await asyncio.to_thread(asked, made)
    (finding,) = [one for one in examination.findings if " failed the last 2 questions for " in one.found]
    assert finding.ok == (fault is None)
    assert finding.found.endswith("; it has answered this command since") == (fault is None)


async def test_who_is_loud_without_any_limit_is_named(tmp_path: Path) -> None:
    async with Process(tmp_path) as process:

        def loud() -> None:
            with grpc.insecure_channel(process.address) as channel:
                stub = ThinkingServiceStub(channel)
                stub.StartTurn(thinking_pb2.StartTurnRequest(turn_id="t", session_id="loud", project_id="shop"))
                said = thinking_pb2.TurnEvent(user_message=thinking_pb2.UserMessage(text="more"))
                for _ in range(5):
                    stub.ReportEvents(
                        thinking_pb2.ReportEventsRequest(turn_id="t", project_id="shop", events=[said] * 3)
                    )

        await asyncio.to_thread(loud)
        examination = await asyncio.to_thread(found_now, tmp_path, address=process.address)
    (told,) = [one.found for one in examination.findings if one.subject == "traffic"]
    assert "default/shop: 6" in told
    assert told.endswith("Events by session: loud of default/shop: 15")


async def test_another_sidecars_models_are_not_asked(tmp_path: Path) -> None:
    """Those of this command's settings say nothing of them. Seen to fail with `ok model: rules … answers` of a sidecar
    whose model is another one."""
    given = {"data_dir": str(tmp_path / "data")}
    async with talk(tmp_path, "openai_compatible") as made:
        flags = {**given, "address": made.address}
        examination = await asyncio.to_thread(examine, flags, SystemClock(), {}, ask_models=True)
        assert made.endpoint.calls == []
    (finding,) = [one for one in examination.findings if one.subject == "model"]
    assert not finding.ok
    assert finding.found.startswith(f"not asked: the sidecar at {made.address} has openai_compatible ")
    assert ", these settings rules " in finding.found


async def test_the_sidecars_own_models_are_asked(tmp_path: Path) -> None:
    flags = {"data_dir": str(tmp_path / "data")}
    async with Process(tmp_path) as process:
        given = {**flags, "address": process.address}
        examination = await asyncio.to_thread(examine, given, SystemClock(), {}, ask_models=True)
    models = [one for one in examination.findings if one.subject == "model"]
    assert models
    assert all(one.ok and ": answers" in one.found for one in models)
