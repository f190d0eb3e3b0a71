"""The models behind SDKs keep the port's promises, and a provider that misbehaves in any way is a `ModelFailed`."""

import asyncio
import contextlib
import importlib
import socket
import time
from collections.abc import AsyncIterator
from types import ModuleType
from typing import Never

import httpx2
import msgspec
import pytest
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, use_span

from sidemirror_server.models.adapters.anthropic import AnthropicModel
from sidemirror_server.models.adapters.http import client_settings
from sidemirror_server.models.adapters.openai_compatible import OpenAICompatibleModel
from sidemirror_server.models.adapters.remote import Connection, RemoteModel
from sidemirror_server.models.answers import MidTurnAnswer
from sidemirror_server.models.language_model import Ask, LanguageModel
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.status import ResultStatus, Usage
from tests.conformance import language_model as suite
from tests.conformance.clauses import Clause, clauses_of
from tests.faults.machine import Machine
from tests.models.endpoint import EXPECTED, KEY, Endpoint, Fault, unused_url
from tests.models.providers import CANARY, PROVIDERS, Make, real_ask

CLAUSES = clauses_of(suite)


@pytest.fixture(params=list(PROVIDERS.values()), ids=list(PROVIDERS))
def make(request: pytest.FixtureRequest) -> Make:
    chosen: Make = request.param
    return chosen


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    async with Endpoint() as server:
        yield server


@pytest.fixture
async def model(make: Make, endpoint: Endpoint) -> AsyncIterator[RemoteModel]:
    """Loaded, and past its first call: what a call takes is not what an import takes."""
    remote = make(endpoint)
    await remote.complete(real_ask(), 30.0)
    endpoint.calls.clear()
    yield remote
    await remote.close()


async def failure_of(model: LanguageModel, ask: Ask[MidTurnAnswer], deadline_s: float) -> ModelFailed:
    with pytest.raises(ModelFailed) as failed:
        await model.complete(ask, deadline_s)
    assert failed.value.status is not ResultStatus.OK
    for secret in (CANARY, KEY, KEY[7:]):
        assert secret not in str(failed.value)
    return failed.value


