"""What the spans of a framework's agent have taught reaches that agent in its next run: by the tools of MCP that it
has, and by hooks that it is attached by. The frameworks and their exporters are real; the model is scripted."""

import json
from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.http.hooks.projects import project_of
from sidemirror_server.memory.recoveries import moves
from tests.faults.clocks import Moved
from tests.http.sidecars import token_of
from tests.telemetry_in.agents.shell import ANSWER, AT_A_LOSS, BAD, FAILURE, GOOD, LOOK_UP
from tests.telemetry_in.received import HOUR_S, recorded, takes_spans, until
from tests.telemetry_in.scripted import Called, Script, scripted
from tests.telemetry_in.setups import WITH_TEXTS, Destination, Setup, run
from tests.wire.sidecar import SidecarThread

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

ADK = Setup("google_adk_with_mcp.py", ("google-adk", "mcp"), WITH_TEXTS)
LANGCHAIN = Setup(
    "langchain_with_hooks.py", ("langchain", "langchain-openai", "openinference-instrumentation-langchain")
)
# The tries that the gate asks for.
SUPPORT = 5
SENTENCE = f"In {SUPPORT} of {SUPPORT} earlier tries the call worked after `.tables`."
_KNOWING = (BAD, LOOK_UP, GOOD)


def bash(command: str) -> Called:
    return Called("Bash", {"command": command})


def knows(results: list[str]) -> Called | str:
    """A model that repairs its failure by itself."""
    return bash(_KNOWING[len(results)]) if len(results) < len(_KNOWING) else ANSWER


def goes_by(results: list[str], told_at: int) -> Called | str:
    """A model that repairs its failure only if that result tells it how."""
    if len(results) > told_at and SENTENCE not in results[told_at]:
        return AT_A_LOSS
    return bash(_KNOWING[len(results) - told_at]) if len(results) < told_at + len(_KNOWING) else ANSWER


def asks_by_mcp(results: list[str]) -> Called | str:
    if len(results) == 1:
        arguments = json.dumps({"command": BAD})
        return Called("what_worked", {"tool": "Bash", "error_text": results[0], "arguments": arguments})
    return goes_by(results, told_at=1) if results else bash(BAD)


def hears_at_the_call(results: list[str]) -> Called | str:
    return goes_by(results, told_at=0)


def told(server: SidecarThread, project_id: str) -> list[str]:
    with grpc.insecure_channel(server.address) as channel:
        stub = ReflectiveMemoryServiceStub(channel)
        arguments = json.dumps({"command": BAD})
        request = pb.FindRecoveriesRequest(project_id=project_id, tool="Bash", error_text=FAILURE, arguments=arguments)
        return [item.text for item in stub.FindRecoveries(request).block.items]


def tries(server: SidecarThread, project_id: str) -> list[tuple[int, int]]:
    """Of each move: its tries without advice, and after it."""
    request = pb.ListRecoveriesRequest(project_id=project_id)
    with grpc.insecure_channel(server.address) as channel:
        found = ReflectiveMemoryServiceStub(channel).ListRecoveries(request).signatures
        (signature,) = (one.signature for one in found)
        request.signature = signature
        (only,) = ReflectiveMemoryServiceStub(channel).ListRecoveries(request).signatures
    return [(one.tries, one.advised_tries) for one in only.moves]


def wait_until_learned(server: SidecarThread, project_id: str, tries: int) -> None:
    request = pb.ListRecoveriesRequest(project_id=project_id)
    with grpc.insecure_channel(server.address) as channel:
        stub = ReflectiveMemoryServiceStub(channel)

        def learned() -> int:
            return sum(one.observation_count for one in stub.ListRecoveries(request).signatures)

        until(learned, lambda count: count == tries)


@pytest.mark.parametrize(
    ("setup", "script"),
    [(ADK, asks_by_mcp), (LANGCHAIN, hears_at_the_call)],
    ids=["google-adk by MCP", "langchain by hooks"],
)
def test_the_first_run_after_enough_conversations_is_told(
    tmp_path: Path, setup: Setup, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the third hour, since two tries an hour count where nobody has a token. After one conversation less it is not
    told. Seen to fail when spans do not arrive."""
    monkeypatch.setattr(moves, "SILENT_FRACTION", 0.0)
    clock = Moved()
    work = tmp_path / "shop"
    work.mkdir()
    project_id = project_of(str(work))
    with takes_spans(tmp_path, clock=clock, limits__http_requests_per_second="5000") as server:
        token, door = token_of(server.folder / "data"), f"http://127.0.0.1:{server.http_port}"
        headers = f"authorization=Bearer%20{token},sidemirror-tenant=default,sidemirror-project={project_id}"
        to = Destination(f"http://127.0.0.1:{server.port}", headers=headers)
        mcp = {"MCP_URL": f"{door}/mcp?project_id={project_id}", "MCP_TOKEN": token}
        hooks = {"HOOK_URL": f"{door}/hooks/claude-code", "HOOK_TOKEN": token, "HOOK_FOLDER": str(work)}

        def runs(says: Script, *conversations: str, **attached: str) -> list[str]:
            with scripted(says) as model:
                return run(setup, to, model, tmp_path, CONVERSATIONS=" ".join(conversations), **mcp, **attached)

        taught = 0
        for conversations in (("c1", "c2"), ("c3", "c4"), ("c5",)):
            clock.advance(HOUR_S)
            assert told(server, project_id) == []
            assert runs(knows, *conversations) == [ANSWER] * len(conversations)
            taught += len(conversations)
            recorded(server.address, ended=taught, project_id=project_id)
            wait_until_learned(server, project_id, taught)
        until(lambda: told(server, project_id), lambda texts: texts == [SENTENCE])
        assert runs(script, "c6", **hooks) == [ANSWER]
        if script is asks_by_mcp:
            # It was told what it did: that confirms nothing.
            until(lambda: tries(server, project_id), lambda counts: counts == [(SUPPORT, 1)])
