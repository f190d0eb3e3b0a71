"""Texts enter once: what cannot be stored is replaced, and a secret is gone before anything is kept or said."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from sidemirror.v1 import common_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from sidemirror_server.operations.logs import JsonLines
from sidemirror_server.rpc.boundary.limit_table import TABLE, Id
from tests.wire.calls import MEDIUM, called, entries, failed, returned, said, started
from tests.wire.sidecar import sidecar, thinking

# Made up; the part that must never be seen again, and the whole as it is sent.
CANARY = "Qq7Zr2Wk9Xv4Tt1Yp8Lm3Nb6"
SECRET = f"sk-ant-api03-{CANARY}"
# What an agent sees in its own request, or what the contract calls no text.
NOT_TEXTS = {"page_token", "cursor", "paths", "subject_ids"}
METHODS = pb.DESCRIPTOR.services_by_name["ThinkingService"].methods


def is_text(field: Any) -> bool:
    owner = field.containing_type.name if field.containing_type else ""
    rule = TABLE.get(f"{owner}.{field.name}", TABLE.get(field.name))
    is_string = field.cpp_type == FieldDescriptor.CPPTYPE_STRING
    return is_string and field.name not in NOT_TEXTS and not isinstance(rule, Id)


def fill(message: Message, text: str) -> list[str]:
    """Puts `text` into every text of a message, one element into every list; returns the paths that it filled."""
    filled: list[str] = []
    for field in message.DESCRIPTOR.fields:
        if field.containing_oneof and not field.containing_oneof.name.startswith("_"):
            continue  # one arm at a time: `arms_of`
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            continue
        if field.message_type is not None and field.message_type.full_name.startswith("sidemirror."):
            inner = getattr(message, field.name).add() if field.is_repeated else getattr(message, field.name)
            inner.SetInParent()
            filled += (paths := [f"{field.name}.{path}" for path in fill(inner, text)])
            if not paths and isinstance(message, pb.ReflectRequest):
                message.ClearField(field.name)  # a budget is for a reflection without a turn
        elif is_text(field):
            if field.is_repeated:
                getattr(message, field.name).append(text)
            else:
                setattr(message, field.name, text)
            filled.append(field.name)
    return filled


def events(text: str) -> Iterator[pb.TurnEvent]:
    """One event of each kind, its texts filled."""
    kinds = pb.TurnEvent.DESCRIPTOR.oneofs_by_name["kind"].fields
    for arm in kinds:
        if arm.name == "session_named":
            continue  # an id and no text
        event = pb.TurnEvent(agent=text)
        getattr(event, arm.name).SetInParent()
        fill(getattr(event, arm.name), text)
        yield event


def requests(turn_id: str, text: str) -> Iterator[tuple[str, Message]]:
    """A request for every unary write and question that takes a text, with an id and all its texts filled."""
    for method in METHODS:
        request = GetMessageClass(method.input_type)()
        if method.client_streaming or not fill(request, text):
            continue
        if "turn_id" in method.input_type.fields_by_name and method.name != "StartTurn":
            request.turn_id = turn_id  # type: ignore[attr-defined]
        if "request_id" in method.input_type.fields_by_name:
            request.request_id = f"canary {method.name}"  # type: ignore[attr-defined]
        if isinstance(request, pb.ReportEventsRequest):
            del request.events[:]
            request.events.extend(event for event in events(text) if event.WhichOneof("kind") not in _ENDS)
        yield method.name, request


_ENDS = {"turn_started", "turn_finished"}


@pytest.fixture
def log_lines() -> Iterator[list[str]]:
    """Every line that anything in the process logs, as the server would write it."""
    lines: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(self.format(record))

    handler = Kept(logging.DEBUG)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    before = root.level
    root.setLevel(logging.DEBUG)
    root.addHandler(handler)
    yield lines
    root.removeHandler(handler)
    root.setLevel(before)


def texts_of(descriptor: Any) -> int:
    """How many text fields a request has, arms and nested messages included."""
    own = sum(is_text(field) for field in descriptor.fields)
    inner = {
        field.message_type
        for field in descriptor.fields
        if field.message_type and field.message_type.full_name.startswith("sidemirror.")
    }
    return own + sum(texts_of(message) for message in inner)


def test_the_walk_finds_every_text() -> None:
    sent = {name for name, _ in requests("t", "x")}
    with_text = {method.name for method in METHODS if texts_of(method.input_type)}
    assert sent == with_text - {"RunTurn"}
    assert sent == {"StartTurn", "ReportEvents", "Reflect", "GetReflectionPrompt", "GetThinkingPrompt"}
    assert texts_of(pb.TurnEvent.DESCRIPTOR) == 20
    # Without the agent, which every event has.
    assert sum(len(fill_arm(event)) for event in events("x")) == 19


def fill_arm(event: pb.TurnEvent) -> list[str]:
    return fill(getattr(event, event.WhichOneof("kind") or ""), "x")


def test_a_secret_is_seen_nowhere_again(tmp_path: Path, log_lines: list[str]) -> None:
    with sidecar(tmp_path) as server, thinking(server) as stub:
        turn_id = stub.StartTurn(pb.StartTurnRequest(session_id="s", config=MEDIUM)).plan.turn_id
        answers: list[Message] = []
        for name, request in requests(turn_id, f"see {SECRET} there"):
            assert SECRET in str(request)
            answer = getattr(stub, name)(request, timeout=60)
            if name not in {"StartTurn", "GetThinkingPrompt"}:
                answers.append(answer)  # those two give the agent's own prompt back
        stream = pb.RunTurnRequest(events=list(events(f"see {SECRET} there")))
        sent_back = list(stub.RunTurn(iter([stream]), timeout=60))
        answers += sent_back[1:]
        for turn in stub.ListTurns(pb.ListTurnsRequest()).turns:
            answers.append(turn)
            answers += entries(stub, turn.turn_id)
            resumed = pb.RunTurnRequest(resume=pb.TurnResume(turn_id=turn.turn_id))
            answers += list(stub.RunTurn(iter([resumed]), timeout=60))
            if turn.state == pb.TURN_STATE_OPEN:
                answers.append(stub.Reflect(pb.ReflectRequest(turn_id=turn.turn_id)))
                answers.append(stub.GetReflectionPrompt(pb.GetReflectionPromptRequest(turn_id=turn.turn_id)))
                answers.append(stub.FinishTurn(pb.FinishTurnRequest(turn_id=turn.turn_id)))
        answers += stub.WatchTurns(pb.WatchTurnsRequest(follow=False))
        answers += stub.ListSessions(pb.ListSessionsRequest()).sessions
        told = "".join(map(str, answers))
        assert "[redacted:" in told
        assert CANARY not in told
        files = {path: path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file()}
        assert len(files) >= 2, "the database and its WAL"
        kept = b"".join(files.values())
        assert b"[redacted:" in kept
        assert CANARY.encode() not in kept
    kept = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    assert b"[redacted:" in kept
    assert CANARY.encode() not in kept
    assert len(log_lines) > 0
    assert CANARY not in "".join(log_lines)


def test_what_was_redacted_in_a_call_is_redacted_in_its_end(tmp_path: Path) -> None:
    """A value that nothing but its name shows to be a secret, in what later requests report of the call."""
    arguments, told = '{"password": "hunter2"}', "404: not found: hunter2"
    ends = [returned(told, "1", is_error=True), failed(told, "2"), returned(told)]
    calls = [called("login", arguments, call_id) for call_id in ("1", "2", "")]
    with sidecar(tmp_path) as server, thinking(server) as stub:
        stub.StartTurn(pb.StartTurnRequest(turn_id="unary", config=MEDIUM))
        for event in [*calls, *ends]:
            stub.ReportEvents(pb.ReportEventsRequest(turn_id="unary", events=[event]), timeout=60)
        stub.StartTurn(pb.StartTurnRequest(turn_id="together", config=MEDIUM))
        stub.ReportEvents(pb.ReportEventsRequest(turn_id="together", events=[*calls, *ends]), timeout=60)
        stream = [pb.RunTurnRequest(events=[event]) for event in [started(), *calls, *ends]]
        stream[0].events[0].turn_id = "stream"
        list(stub.RunTurn(iter(stream), timeout=60))
        for turn_id in ("unary", "together", "stream"):
            found = [entry.event for entry in entries(stub, turn_id)]
            contents = [event.tool_returned.content or event.tool_failed.error for event in found]
            assert list(filter(None, contents)) == ["404: not found: [redacted:value]"] * 3, turn_id
        result = common_pb2.ToolResult(name="login", arguments=arguments, content=told)
        asked = pb.GetReflectionPromptRequest(turn_id="unary", tool_results=[result])
        assert "hunter2" not in stub.GetReflectionPrompt(asked).prompt
        assert b"hunter2" not in b"".join(
            path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file()
        )


def test_a_refused_request_is_not_repeated_in_the_log_or_the_answer(
    stub: ThinkingServiceStub, log_lines: list[str]
) -> None:
    request = pb.StartTurnRequest(task=SECRET, provider=f"{SECRET} {'p' * 300}")
    with pytest.raises(Exception, match="INVALID_ARGUMENT") as caught:
        stub.StartTurn(request)
    assert CANARY not in str(caught.value)
    assert CANARY not in "".join(log_lines)


START: dict[str, Callable[[ThinkingServiceStub, dict[str, Any]], pb.TurnPlan]] = {
    "StartTurn": lambda stub, fields: stub.StartTurn(pb.StartTurnRequest(**fields), timeout=60).plan,
    "RunTurn": lambda stub, fields: next(
        stub.RunTurn(
            iter(
                [
                    pb.RunTurnRequest(
                        request_id=fields.pop("request_id"),
                        events=[pb.TurnEvent(turn_id=fields.pop("turn_id"), turn_started=pb.TurnStarted(**fields))],
                    )
                ]
            ),
            timeout=60,
        )
    ).directives[0].turn_plan,
}  # fmt: skip


@pytest.mark.parametrize("method", START)
def test_the_agents_own_prompt_comes_back_as_it_was(stub: ThinkingServiceStub, method: str) -> None:
    own = f"Use the key {SECRET}\0 and say so."
    told = f"{own}\n\n## Thinking Instructions\nWrap your reasoning in <think>...</think> before your answer."

    def start() -> pb.TurnPlan:
        fields = {"request_id": method, "turn_id": method, "base_prompt": own, "config": MEDIUM, "session_id": method}
        return START[method](stub, fields)

    plan = start()
    assert plan.system_prompt == told
    # The same request is answered the same, though what is kept of it holds no secret.
    assert start() == plan
    kept = entries(stub, method)
    assert CANARY not in str(kept)
    assert kept[1].directive.turn_plan.system_prompt.startswith("Use the key sk-ant-")
    assert "\ufffd and say so." in kept[0].event.turn_started.base_prompt
    prompt = stub.GetThinkingPrompt(pb.GetThinkingPromptRequest(base_prompt=own, level=pb.THINK_LEVEL_MEDIUM)).prompt
    assert prompt == told


def test_what_cannot_be_stored_is_replaced(stub: ThinkingServiceStub) -> None:
    turn_id = stub.StartTurn(pb.StartTurnRequest(task="a\0b")).plan.turn_id
    stub.ReportEvents(pb.ReportEventsRequest(turn_id=turn_id, events=[said("\0"), failed("x\0y \U0001f600 \u202e z")]))
    found = entries(stub, turn_id)
    assert found[0].event.turn_started.task == "a\ufffdb"
    assert found[2].event.user_message.text == "\ufffd"
    assert found[3].event.tool_failed.error == "x\ufffdy \U0001f600 \u202e z"
    assert stub.GetTurn(pb.GetTurnRequest(turn_id=turn_id)).turn.task == "a\ufffdb"
    result = common_pb2.ToolResult(name="n\0", content="c\0")
    request = pb.GetReflectionPromptRequest(turn_id=turn_id, tool_results=[result])
    assert "\0" not in stub.GetReflectionPrompt(request).prompt
