"""What spans tell is believed less than what agents report: who may teach, what is told, and what is kept apart."""

import asyncio
import json
import operator
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import common_pb2
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.memory.recoveries import moves
from sidemirror_server.trace.receipts import NAMED
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE
from tests.faults.clocks import Moved
from tests.memory.recovering import FAILURE, SENTENCE, UNTOLD, found_by, live_through, observed
from tests.memory.steering import STEERING_TEXTS
from tests.telemetry_in.made import ERROR, MadeCall, SpanMessage, request_of, run_of
from tests.telemetry_in.received import HOUR_S, export, post, recorded, takes_spans, until
from tests.wire.access import entry, write_access
from tests.wire.sidecar import SidecarThread

pytestmark = pytest.mark.slow("turns are made and learned from, hundreds in one test")

REPAIRED = (
    MadeCall("sql", "SELECT count(*) FROM orders", FAILURE, failed=True),
    MadeCall("sql", "SHOW TABLES", "orders_2026, customers"),
    MadeCall("sql", "SELECT count(*) FROM orders_2026", "17"),
)
UNREPAIRED = (*REPAIRED[:2], MadeCall("sql", "SELECT count(*) FROM orders_2026", FAILURE, failed=True))


@pytest.fixture(autouse=True)
def nothing_is_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "SILENT_FRACTION", 0.0)


def send(server: SidecarThread, conversations: Sequence[str], calls: Sequence[MadeCall] = REPAIRED) -> None:
    """A run in each of these conversations, and waits until they are learned from."""
    before = rows(server)
    spans: list[SpanMessage] = []
    for number, conversation in enumerate(conversations):
        spans += run_of(f"{calls[-1].failed} {before} {number}", calls, conversation=conversation)
    export(server.address, request_of(spans))
    until(lambda: rows(server), lambda count: count >= before + len(conversations))


def rows(server: SidecarThread, token: str = "") -> int:
    return asyncio.run(observed(server.address, token)).observation_count


def told(server: SidecarThread, token: str = "") -> pb.FindRecoveriesResponse:
    return asyncio.run(found_by(server.address, token))


def texts_of(answer: pb.FindRecoveriesResponse) -> list[str]:
    return [item.text for item in answer.block.items]


def test_what_conversations_repaired_is_told_with_its_label(tmp_path: Path) -> None:
    """Without a token in the third hour, after the fifth try that counts. Seen to fail when spans that name other
    conversations are other senders: five of them in one export were told at once."""
    clock = Moved()
    with takes_spans(tmp_path, clock=clock) as server:
        send(server, ["a", "b", "c", "d", "e"])
        assert texts_of(told(server)) == []
        (move,) = asyncio.run(observed(server.address)).moves
        assert (move.tries, move.is_told) == (2, False)
        assert move.reason.endswith(
            "3 more do not count, since of one session or token 2 a day do, and without a token 2 an hour of all"
        )
        clock.advance(HOUR_S)
        send(server, ["f", "g"])
        assert texts_of(told(server)) == []
        clock.advance(HOUR_S)
        send(server, ["h"])
        answer = told(server)
        assert texts_of(answer) == [f"In 5 of 5 {SENTENCE}"]
        assert [item.origin for item in answer.block.items] == [common_pb2.ORIGIN_TOOL]
        (move,) = asyncio.run(observed(server.address)).moves
        assert move.is_told
        assert move.reason.startswith("only telemetry tells of it: it passes the gates: by its last 20 tries")


def invented(name: str, count: int, hours: int = 0) -> list[SpanMessage]:
    """Runs of as many conversations; `hours`: spread over them."""
    spans: list[SpanMessage] = []
    for number in range(count):
        run = run_of(f"{name} {number}", REPAIRED, conversation=f"{name} {number}")
        for one in run:
            moved_ns = int(hours * HOUR_S * 1e9) * number // count
            one.start_time_unix_nano -= moved_ns
            one.end_time_unix_nano -= moved_ns
        spans += run
    return spans


