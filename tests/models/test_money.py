"""What a provider says that a call took is money. Whatever it says, a call is never free, and nothing exceeds a cap."""

import asyncio
import contextlib
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sidemirror.v1 import common_pb2, critique_pb2, critique_pb2_grpc, sidecar_pb2, sidecar_pb2_grpc
from sidemirror_server.models.adapters.openai_compatible import OpenAICompatibleEmbedder
from sidemirror_server.models.caps import Caps
from sidemirror_server.models.embedding import PaidEmbedder
from sidemirror_server.models.prices import Prices
from sidemirror_server.models.profiles import most_input_tokens, most_output_tokens
from sidemirror_server.policy.record import Cap
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.status import ResultStatus, Usage
from tests.faults.figures import show
from tests.faults.process import Process
from tests.faults.sidecars import Stub, channel
from tests.models.endpoint import EMBEDDING, KEY, Endpoint
from tests.models.gateways import NOTHING, PRICE, SCOPE, desk, question
from tests.models.providers import PROVIDERS, real_ask
from tests.models.talk import PRICES, settings_of, talk
from tests.models.usages import HIDDEN, HIDDEN_TOKENS, UNTRUE
from tests.postgres.databases import Databases

ASK = msgspec.structs.replace(real_ask(), thinking_tokens=2_000)


@pytest.fixture
async def url(databases: Databases) -> AsyncIterator[str]:
    """A sidecar's URL of a database of the test's own."""
    async with databases.fresh() as name:
        yield databases.cluster.url("sidecar", name)


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    async with Endpoint() as server:
        yield server


@pytest.mark.parametrize("said", UNTRUE)
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_count_that_cannot_be_true_is_estimated(provider: str, said: str, endpoint: Endpoint) -> None:
    """Seen to fail when what the provider says is believed: free when it is nothing, no answer when it is no number."""
    endpoint.usage_of = UNTRUE[said]
    model = PROVIDERS[provider](endpoint)
    usage = (await model.complete(ASK, 30.0)).usage
    await model.close()
    (call,) = endpoint.calls
    assert call.input_tokens <= usage.input_tokens <= most_input_tokens(ASK)
    assert call.output_tokens <= usage.output_tokens <= most_output_tokens(ASK)
    assert ("tokens" in usage.parameters) != (said in ("threefold", "details in words"))


@pytest.mark.parametrize("where", HIDDEN)
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_hidden_reasoning_is_counted(provider: str, where: str, endpoint: Endpoint) -> None:
    endpoint.usage_of = HIDDEN[where]
    model = PROVIDERS[provider](endpoint)
    usage = (await model.complete(ASK, 30.0)).usage
    await model.close()
    hidden = 0 if (provider, where) == ("anthropic", "in the total") else HIDDEN_TOKENS
    assert usage.output_tokens == endpoint.calls[0].output_tokens + hidden


