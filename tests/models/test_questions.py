"""What is told of questions to models, whatever they are for: how long each took, how it ended, and a warning for a
model that fails."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader

from sidemirror_server.models import telemetry
from sidemirror_server.models.embedding import PaidEmbedder
from sidemirror_server.models.language_model import Purpose
from sidemirror_server.models.prices import Prices
from sidemirror_server.models.telemetry import Questions
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.status import ResultStatus
from tests.conformance.language_model import ask
from tests.faults.clocks import SetClock
from tests.faults.stores import Fault, Switch, put_before
from tests.faults.waiting import until
from tests.models.gateways import NOTHING, PRICE, SCOPE, Scripted, desk, question
from tests.models.test_embedding import Embedder

FAILED = ModelFailed(ResultStatus.FAILED_MODEL, "it is dead")


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> InMemoryMetricReader:
    reader = InMemoryMetricReader()
    meter = MeterProvider([reader]).get_meter("test")
    monkeypatch.setattr(telemetry, "MODEL_DURATION", meter.create_histogram("sidemirror.model.duration", unit="s"))
    return reader


def told(reader: InMemoryMetricReader) -> dict[tuple[str, str], int]:
    """By purpose and status, how many questions."""
    data = reader.get_metrics_data()
    assert data is not None
    (metric,) = data.resource_metrics[0].scope_metrics[0].metrics
    found: dict[tuple[str, str], int] = {}
    for point in metric.data.data_points:
        assert isinstance(point, HistogramDataPoint)
        attributes = dict(point.attributes or {})
        assert attributes.pop("provider") == "test"
        found[str(attributes["purpose"]), str(attributes["status"])] = point.count
    return found


async def test_each_purpose_has_its_figures_and_its_warning(
    points: InMemoryMetricReader, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Three questions fail and one is answered: one warning, one line that it is over. Seen to fail when `ask` measures
    mid-turn reflections only, and when each failure is a line."""
    caplog.set_level(logging.INFO, "sidemirror_server.models.telemetry")
    purposes = [one for one in Purpose if one is not Purpose.MEMORY_EMBEDDING]
    async with desk(tmp_path) as on:
        for purpose in purposes:
            question = msgspec.structs.replace(ask(), purpose=purpose)
            for _ in range(3):
                on.model.failures.append(FAILED)
                with pytest.raises(ModelFailed):
                    await on.gateway.ask(SCOPE, question, 5.0)
            await on.gateway.ask(SCOPE, question, 5.0)
    assert told(points) == {
        **{(purpose.value, "failed_model"): 3 for purpose in purposes},
        **{(purpose.value, "ok"): 1 for purpose in purposes},
    }
    warned = [vars(one) for one in caplog.records if one.levelno == logging.WARNING]
    assert [one["purpose"] for one in warned] == [purpose.value for purpose in purposes]
    assert {one["message"] for one in warned} == {"model_failed"}
    facts = [(one["tenant_id"], one["project_id"], one["model"], one["status"], one["reason"]) for one in warned]
    assert set(facts) == {("acme", "shop", Scripted.name, "failed_model", "it is dead")}
    over = [vars(one) for one in caplog.records if one.message == "model_answers_again"]
    assert [(one["purpose"], one["failures"]) for one in over] == [(purpose.value, 3) for purpose in purposes]