class Behind:
    """A remote model and an endpoint that answers, or refuses whatever it is asked."""

    def __init__(self, make: Make, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._model = make(endpoint)

    def answering(self) -> LanguageModel:
        return self._model

    def failing(self) -> tuple[LanguageModel, Ask[MidTurnAnswer]]:
        self._endpoint.fault = Fault.OVERLOADED_529
        return self._model, suite.ask()

    def requests(self) -> int:
        return len(self._endpoint.calls)

    async def close(self) -> None:
        await self._model.close()


@pytest.mark.parametrize("clause", CLAUSES.values(), ids=CLAUSES)
async def test_clause(clause: Clause, make: Make, endpoint: Endpoint) -> None:
    provider = Behind(make, endpoint)
    try:
        await clause(provider)
    finally:
        await provider.close()


SLOW = {Fault.BLACK_HOLE, Fault.SLOW_DRIP}


@pytest.mark.parametrize("fault", list(Fault))
async def test_misbehaving_provider(fault: Fault, model: RemoteModel, endpoint: Endpoint, machine: Machine) -> None:
    endpoint.fault = fault
    deadline_s = 0.5 if fault in SLOW else 30.0
    machine.late_s()
    begun_s = time.monotonic()
    status, retryable = EXPECTED[fault]
    if status == "ok":
        answer = (await model.complete(real_ask(), deadline_s)).answer
        assert answer.reflection == "a�b�c"
        return
    failure = await failure_of(model, real_ask(), deadline_s)

    assert time.monotonic() - begun_s < deadline_s + 0.1 + machine.late_s()
    assert (failure.status.value, failure.retryable) == (status, retryable)
    assert len(endpoint.calls) == 1, "nothing is tried again here"


def test_every_fault_has_an_expected_status() -> None:
    assert set(EXPECTED) == set(Fault)


@pytest.mark.parametrize(
    ("fault", "wait_s"), [(Fault.RATE_LIMITED, None), (Fault.RATE_LIMITED_1, 1.0), (Fault.RATE_LIMITED_3600, 3600.0)]
)
async def test_says_how_long_the_provider_wants_to_be_left_alone(
    fault: Fault, wait_s: float | None, model: RemoteModel, endpoint: Endpoint
) -> None:
    endpoint.fault = fault
    assert (await failure_of(model, real_ask(), 5.0)).retry_after_s == wait_s


@pytest.mark.parametrize("fault", [Fault.MAX_TOKENS, Fault.REFUSED, Fault.NOT_JSON, Fault.NULL_STOP])
async def test_tokens_of_a_failed_answer_are_told(fault: Fault, model: RemoteModel, endpoint: Endpoint) -> None:
    endpoint.fault = fault
    usage = (await failure_of(model, real_ask(), 5.0)).usage
    assert usage is not None
    assert usage.input_tokens == endpoint.calls[0].input_tokens > 0
    assert usage.output_tokens == endpoint.calls[0].output_tokens > 0


@pytest.mark.parametrize(
    ("fault", "is_known"),
    [
        (Fault.RATE_LIMITED, True),
        (Fault.OVERLOADED_529, True),
        (Fault.HTML_502, False),
        (Fault.RESET, False),
        (Fault.TEN_MEGABYTES, False),
    ],
)
async def test_says_whether_nothing_was_spent(
    fault: Fault, is_known: bool, model: RemoteModel, endpoint: Endpoint
) -> None:
    endpoint.fault = fault
    usage = (await failure_of(model, real_ask(), 5.0)).usage
    assert (usage is not None) == is_known
    assert usage is None or (usage.input_tokens, usage.output_tokens) == (0, 0)


async def test_a_huge_answer_is_not_read_to_its_end(model: RemoteModel, endpoint: Endpoint) -> None:
    endpoint.fault = Fault.TEN_MEGABYTES
    endpoint.sent_bytes = 0
    failure = await failure_of(model, real_ask(), 5.0)
    assert failure.detail == "the answer is larger than 1048576 bytes"
    assert endpoint.sent_bytes < 9_000_000


async def test_a_compressed_answer_is_not_asked_for(model: RemoteModel, endpoint: Endpoint) -> None:
    await model.complete(real_ask(), 5.0)
    assert endpoint.calls[0].headers["accept-encoding"] == "identity"
    endpoint.fault = Fault.PACKED
    failure = await failure_of(model, real_ask(), 5.0)
    assert failure.detail == "the answer is compressed although that was not asked for"


async def test_a_dial_that_nobody_answers_ends_in_time(make: Make, endpoint: Endpoint, machine: Machine) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, contextlib.ExitStack() as stack:
        for _ in range(4):  # more than the backlog holds: from here on, nobody is let in
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        model = type(make(endpoint))("m", KEY, f"http://127.0.0.1:{full.getsockname()[1]}")  # type: ignore[call-arg]
        await model.prepare()
        machine.late_s()
        begun_s = time.monotonic()
        failure = await failure_of(model, suite.ask(), 0.5)
        assert time.monotonic() - begun_s < 0.6 + machine.late_s()
        assert failure.detail == "the model did not answer within 0.5 s"
        await model.close()


async def test_nobody_listens(make: Make, endpoint: Endpoint) -> None:
    kind = type(make(endpoint))
    model = kind(CANARY, KEY, unused_url())  # type: ignore[call-arg]
    await model.prepare()
    failure = await failure_of(model, suite.ask(), 5.0)
    assert failure.detail == "the provider cannot be reached"
    assert failure.retryable
    assert failure.usage is not None
    await model.close()


@pytest.mark.parametrize("url", ["localhost", "ftp://127.0.0.1/", "http://", "http://[::1", "http://127.0.0.1:99999"])
@pytest.mark.parametrize("kind", [AnthropicModel, OpenAICompatibleModel])
async def test_an_address_that_is_none(url: str, kind: type[AnthropicModel] | type[OpenAICompatibleModel]) -> None:
    model = kind("m", KEY, url)
    failure = await failure_of(model, suite.ask(), 20.0)
    assert failure.detail.endswith(" is not an http or https address")
    await model.close()


@pytest.mark.parametrize("key", ["schlüssel", "a\nb: c", "two words"])
async def test_a_key_that_no_header_can_carry(key: str, make: Make, endpoint: Endpoint) -> None:
    kind = type(make(endpoint))
    model = kind("m", key, endpoint.anthropic_url)  # type: ignore[call-arg]
    failure = await failure_of(model, suite.ask(), 20.0)
    assert failure.detail.endswith(" has characters that no key has")
    assert key not in str(failure)
    await model.close()


@pytest.mark.parametrize("kind", [AnthropicModel, OpenAICompatibleModel])
async def test_without_a_key(kind: type[AnthropicModel] | type[OpenAICompatibleModel]) -> None:
    failure = await failure_of(kind("m", None), suite.ask(), 1.0)
    assert failure.detail.startswith("there is no API key for ")
    assert not failure.retryable


async def test_a_wrong_key(make: Make, endpoint: Endpoint) -> None:
    kind = type(make(endpoint))
    base_url = endpoint.anthropic_url if kind is AnthropicModel else endpoint.openai_url
    model = kind("m", "another", base_url)  # type: ignore[call-arg]
    failure = await failure_of(model, suite.ask(), 20.0)
    assert failure.detail == "the provider answered 401: the API key was not accepted (authentication_error)"
    await model.close()


async def test_a_prompt_that_no_request_can_carry_is_a_failure_too(model: RemoteModel) -> None:
    ask = msgspec.structs.replace(real_ask(), prompt="half of a pair: \ud800")
    assert (await failure_of(model, ask, 5.0)).status is ResultStatus.FAILED_MODEL


async def test_a_cancelled_call_hangs_up(model: RemoteModel, endpoint: Endpoint) -> None:
    endpoint.fault = Fault.BLACK_HOLE
    endpoint.arrived.clear()
    call = asyncio.create_task(model.complete(real_ask(), 30.0))
    await asyncio.wait_for(endpoint.arrived.wait(), 5.0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    endpoint.fault = None
    assert (await model.complete(real_ask(), 5.0)).usage.output_tokens > 0


async def test_usage_is_what_the_endpoint_counted(model: RemoteModel, endpoint: Endpoint) -> None:
    usages = [(await model.complete(real_ask(), 5.0)).usage for _ in range(3)]
    counted = endpoint.tokens()["mid_turn_reflection"]
    assert counted == (3, sum(u.input_tokens for u in usages), sum(u.output_tokens for u in usages))
    assert usages[0].latency_us > 0
    assert usages[0].cost_usd is None


def every_exception(*modules: ModuleType) -> list[type[Exception]]:
    """Every class of exception that the modules define."""
    classes = {value for module in modules for value in tuple(vars(module).values()) if isinstance(value, type)}
    return sorted((kind for kind in classes if issubclass(kind, Exception)), key=lambda kind: kind.__qualname__)


def made(kind: type[Exception]) -> Exception:
    """One of these, whatever its constructor wants."""
    error = kind.__new__(kind)
    Exception.__init__(error, f"{CANARY} {KEY}")
    return error


@pytest.mark.parametrize(
    "status", [300, 400, 401, 403, 404, 408, 413, 422, 429, 451, 500, 501, 503, 504, 529, 599, 999]
)
async def test_every_status_is_a_failure(status: int, model: RemoteModel, endpoint: Endpoint) -> None:
    endpoint.status = status
    failure = await failure_of(model, real_ask(), 5.0)
    assert failure.detail.startswith(f"the provider answered {status}: ")
    assert failure.retryable == (status in (408, 429) or (status >= 500 and status != 501))


@pytest.mark.parametrize(
    ("headers", "retryable", "wait_s"),
    [
        ({"x-should-retry": "false", "retry-after": "1"}, False, None),
        ({"retry-after": "0.5"}, True, 0.5),
        ({"retry-after": "9", "retry-after-ms": "250"}, True, 0.25),
        ({"retry-after": "soon"}, True, None),
        ({"retry-after": "-1"}, True, None),
        ({"retry-after": "nan"}, True, None),
        ({"retry-after": "inf"}, True, None),
        ({"retry-after": "Fri, 20 Nov 2026 12:00:30 GMT", "date": "Fri, 20 Nov 2026 12:00:00 GMT"}, True, 30.0),
        ({"retry-after": "Fri, 20 Nov 2026 12:00:30 GMT"}, True, None),
    ],
)
async def test_what_a_provider_says_about_asking_again(
    headers: dict[str, str], retryable: bool, wait_s: float | None, model: RemoteModel, endpoint: Endpoint
) -> None:
    endpoint.status, endpoint.status_headers = 529, headers
    failure = await failure_of(model, real_ask(), 5.0)
    assert (failure.retryable, failure.retry_after_s) == (retryable, wait_s)


async def test_our_trace_ids_stay_here(model: RemoteModel, endpoint: Endpoint) -> None:
    ours = SpanContext(trace_id=1, span_id=2, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    with use_span(NonRecordingSpan(ours)):
        await model.complete(real_ask(), 5.0)
    assert "traceparent" not in endpoint.calls[0].headers


async def test_no_exception_of_the_sdk_or_the_http_library_slips_through(make: Make, endpoint: Endpoint) -> None:
    anthropic = importlib.import_module("anthropic")
    openai = importlib.import_module("openai")
    httpx2 = importlib.import_module("httpx2")
    http = importlib.import_module("sidemirror_server.models.adapters.http")
    own = {"anthropic": anthropic, "openai_compatible": openai}[make(endpoint).provider]
    sdk_error = own.AnthropicError if own is anthropic else own.OpenAIError
    kinds = every_exception(own, httpx2)
    assert len(kinds) > 40

    for kind in kinds:
        with pytest.raises(ModelFailed) as failed:
            # Those with a status have facts from a response: they are in the test above.
            await http.body_of(raises(made(kind)), NoStatus, sdk_error, Usage("p", "m"))
        assert CANARY not in str(failed.value)
        assert KEY not in str(failed.value)


class NoStatus(Exception):
    """Never raised."""


async def raises(error: Exception) -> None:
    raise error


async def test_questions_that_become_ready_at_once_begin_one_by_one() -> None:
    """As they do when one commit reserves what they may cost: an SDK makes a request in one piece, and others' calls
    wait for it. Seen to fail when all begin at once."""
    begun: list[int] = []
    others = 0

    class Noted:
        async def complete(self, _: object, __: float) -> Never:
            begun.append(others)
            raise ModelFailed(ResultStatus.FAILED_MODEL, "nobody answers")

        async def count_tokens(self, _: object, __: float) -> None:
            return None

        async def close(self) -> None:
            pass

    model = RemoteModel("local", "m", "http://localhost", "", lambda _: Noted())
    await failure_of(model, real_ask(), 30.0)
    asking = [asyncio.create_task(failure_of(model, real_ask(), 30.0)) for _ in range(5)]
    while not all(one.done() for one in asking):
        others += 1
        await asyncio.sleep(0)
    assert len(set(begun[1:])) == 5


async def test_a_question_that_is_too_late_before_it_is_sent_costs_nothing() -> None:
    """As where the import of an SDK takes longer than the call may. Seen to be the model's failure."""

    def connect(_: str | None) -> Connection:
        time.sleep(0.3)
        raise AssertionError("nobody waits for it")

    failed = await failure_of(RemoteModel("local", "m", "http://localhost", "", connect), real_ask(), 0.05)
    assert failed.status is ResultStatus.SKIPPED_DEADLINE
    assert failed.usage == Usage("local", "m")


async def test_answers_that_come_at_once_are_read_one_by_one() -> None:
    """Their bodies may be later than their headers. Seen to fail when all are read at once, and when the headers pass
    one by one."""
    (hook,) = client_settings(direct=True)["event_hooks"]["response"]
    has_come = asyncio.Event()
    read: list[int] = []
    others = 0

    class Body(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            await has_come.wait()
            yield b"{}"

    async def comes() -> None:
        response = httpx2.Response(200, stream=Body())
        await hook(response)
        await response.aread()
        read.append(others)

    coming = [asyncio.create_task(comes()) for _ in range(5)]
    while not all(one.done() for one in coming):
        others += 1
        await asyncio.sleep(0)
        if others == 20:
            has_come.set()
    assert len(set(read)) == 5
