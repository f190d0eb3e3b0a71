"""Reflections through the unmodified SDKs, over real HTTP, from a gRPC call: what a user of a provider gets."""

import asyncio
import time
from pathlib import Path

import pytest

from sidemirror.v1 import common_pb2, sidecar_pb2, sidecar_pb2_grpc
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1 import thinking_pb2_grpc as pb_grpc
from tests.faults.machine import Machine
from tests.faults.process import Process
from tests.faults.sidecars import Stub, channel
from tests.models.endpoint import CLAUDE, EXPECTED, KEY, LOCAL, Endpoint, Fault, unused_url
from tests.models.talk import CANARY, PRICES, PROVIDERS, Talk, talk

pytestmark = pytest.mark.slow("providers that hang until time limits end them")

DEADLINE_S = 0.8
# Decision 015: a deadline is a deadline.
LATE_S = 0.1


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_reflection(provider: str, tmp_path: Path) -> None:
    async with talk(tmp_path, provider) as made:
        made.endpoint.answer = {
            "reflection": "The order id is wrong.",
            "suggested_action": "List the orders.",
            "confidence": 0.9,
            "cited_event_ids": ["e2"],
        }
        await made.turn("t")
        result = await made.reflect()
        assert result.status == common_pb2.RESULT_STATUS_OK, result.detail
        assert (result.reflection, result.suggested_action) == ("The order id is wrong.", "List the orders.")
        assert (result.confidence, list(result.cited_event_ids)) == (0.9, ["e2"])
        assert (result.usage.provider, result.usage.model) == (provider, CLAUDE if provider == "anthropic" else LOCAL)
        (call,) = made.endpoint.calls
        assert CANARY in str(call.body)
        taken = (result.usage.input_tokens, result.usage.output_tokens)
        assert taken == (call.input_tokens, call.output_tokens)
        per_input, per_output = PRICES[provider]
        cost = (call.input_tokens * per_input + call.output_tokens * per_output) / 1e6
        assert result.usage.cost_usd == pytest.approx(cost, abs=1e-9)


# Each fault by one of the providers; by the other with `-m long`, since tests/adapters/test_remote_models.py has both.
FAULTS = [
    pytest.param(provider, fault, marks=() if (place + number) % 2 else pytest.mark.long)
    for place, provider in enumerate(PROVIDERS)
    for number, fault in enumerate(Fault)
]


@pytest.mark.parametrize(("provider", "fault"), FAULTS)
async def test_misbehaviour(provider: str, fault: Fault, machine: Machine, tmp_path: Path) -> None:
    async with talk(tmp_path, provider) as made:
        made.endpoint.fault = fault
        wanted, _ = EXPECTED[fault]
        told = []
        # What is wrong is so each time; a machine that was busy elsewhere for a moment is not.
        for turn_id in ("t1", "t2"):
            await made.turn(turn_id, time_limit_s=DEADLINE_S)
            before = len(made.endpoint.calls)
            machine.late_s()
            began_s = time.monotonic()
            result = await made.reflect(turn_id)
            took_s = time.monotonic() - began_s
            in_time = took_s < DEADLINE_S + LATE_S + machine.late_s()
            status, calls = common_pb2.ResultStatus.Name(result.status), len(made.endpoint.calls) - before
            if in_time and status == f"RESULT_STATUS_{wanted.upper()}" and 1 <= calls <= 3:
                break
            told.append(f"{status} ({result.detail}) after {took_s:.2f} s and {calls} calls")
        else:
            pytest.fail("; ".join(told))
        stored = await made.thinking.GetTurn(pb.GetTurnRequest(turn_id=turn_id))
        (reflection,) = (
            entry.directive.reflection for entry in stored.entries if entry.directive.HasField("reflection")
        )
        assert reflection == result
        assert CANARY not in str(reflection)
        if wanted == "ok":
            assert "\0" not in reflection.reflection
        else:
            assert reflection.reflection == "[reflection failed]"
            assert (reflection.confidence, reflection.suggested_action) == (0.7, "")


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_nobody_listens(provider: str, machine: Machine, tmp_path: Path) -> None:
    async with talk(tmp_path, provider, unused_url()) as made:
        await made.turn("t", time_limit_s=DEADLINE_S)
        machine.late_s()
        began_s = time.monotonic()
        result = await made.reflect()
        assert time.monotonic() - began_s < DEADLINE_S + LATE_S + machine.late_s()
        assert result.status == common_pb2.RESULT_STATUS_FAILED_MODEL
        assert result.detail.startswith("the provider cannot be reached")