def test_a_scope_is_told_of_its_own_questions_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither when nor how often others asked; that the model answers again is told to all. Seen to fail with one
    outage for all tenants, whose times and count every token saw."""
    clock, others = SetClock(1_000_000), Scope("globex", "shop")
    questions = Questions(clock)

    def asked(scope: Scope, *failures: ModelFailed) -> None:
        clock.us += 1_000_000
        with contextlib.suppress(ModelFailed), questions.asked(scope, Purpose.CRITIQUE, "test", "m"):
            for failure in failures:
                raise failure

    for _ in range(3):
        asked(others, FAILED)
    assert questions.outages(SCOPE.__eq__) == ()
    asked(SCOPE, FAILED)
    (own,), (of_all,) = questions.outages(SCOPE.__eq__), questions.outages()
    assert (own.failed_count, own.first_us, own.last_us) == (1, 5_000_000, 5_000_000)
    assert (of_all.failed_count, of_all.first_us, of_all.last_us) == (4, 2_000_000, 5_000_000)
    asked(others)
    assert questions.outages() == questions.outages(SCOPE.__eq__) == ()
    assert questions.answered_us("critique", SCOPE.__eq__) == 0
    assert questions.answered_us("critique") == 6_000_000
    monkeypatch.setattr(telemetry, "_SCOPES", 1)
    asked(SCOPE)
    assert questions.answered_us("critique", others.__eq__) == 0


async def test_vectors_have_their_figures_and_their_warning(
    points: InMemoryMetricReader, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """On the way that memories and questions take. Seen to fail when `PaidEmbedder` asks without `Questions`."""
    caplog.set_level(logging.INFO, "sidemirror_server.models.telemetry")
    async with desk(tmp_path) as made:
        model = Embedder()
        embedder = PaidEmbedder(model, Prices(model.provider, model.name, None, PRICE), 2, made.spending, made.clock)
        model.failures = [FAILED] * 3
        for _ in range(3):
            with pytest.raises(ModelFailed):
                await embedder.embed(SCOPE, ("a",), 10.0)
        await embedder.embed(SCOPE, ("a",), 10.0)
    assert told(points) == {("memory_embedding", "failed_model"): 3, ("memory_embedding", "ok"): 1}
    (warned,) = [vars(one) for one in caplog.records if one.levelno == logging.WARNING]
    facts = [warned[name] for name in ("message", "purpose", "tenant_id", "project_id", "model", "reason")]
    assert facts == ["model_failed", "memory_embedding", "acme", "shop", Embedder.name, "it is dead"]
    (over,) = [vars(one) for one in caplog.records if one.message == "model_answers_again"]
    assert (over["purpose"], over["failures"]) == ("memory_embedding", 3)


@pytest.mark.parametrize("status", [ResultStatus.SKIPPED_SPEND, ResultStatus.SKIPPED_DEADLINE])
def test_what_is_not_the_models_fault_is_counted_without_a_warning(
    status: ResultStatus, points: InMemoryMetricReader, caplog: pytest.LogCaptureFixture
) -> None:
    questions = Questions(SystemClock())
    with contextlib.suppress(ModelFailed), questions.asked(SCOPE, Purpose.MEMORY_EMBEDDING, "test", "m"):
        raise ModelFailed(status, "a cap is reached")
    assert told(points) == {("memory_embedding", status.value): 1}
    assert caplog.records == []


# --- callers who hang up ---------------------------------------------------------------------------------------------


class Talk:
    """Questions of one purpose at a clock that the test sets."""

    def __init__(self) -> None:
        self.clock = SetClock(0)
        self.questions = Questions(self.clock)

    def ask(self, waited_s: float, outcome: BaseException | None = None) -> None:
        """One question that ends after so many seconds: with an answer, or so."""
        with contextlib.suppress(ModelFailed, asyncio.CancelledError), self.asked():
            self.clock.advance(waited_s)
            if outcome is not None:
                raise outcome

    @contextlib.contextmanager
    def asked(self) -> Iterator[None]:
        """A question that is sent at once."""
        with (
            self.questions.asked(SCOPE, Purpose.CRITIQUE, "test", "m"),
            self.questions.sent(Purpose.CRITIQUE, "test", "m"),
        ):
            yield


def test_a_model_that_answers_nobody_fails_though_its_callers_hang_up(
    points: InMemoryMetricReader, caplog: pytest.LogCaptureFixture
) -> None:
    """Seen to fail when what is cancelled says nothing of a model: 14 questions, and not a line."""
    caplog.set_level(logging.INFO, "sidemirror_server.models.telemetry")
    talk = Talk()
    for _ in range(6):
        talk.ask(4.0, asyncio.CancelledError())
    assert told(points) == {("critique", "cancelled"): 2, ("critique", "unanswered"): 4}
    (line,) = [vars(one) for one in caplog.records]
    assert (line["message"], line["status"], line["model"]) == ("model_failed", "unanswered", "m")
    assert [(one.failed_count, one.status) for one in talk.questions.outages()] == [(4, "unanswered")]
    assert line["reason"] == "its callers hung up: no answer in 10 s of waiting and more"
    talk.ask(1.0)
    talk.ask(4.0, asyncio.CancelledError())
    assert told(points)["critique", "cancelled"] == 3
    assert [one.message for one in caplog.records] == ["model_failed", "model_answers_again"]


def test_what_fails_now_is_known_until_it_answers() -> None:
    """By model and purpose; what is not the model's fault changes nothing."""
    talk = Talk()
    assert talk.questions.answered_us(Purpose.CRITIQUE.value) == 0
    talk.ask(1.0)
    answered_us = talk.clock.now_us()
    assert talk.questions.outages() == ()
    talk.ask(1.0, FAILED)
    assert talk.questions.answered_us(Purpose.CRITIQUE.value) == answered_us
    talk.ask(2.0, ModelFailed(ResultStatus.SKIPPED_SPEND, "a cap is reached"))
    talk.ask(1.0, ModelFailed(ResultStatus.REFUSED, "no"))
    (outage,) = talk.questions.outages()
    assert (outage.purpose, outage.provider, outage.model) == (Purpose.CRITIQUE, "test", "m")
    assert (outage.failed_count, outage.status) == (2, "refused")
    assert outage.last_us - outage.first_us == 3_000_000
    talk.ask(1.0)
    assert talk.questions.outages() == ()


def test_what_it_answers_of_others_is_known_of_what_it_failed() -> None:
    """Until it fails this purpose beside them: then the purpose is what fails. Seen to fail without it: a model that
    was mended stayed accused until a question of each purpose."""

    def others_us() -> list[int]:
        return [one.answered_others_us for one in talk.questions.outages()]

    def answer_another(model: str = "m") -> None:
        with talk.questions.asked(SCOPE, Purpose.DREAMING, "test", model):
            talk.clock.advance(1.0)

    talk = Talk()
    talk.ask(1.0, FAILED)
    answer_another("of another name")
    assert others_us() == [0]
    answer_another()
    first_us = talk.clock.now_us()
    answer_another()
    assert others_us() == [first_us]
    talk.ask(1.0, FAILED)
    answer_another()
    assert others_us() == [0]
    talk.ask(1.0)
    talk.ask(1.0, FAILED)
    answer_another()
    assert others_us() == [talk.clock.now_us()]


