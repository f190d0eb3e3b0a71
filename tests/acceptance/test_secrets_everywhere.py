"""Secrets of every kind, in every text of every kind of event, through a real `serve`: none is in its rows, its log,
its spans, its metrics, its errors or its answers."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_server.rpc.boundary.limit_table import TABLE, Text
from tests.acceptance.product import serving
from tests.acceptance.test_tracing import Collector, collector  # noqa: F401 - a fixture
from tests.operations.scrape import metrics_address, text_of
from tests.vocabulary.made_secrets import CUTS, NAMED, PLACES, made, tokens
from tests.wire.calls import MEDIUM, entries
from tests.wire.test_text_entry import is_text

TIMEOUT_S = 60.0
SERVICE = "sidemirror.v1.ThinkingService"
# What a secret is known by, from its end: an id or an address may stay before it.
MARK_CHARS = 8


def texts(places: list[str]) -> dict[str, tuple[str, list[str]]]:
    """For each place a text with one secret of every kind, and their marks."""
    found: dict[str, tuple[str, list[str]]] = {}
    for number, place in enumerate(places):
        draw = random.Random(number)
        if place == "named":
            values = {name: made(form, draw) for name, (_, form) in NAMED.items()}
            said = [NAMED[name][0].format(value) for name, value in values.items()]
        else:
            values = tokens(number)
            said = [_in(place, token) for token in values.values()]
        found[place] = "\n\n".join(said), [value[-MARK_CHARS:] for value in values.values()]
    return found


def _in(place: str, token: str) -> str:
    middle = len(token) // 2
    return PLACES[place](token) if place in PLACES else CUTS[place](token[:middle], token[middle:])


def fill(message: Message, long: str, short: str) -> None:
    """Puts a text into every text of a message, as long as it may be, one element into every list."""
    for field in message.DESCRIPTOR.fields:
        if field.message_type is not None and field.message_type.full_name.startswith("sidemirror."):
            inner = getattr(message, field.name).add() if field.is_repeated else getattr(message, field.name)
            inner.SetInParent()
            fill(inner, long, short)
        elif is_text(field):
            rule: Any = TABLE.get(f"{message.DESCRIPTOR.name}.{field.name}", TABLE.get(field.name))
            is_short = isinstance(rule, Text) and rule.chars is not None and rule.chars < len(long)
            text = short if is_short else long
            if field.is_repeated:
                getattr(message, field.name).append(text)
            else:
                setattr(message, field.name, text)


def events(long: str, short: str) -> Iterator[pb.TurnEvent]:
    """One event of each kind that may be reported and has texts, filled."""
    for arm in pb.TurnEvent.DESCRIPTOR.oneofs_by_name["kind"].fields:
        if arm.name not in {"turn_started", "turn_finished", "session_named"}:
            event = pb.TurnEvent(agent=short)
            getattr(event, arm.name).SetInParent()
            fill(getattr(event, arm.name), long, short)
            yield event


def lived(stub: ThinkingServiceStub, place: str, long: str, short: str) -> Iterator[Any]:
    """A turn with the texts in all that it says; what is answered, the agent's own prompt aside."""
    start = pb.StartTurnRequest(turn_id=place, session_id=place, config=MEDIUM, task=long, base_prompt=long)
    start.user_message, start.provider = long, short
    stub.StartTurn(start, timeout=TIMEOUT_S)
    yield stub.ReportEvents(pb.ReportEventsRequest(turn_id=place, events=list(events(long, short))), timeout=TIMEOUT_S)
    yield stub.Reflect(pb.ReflectRequest(turn_id=place), timeout=TIMEOUT_S)
    yield stub.FinishTurn(pb.FinishTurnRequest(turn_id=place), timeout=TIMEOUT_S)
    yield from entries(stub, place)
    refused = pb.StartTurnRequest(task=long, provider=short + "p" * 300, turn_id=f"{place} refused")
    with pytest.raises(grpc.RpcError) as caught:
        stub.StartTurn(refused, timeout=TIMEOUT_S)
    yield caught.value


@pytest.mark.parametrize(
    "places",
    [
        pytest.param(["wrapped", "named"], id="some"),
        pytest.param([*PLACES, *CUTS, "named"], id="all", marks=pytest.mark.long),
    ],
)
def test_none_is_left(
    places: list[str],
    tmp_path: Path,
    collector: tuple[Collector, str],  # noqa: F811 - a fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Seen to fail when no token was looked for by its form."""
    kept, endpoint = collector
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
    flags = ("--tracing", "true", "--metrics-address", "127.0.0.1:0", "--log-level", "debug")
    said, marks = [], []
    with serving(tmp_path, "--data-dir", str(tmp_path / "data"), *flags) as server:
        with grpc.insecure_channel(server.address) as channel:
            stub = ThinkingServiceStub(channel)
            for place, (long, of_place) in texts(places).items():
                short = f"x {next(iter(tokens(len(place)).values()))}"
                marks += [*of_place, short[-MARK_CHARS:]]
                said += [str(answer) for answer in lived(stub, place, long, short)]
        kept.wait_for(f"{SERVICE}/Reflect", f"{SERVICE}/FinishTurn")
        rows = b"".join(path.read_bytes() for path in (tmp_path / "data").iterdir())
        told = {"answers": "".join(said).encode(), "metrics": text_of(metrics_address(server.log)).encode()}
        assert server.stop() == 0
    told |= {"rows": rows, "spans": kept.raw, "log": server.log.encode()}
    told["rows at the end"] = b"".join(path.read_bytes() for path in (tmp_path / "data").iterdir())
    assert all(told.values())
    assert b"[redacted:" in told["rows"]
    left = [(where, mark) for where, text in told.items() for mark in marks if mark.encode() in text]
    assert left == []