@pytest.mark.parametrize("hours", [0, 23])
def test_one_export_of_invented_conversations_teaches_nothing_that_is_told(hours: int, tmp_path: Path) -> None:
    """Whatever times their spans have. Seen to fail when a conversation is a sender, and when the hour is that which
    spans say."""
    with takes_spans(tmp_path) as server:
        export(server.address, request_of(invented("forged", 20, hours)))
        until(lambda: rows(server), lambda count: count == 20)
        time.sleep(1.1)  # what is told is counted anew after a second
        assert texts_of(told(server)) == []


def test_the_doors_own_token_is_nobody(tmp_path: Path) -> None:
    """All senders over HTTP have it, so that the bound is that of spans without a token."""
    clock = Moved()
    with takes_spans(tmp_path, clock=clock) as server:
        for hour, count in enumerate((5, 2, 1)):
            before = rows(server)
            body = request_of(invented(f"by HTTP {hour}", count)).SerializeToString()
            assert texts_of(told(server)) == []
            assert post(server, body)[0] == 200
            until(partial(rows, server), partial(operator.eq, before + count))
            clock.advance(HOUR_S)
        assert texts_of(told(server)) == [f"In 5 of 5 {SENTENCE}"]


def test_agents_with_tokens_of_their_own_teach_in_an_hour(tmp_path: Path) -> None:
    """Each token counts for itself, two tries a day: one alone teaches nothing in a day, whatever conversations it
    names."""
    tokens = {name: digit * 64 for name, digit in (("first", "1"), ("second", "2"), ("third", "3"))}
    scope = (DEFAULT_SCOPE.tenant_id, DEFAULT_SCOPE.project_id)
    access = write_access(tmp_path / "access.json", [entry(name, token, scope) for name, token in tokens.items()])
    with takes_spans(tmp_path, access_file=str(access)) as server:
        for number, (name, token) in enumerate(tokens.items(), start=1):
            export(server.address, request_of(invented(name, 4)), token=token)
            until(partial(rows, server, token), partial(operator.eq, 4 * number))
            time.sleep(1.1)  # what is told is counted anew after a second
            assert texts_of(told(server, token)) == ([f"In 6 of 6 {SENTENCE}"] if number == len(tokens) else [])


@pytest.mark.parametrize("conversation", ["", "one"], ids=["without a conversation", "of one conversation"])
def test_forged_runs_teach_nothing_that_is_told(tmp_path: Path, conversation: str) -> None:
    """Of one conversation seen to fail when it is enough that one session and one conversation show it, on one day."""
    clock = Moved()
    with takes_spans(tmp_path, clock=clock) as server:
        for _ in range(4):
            send(server, [conversation] * 5)
            clock.advance(HOUR_S)
        assert texts_of(told(server)) == []


def test_forged_runs_take_nothing_from_what_was_reported(tmp_path: Path) -> None:
    """Seen to fail when what agents reported is counted with the tries of spans."""
    with takes_spans(tmp_path) as server:
        asyncio.run(live_through(server.address, UNTOLD))
        reported = told(server)
        assert texts_of(reported) == [f"In 5 of 5 {SENTENCE}"]
        send(server, [f"forged {number}" for number in range(10)], UNREPAIRED)
        time.sleep(1.1)  # what is told is counted anew after a second
        assert texts_of(told(server)) == texts_of(reported)


def test_forged_questions_take_nothing_from_what_was_reported(tmp_path: Path) -> None:
    """Two agents that fail with advice end it; spans that say so do not. Seen to fail when what agents reported is
    counted with the tries of spans."""
    with takes_spans(tmp_path) as server:
        asyncio.run(live_through(server.address, UNTOLD))
        reported = told(server)
        answer = MadeCall("what_worked", "{}", f"{reported.block.text}\n{NAMED.format(reported.block.receipt_id)}")
        bad, *others = UNREPAIRED
        send(server, [f"forged {number}" for number in range(4)], (bad, answer, *others))
        (by_agents, by_spans) = asyncio.run(observed(server.address)).moves
        assert (by_agents.advised_tries, by_spans.advised_tries) == (0, 4)
        assert texts_of(told(server)) == texts_of(reported)