async def test_what_a_resting_model_was_not_asked_is_no_failure(points: InMemoryMetricReader, tmp_path: Path) -> None:
    """Seen to fail when what the breaker turns away counts."""
    again = ModelFailed(ResultStatus.FAILED_MODEL, "as told", retryable=True, retry_after_s=0.0, usage=NOTHING)
    async with desk(tmp_path, clock=SetClock()) as on:
        on.model.failures = [again] * 5
        for number in range(6):
            with pytest.raises(ModelFailed):
                await on.gateway.ask(SCOPE, question(number), 10.0)
        (outage,) = on.gateway.questions.outages()
    assert len(on.model.asked) == 5
    assert told(points) == {
        ("mid_turn_reflection", "failed_model"): 2,
        ("mid_turn_reflection", "skipped_resting"): 4,
    }
    assert outage.failed_count == 2


async def test_what_a_resting_embedder_was_not_asked_is_no_failure(
    points: InMemoryMetricReader, tmp_path: Path
) -> None:
    again = ModelFailed(ResultStatus.FAILED_MODEL, "as told", retryable=True)
    async with desk(tmp_path) as made:
        model = Embedder()
        embedder = PaidEmbedder(model, Prices(model.provider, model.name, None, PRICE), 2, made.spending, made.clock)
        model.failures = [again] * 5
        for _ in range(8):
            with pytest.raises(ModelFailed):
                await embedder.embed(SCOPE, ("a",), 10.0)
    assert told(points) == {("memory_embedding", "failed_model"): 5, ("memory_embedding", "skipped_resting"): 3}


@pytest.mark.parametrize("answer", [None, ModelFailed(ResultStatus.FAILED_PARSE, "no JSON")])
def test_a_model_that_answers_others_is_not_silent(
    answer: ModelFailed | None, points: InMemoryMetricReader, caplog: pytest.LogCaptureFixture
) -> None:
    talk = Talk()
    for _ in range(6):
        talk.ask(4.0, asyncio.CancelledError())
        talk.ask(0.5, answer)
    assert told(points)["critique", "cancelled"] == 6
    assert "unanswered" not in caplog.text


def test_questions_side_by_side_wait_once_and_pauses_do_not_count(points: InMemoryMetricReader) -> None:
    """Ten callers who hang up after a second are a second without an answer. Seen to fail when each of them counts, and
    when the time between questions does."""
    talk = Talk()
    for _ in range(3):
        side_by_side = [talk.asked() for _ in range(10)]
        for one in side_by_side:
            one.__enter__()
        talk.clock.advance(1.0)
        for one in side_by_side:
            with contextlib.suppress(asyncio.CancelledError):
                one.__exit__(asyncio.CancelledError, asyncio.CancelledError(), None)
        talk.clock.advance(60.0)
    assert told(points) == {("critique", "cancelled"): 30}


def test_questions_that_overlap_wait_from_the_first_one_on(points: InMemoryMetricReader) -> None:
    """Seen to fail when each new question begins the wait anew."""
    talk = Talk()
    first, second = talk.asked(), talk.asked()
    first.__enter__()
    talk.clock.advance(6.0)
    second.__enter__()
    talk.clock.advance(6.0)
    with contextlib.suppress(asyncio.CancelledError):
        first.__exit__(asyncio.CancelledError, asyncio.CancelledError(), None)
    assert told(points) == {("critique", "unanswered"): 1}
    second.__exit__(None, None, None)
    talk.ask(1.0, asyncio.CancelledError())
    assert told(points)["critique", "cancelled"] == 1


async def test_a_slow_ledger_is_no_silent_model(
    points: InMemoryMetricReader, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """No question leaves the sidecar. Seen to fail when the wait for the ledger counts as one for the model."""
    switch, clock = Switch(), SetClock()
    async with desk(tmp_path, clock=clock) as on:

        async def hang_up(number: int, begun: Callable[[], int]) -> None:
            before = begun()
            asked = asyncio.create_task(on.gateway.ask(SCOPE, question(number), 60.0))
            await until(lambda: begun() > before)
            clock.advance(6.0)
            asked.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asked

        put_before(on.ledger, switch)
        switch.turn(Fault.HANGS)
        for number in range(4):
            await hang_up(number, lambda: switch.writes)
        assert on.model.asked == []
        assert on.gateway.questions.outages() == ()
        assert "model_failed" not in caplog.text
        switch.turn(Fault.NONE)
        on.model.gate.clear()
        for number in (4, 5):
            await hang_up(number, lambda: len(on.model.asked))
        (outage,) = on.gateway.questions.outages()
    assert outage.status == "unanswered"
    assert told(points) == {("mid_turn_reflection", "cancelled"): 5, ("mid_turn_reflection", "unanswered"): 1}