# Faults after which it is known what the call took.
_TELLS = [None, Fault.RATE_LIMITED, Fault.NOT_JSON, Fault.OVERLOADED_529, Fault.REFUSED, None, Fault.MAX_TOKENS, None]


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_the_ledger_adds_up_to_the_endpoints_own_count(provider: str, tmp_path: Path) -> None:
    async with talk(tmp_path, provider) as made:
        for number, fault in enumerate(_TELLS):
            await made.turn(f"t{number}")
            made.endpoint.faults = [fault] if fault else []
            await made.reflect(f"t{number}")
        spend = await made.spend()
        calls, given, answered = made.endpoint.tokens()["mid_turn_reflection"]
        assert spend.purpose == "mid_turn_reflection"
        assert (spend.calls, spend.tokens) == (calls, given + answered)
        assert spend.calls > len(_TELLS), "some were asked again"
        per_input, per_output = PRICES[provider]
        assert spend.usd == pytest.approx((given * per_input + answered * per_output) / 1e6, abs=1e-8)
        (total,) = (cap for cap in (await made.info()).spend_caps if cap.level == sidecar_pb2.SPEND_LEVEL_TOTAL)
        assert (total.usd_per_day, total.used_tokens) == (5.0, spend.tokens)
        assert total.used_usd == pytest.approx(spend.usd)


async def test_the_turns_budget_counts_failed_attempts(tmp_path: Path) -> None:
    async with talk(tmp_path, "anthropic") as made:
        await made.turn("t", max_tokens=100_000)
        made.endpoint.fault = Fault.NOT_JSON
        response = await made.thinking.Reflect(pb.ReflectRequest(turn_id="t"))
        _, given, answered = made.endpoint.tokens()["mid_turn_reflection"]
        assert len(made.endpoint.calls) == 3
        assert response.budget_left.tokens == 100_000 - given - answered


async def test_a_cap_ends_the_spending_and_says_so(tmp_path: Path) -> None:
    async with talk(tmp_path, "anthropic", spend__tokens_per_day="4000") as made:
        results = []
        for number in range(12):
            await made.turn(f"t{number}")
            results.append(await made.reflect(f"t{number}"))
        refused = [result for result in results if result.status == common_pb2.RESULT_STATUS_SKIPPED_SPEND]
        assert 0 < len(refused) < 12
        assert refused[0].detail.startswith("the cap of this sidecar is reached for a call")
        assert refused[0].reflection == "[reflection failed]"
        assert (await made.spend()).tokens <= 4_000


async def test_what_a_killed_sidecar_was_asking_counts_as_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    async with Endpoint() as endpoint:
        # The key alone chooses the provider; the address is the test's.
        settings = {"model__provider": "anthropic", "model__base_url": endpoint.anthropic_url}
        async with Process(tmp_path, settings) as process:
            endpoint.gate.clear()
            async with channel(process.address) as connection:
                made = Talk(endpoint, pb_grpc.ThinkingServiceStub(connection), Stub)
                await made.turn("t")
                asking = asyncio.ensure_future(made.reflect())
                await endpoint.arrived.wait()
                process.kill()
                await asyncio.gather(asking, return_exceptions=True)
            await process.start()
            async with channel(process.address) as connection:
                info = await Talk(endpoint, Stub, sidecar_pb2_grpc.SidecarServiceStub(connection)).info()
        (spend,) = info.spend
        assert (spend.calls, spend.tokens) == (1, 0)
        assert spend.reserved_tokens > 2_048, "the longest answer, and the prompt"
        (total,) = (cap for cap in info.spend_caps if cap.level == sidecar_pb2.SPEND_LEVEL_TOTAL)
        assert (total.used_tokens, total.used_usd) == (spend.reserved_tokens, spend.reserved_usd)
        assert total.used_usd > 0.001


async def test_each_tenant_sees_its_own_spend(tmp_path: Path) -> None:
    async with talk(tmp_path, "anthropic") as made:
        await made.turn("t")
        await made.reflect()
        assert (await made.spend()).calls == 1
        assert not (await made.info(tenant_id="other")).spend


async def test_a_provider_that_keeps_failing_is_shown_as_left_alone(tmp_path: Path) -> None:
    async with talk(tmp_path, "anthropic") as made:
        assert {model.available for model in (await made.info()).models} == {True}
        made.endpoint.fault = Fault.OVERLOADED_529
        for number in range(2):
            await made.turn(f"t{number}")
            await made.reflect(f"t{number}")
        model = (await made.info()).models[0]
        assert (model.purpose, model.provider, model.available) == ("mid_turn_reflection", "anthropic", False)
        asked = len(made.endpoint.calls)
        await made.turn("t9")
        assert "failed 5 times in a row" in (await made.reflect("t9")).detail
        assert len(made.endpoint.calls) == asked == 5


async def test_a_reflection_that_nobody_waits_for_is_still_made(tmp_path: Path) -> None:
    async with talk(tmp_path, "anthropic") as made:
        await made.turn("t")
        made.endpoint.gate.clear()
        asking = made.thinking.Reflect(pb.ReflectRequest(turn_id="t"), timeout=60)
        await made.endpoint.arrived.wait()
        asking.cancel()
        made.endpoint.gate.set()
        async with asyncio.timeout(60):
            while True:
                stored = await made.thinking.GetTurn(pb.GetTurnRequest(turn_id="t"))
                said = [entry.directive for entry in stored.entries if entry.directive.HasField("reflection")]
                if said:
                    break
        assert said[0].reflection.status == common_pb2.RESULT_STATUS_OK