async def test_vectors_are_not_free(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.usage_of = UNTRUE["zero"]
    async with desk(tmp_path) as made:
        model = OpenAICompatibleEmbedder(EMBEDDING, KEY, endpoint.openai_url)
        prices = Prices("openai_compatible", EMBEDDING, None, PRICE)
        embedder = PaidEmbedder(model, prices, 2, made.spending, made.clock)
        await embedder.embed(SCOPE, ("Where is the order W17?",), 30.0)
        await embedder.close()
        await made.spending.settled()
        (spend,) = await made.spending.spent(SCOPE, 1)
        assert endpoint.calls[0].input_tokens <= spend.settled.tokens <= 40


async def test_a_model_of_another_package_is_not_free_either(tmp_path: Path) -> None:
    async with desk(tmp_path) as made:
        made.model.usage = NOTHING
        completion = await made.gateway.ask(SCOPE, question(), 10.0)
        assert completion.usage.parameters["tokens"] == "estimated"
        assert completion.usage.input_tokens > 0
        used = await made.used()
        assert used.tokens == completion.usage.input_tokens + completion.usage.output_tokens
        assert used.usd == completion.usage.cost_usd
        assert used.usd > 0


async def test_no_call_takes_more_than_is_reserved_for_it(tmp_path: Path) -> None:
    """The provider has counted the prompt, near a cap, and then says more."""
    async with desk(tmp_path, caps=Caps(total=Cap(tokens=600 + 64 + 110))) as made:
        made.model.counted = 100
        made.model.usage = Usage("test", "scripted", input_tokens=500, output_tokens=600)
        await made.gateway.ask(SCOPE, msgspec.structs.replace(question(), max_tokens=600), 10.0)
        assert (await made.used()).tokens == 774


async def test_a_prompt_that_is_counted_as_nothing_is_not_asked_about(tmp_path: Path) -> None:
    async with desk(tmp_path, caps=Caps(total=Cap(tokens=600 + 64 + 110))) as made:
        made.model.counted = 0
        with pytest.raises(ModelFailed) as refused:
            await made.gateway.ask(SCOPE, msgspec.structs.replace(question(), max_tokens=600), 10.0)
        assert refused.value.status is ResultStatus.SKIPPED_SPEND


# --- many callers -----------------------------------------------------------------------------------------------------


def lying(endpoint: Endpoint) -> None:
    """The endpoint tells another untruth with each answer."""
    untruths = itertools.cycle([*UNTRUE.values(), *HIDDEN.values()])

    def said(usage: dict[str, Any]) -> Any:
        return next(untruths)(usage)

    endpoint.usage_of = said


async def critiques(addresses: Sequence[str], callers: int) -> Counter[str]:
    """What became of a critique for each of so many callers at once, who share out the addresses."""
    async with contextlib.AsyncExitStack() as stack:
        connections = [await stack.enter_async_context(channel(address)) for address in addresses]
        stubs: list[Stub] = [critique_pb2_grpc.CritiqueServiceStub(connection) for connection in connections]
        requests = [
            critique_pb2.CritiqueRequest(user_message="Where is W17?", response=f"Order {number} is on its way.")
            for number in range(callers)
        ]
        calls = [stubs[number % len(stubs)].Critique(request, timeout=60) for number, request in enumerate(requests)]
        answers = await asyncio.gather(*calls)
    return Counter(common_pb2.ResultStatus.Name(answer.critique.status)[14:] for answer in answers)


async def used_usd(address: str) -> float:
    """What counts against the cap of all, once nothing is under way."""
    async with channel(address) as connection:
        stub: Stub = sidecar_pb2_grpc.SidecarServiceStub(connection)
        async with asyncio.timeout(60):
            while True:
                info = await stub.GetServerInfo(sidecar_pb2.GetServerInfoRequest())
                if not any(spend.reserved_tokens for spend in info.spend):
                    break
        (total,) = (cap for cap in info.spend_caps if cap.level == sidecar_pb2.SPEND_LEVEL_TOTAL)
        return float(total.used_usd)


def check(provider: str, endpoint: Endpoint, told: Counter[str], counted_usd: float, cap_usd: float) -> None:
    """What was really taken is all counted, and it is within the cap, which was reached."""
    per_input, per_output = PRICES[provider]
    taken_usd = sum(call.input_tokens * per_input + call.output_tokens * per_output for call in endpoint.calls) / 1e6
    show(f"{provider}: {dict(told)}; {taken_usd:.5f} USD taken, {counted_usd:.5f} counted, {cap_usd:.5f} allowed")
    assert told.keys() <= {"OK", "SKIPPED_SPEND"}
    assert told["OK"] > 0
    assert told["SKIPPED_SPEND"] > 0
    assert 0 < taken_usd <= counted_usd <= cap_usd


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_twenty_callers_of_a_provider_that_reports_nothing(provider: str, tmp_path: Path) -> None:
    """Seen to fail when what the provider says is believed: nothing was counted."""
    cap_usd = 0.0015 * PRICES[provider][0] / 0.1
    async with talk(tmp_path, provider, spend__usd_per_day=str(cap_usd)) as made:
        made.endpoint.usage_of = UNTRUE["zero"]
        told = await critiques([made.address], 20)
        check(provider, made.endpoint, told, await used_usd(made.address), cap_usd)


@pytest.mark.long
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_200_callers_in_two_processes_of_a_provider_that_lies(provider: str, url: str, tmp_path: Path) -> None:
    cap_usd = 0.008 * PRICES[provider][0] / 0.1
    async with Endpoint() as endpoint:
        lying(endpoint)
        settings = {**settings_of(provider, endpoint), "spend__usd_per_day": str(cap_usd)}
        secrets = {"SIDEMIRROR_MODEL__API_KEY": KEY, "SIDEMIRROR_DATABASE_URL": url}
        one, other = (Process(tmp_path / name, settings, secrets=secrets) for name in ("one", "other"))
        async with one, other:
            told = await critiques([one.address, other.address], 200)
            check(provider, endpoint, told, await used_usd(one.address), cap_usd)
