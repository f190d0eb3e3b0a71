"""A secret in every text of every request of ReflectiveMemoryService, answered or refused, is said and kept nowhere.

The requests are made from the contract's descriptors, so that one that is added later is sent too. Ids are no texts:
they stay as they are.
"""

import logging
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from tests.critique.cast import Cast
from tests.memory.talk import listed, played
from tests.wire.calls import TIMEOUT_S
from tests.wire.test_memory_trust import MARK, copied, fill

METHODS = pb.DESCRIPTOR.services_by_name["ReflectiveMemoryService"].methods
# What stands in the way of a request that is filled in everywhere: of several ways to say something one is allowed.
ONE_OF = {
    "GenerateReflectionRequest": ("turn_id",),
    "ReportOutcomeRequest": ("error_category",),
}


def told(stub: ReflectiveMemoryServiceStub, name: str, request: Message, *, is_stream: bool) -> tuple[str, str]:
    """The status of a call, and all that it said."""
    method: Any = getattr(stub, name)
    try:
        answer = method(request, timeout=TIMEOUT_S)
        answers = list(answer) if is_stream else [answer]
    except grpc.RpcError as error:
        call: Any = error
        return call.code().name, f"{call.details()} {call.trailing_metadata()} {call.debug_error_string()}"
    return "OK", "".join(map(str, answers))


def requests(memory_id: str, receipt_id: str) -> list[tuple[str, Message, bool]]:
    """One of each kind, about what there is."""
    found = []
    for method in METHODS:
        if method.client_streaming:
            continue  # ImportReflections: test_memory_trust.py
        request: Any = GetMessageClass(method.input_type)()
        fill(request)
        for name in ONE_OF.get(method.input_type.name, ()):
            request.ClearField(name)
        for name, value in (("reflection_id", memory_id), ("receipt_id", receipt_id)):
            if name in method.input_type.fields_by_name:
                setattr(request, name, value)
        if "reflection_ids" in method.input_type.fields_by_name:
            request.reflection_ids[:] = [memory_id]
        found.append((method.name, request, method.server_streaming))
    return found


def test_every_request_answered_or_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Seen to fail when `rpc/memory/update_reflection.py` takes texts as they come."""
    caplog.set_level(logging.DEBUG)
    codes: dict[str, str] = {}
    with played(tmp_path, Cast(memory_reflection=copied)) as stub:
        result = pb.ReflectionResult(reflection_text="Add indexes on join columns.")
        stored = stub.StoreReflection(pb.StoreReflectionRequest(result=result), timeout=TIMEOUT_S)
        asked = pb.BuildMemoryContextRequest(task="join columns without indexes")
        receipt_id = stub.BuildMemoryContext(asked, timeout=TIMEOUT_S).block.receipt_id
        assert receipt_id
        every = requests(stored.reflection_id, receipt_id)
        # What deletes comes last.
        for name, request, is_stream in sorted(every, key=lambda one: one[0].startswith("Delete")):
            codes[name], said = told(stub, name, request, is_stream=is_stream)
            assert MARK not in said, name
            request.tenant_id = "\n"  # type: ignore[attr-defined]
            code, said = told(stub, name, request, is_stream=is_stream)
            assert code == "INVALID_ARGUMENT", name
            assert MARK not in said, f"{name}, refused"
        assert MARK not in str(listed(stub))
    assert len(codes) == len(METHODS) - 1
    # All are answered but a link that would lead nowhere, or the walk would show nothing.
    assert {name for name, code in codes.items() if code != "OK"} == {"LinkReflections"}
    for path in (path for path in tmp_path.rglob("*") if path.is_file()):
        assert MARK.encode() not in path.read_bytes(), path.name
    assert caplog.records
    for record in caplog.records:
        assert MARK not in f"{record.getMessage()} {vars(record)}"
