"""The Rust client names its calls one by one: every RPC of the contract is there, as what it is. And its own tests."""

import re
import subprocess

import pytest
from google.protobuf.descriptor import MethodDescriptor

from sidemirror_client.client import SERVICES
from tests.clients.languages import CLIENTS, LANGUAGES, ready

# The turn helper speaks it.
_ELSEWHERE = {"RunTurn"}


def kinds_of(method: MethodDescriptor) -> set[str]:
    """What calls.rs may call it: a stream, or a unary call with or without a request_id."""
    if method.client_streaming:
        return {"send_stream"}
    named = "request_id" in method.input_type.fields_by_name
    if method.server_streaming:
        return {"work"} if named else {"watch", "read_stream"}
    return {"write", "ask"} if named else {"read", "judge"}


def test_every_rpc_is_there_as_what_it_is() -> None:
    """Seen to fail when a read is called a write, and without one of the lines."""
    lines = re.findall(r"^        (\w+) \w+\((\w+)Request\)", (CLIENTS / "rust/src/calls.rs").read_text(), re.MULTILINE)
    there = {name: kind for kind, name in lines}
    methods = [method for service in SERVICES for method in service.methods if method.name not in _ELSEWHERE]
    assert {method.name for method in methods} == set(there)
    assert [method.name for method in methods if there[method.name] not in kinds_of(method)] == []


@pytest.mark.slow("a client is built")
@pytest.mark.timeout(600)
def test_what_it_does_where_no_sidecar_is() -> None:
    """clients/rust/tests. Java's tests of that kind run while it is built."""
    ready(next(language for language in LANGUAGES if language.name == "rust"))
    command = ("cargo", "test", "--quiet", "--locked")
    ran = subprocess.run(command, cwd=CLIENTS / "rust", capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-4000:]