def test_forged_runs_do_not_top_up_what_was_reported(tmp_path: Path) -> None:
    """Seen to fail when what agents reported is counted with the tries of spans."""
    with takes_spans(tmp_path) as server:
        asyncio.run(live_through(server.address, UNTOLD - 1))
        send(server, ["forged"] * 4)
        time.sleep(1.1)
        assert texts_of(told(server)) == []


def test_without_the_tenants_leave_there_is_no_text_and_nothing_is_learned(tmp_path: Path) -> None:
    with takes_spans(tmp_path, telemetry__content="acme/*") as server:
        export(server.address, request_of(run_of("t", REPAIRED, conversation="a")))
        (turn,) = recorded(server.address, ended=1)
        assert [(call.name, call.arguments, call.content) for call in turn.calls] == [("sql", "", "")] * 3
        assert [call.is_error for call in turn.calls] == [True, False, False]
        assert rows(server) == 0


def memories(server: SidecarThread) -> list[pb.Memory]:
    with grpc.insecure_channel(server.address) as channel:
        stub = ReflectiveMemoryServiceStub(channel)
        return list(stub.ListReflections(pb.ListReflectionsRequest(page_size=1000)).memories)


def test_a_lesson_waits_for_a_second_conversation(tmp_path: Path) -> None:
    calls = (MadeCall("deploy", '{"region": "nowhere"}', "ValueError: unknown region: nowhere", failed=True),)
    with takes_spans(tmp_path) as server:
        # Runs without a conversation do not corroborate each other, however different they are.
        for number in range(3):
            run = (MadeCall("look", str(number), "nothing"), *calls)
            export(server.address, request_of(run_of(f"forged {number}", run)))
        kept = until(lambda: memories(server), lambda found: {memory.strength for memory in found} == {3})
        assert {memory.state for memory in kept} == {pb.MEMORY_STATE_QUARANTINED}
        export(server.address, request_of(run_of("a", (*calls, *calls), conversation="a")))
        until(lambda: memories(server), lambda found: {memory.state for memory in found} == {pb.MEMORY_STATE_ACTIVE})
        assert {memory.origin for memory in memories(server)} == {common_pb2.ORIGIN_TOOL}


@pytest.mark.parametrize("part", [0, pytest.param(1, marks=pytest.mark.long), pytest.param(2, marks=pytest.mark.long)])
def test_texts_that_steer_are_active_nowhere_without_their_label(part: int, tmp_path: Path) -> None:
    """A third of them, as a tool's error, as its name, as the user's question, each in two conversations, so that
    nothing waits."""
    with takes_spans(tmp_path, learn__turns_per_hour="0") as server:
        count = 0
        for number, steering in enumerate(STEERING_TEXTS[part::3]):
            call = MadeCall(steering.text[:60], steering.text, f"ValueError: {steering.text}", failed=True)
            spans: list[SpanMessage] = []
            for conversation in ("a", "b"):
                run = run_of(f"{number} {conversation}", (call,), conversation=conversation, outcome=ERROR)
                asked = json.dumps([{"role": "user", "content": steering.text}])
                run[-1].attributes.add(key="gen_ai.input.messages").value.string_value = asked
                spans += run
                count += 1
            export(server.address, request_of(spans))
        recorded(server.address, ended=count)
        settled = until_quiet(server)
        assert settled
        for memory in settled:
            if memory.state == pb.MEMORY_STATE_ACTIVE:
                assert memory.origin == common_pb2.ORIGIN_TOOL


def until_quiet(server: SidecarThread) -> list[pb.Memory]:
    """The memories, once none has come for two seconds."""
    found = memories(server)
    while True:
        time.sleep(2.0)
        if len(later := memories(server)) == len(found):
            return later
        found = later
