"""A failure of git whose repair a sidecar has learned from the hooks of five sessions."""

from pathlib import Path

import grpc
import pytest

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.http.hooks.projects import project_of
from sidemirror_server.memory.recoveries import moves
from tests.http.hooks.players import Player
from tests.memory.talk import event
from tests.wire.sidecar import SidecarThread
from tests.wire.waiting import until

BAD, GOOD = "git checkout feature-x", "git checkout feature-2026-x"
FAILURE = "error: pathspec 'feature-x' did not match any file(s) known to git"
LESSON = "Type the names of subcommands out of `cargo --list`."
SENTENCE = "earlier tries the call worked after `git branch --list`."


def tell_at_once(patched: pytest.MonkeyPatch) -> None:
    """Nothing that was learned is held back by chance."""
    patched.setattr(moves, "SILENT_FRACTION", 0.0)


def learn(server: SidecarThread, kind: type[Player], folder: Path) -> None:
    """Five sessions in which the call fails and works after a look-up. Returns when that may be told."""
    for number in range(5):
        player = kind(server, f"learn{number}", folder)
        player.asks("Switch to the branch of feature x")
        assert player.heard(player.runs(BAD, FAILURE, 1)) == ""
        player.runs("git branch --list", "* main\n  feature-2026-x")
        player.runs(GOOD, "Switched to branch 'feature-2026-x'")
        player.answers("It is on the branch.", again=True)
    request = pb.ListRecoveriesRequest(project_id=project_of(str(folder)))
    with grpc.insecure_channel(server.address) as channel:
        stub = ReflectiveMemoryServiceStub(channel)

        def is_learned() -> bool:
            every = [move for found in stub.ListRecoveries(request).signatures for move in found.moves]
            # The starter pack has another move for this failure.
            return any(move.is_told and move.tries == 5 for move in every)

        until(is_learned)


def lesson_about(server: SidecarThread, tool: str, error: str, project_id: str) -> str:
    """Keeps a lesson about a failing call of a tool; returns the id of its strategy."""
    events = [
        event(pb.EVENT_TYPE_TOOL_CALL, "as it failed", "c", tool_name=tool),
        event(pb.EVENT_TYPE_ERROR_EVENT, error, "e", tool_name=tool),
    ]
    asked = pb.GenerateReflectionRequest(project_id=project_id, events=events, outcome="TASK_OUTCOME_FAILURE")
    with grpc.insecure_channel(server.address) as channel:
        stub = ReflectiveMemoryServiceStub(channel)
        result = stub.GenerateReflection(asked).result
        result.reflection_text, result.strategy_text = "The subcommand was misspelt.", LESSON
        return str(stub.StoreReflection(pb.StoreReflectionRequest(project_id=project_id, result=result)).strategy_id)


def review(server: SidecarThread, memory_id: str, project_id: str) -> None:
    """A person has read the memory, and lets it be told to hosts with a shell."""
    request = pb.ReviewReflectionRequest(project_id=project_id, reflection_id=memory_id, state="MEMORY_STATE_ACTIVE")
    request.reason = "read"
    with grpc.insecure_channel(server.address) as channel:
        ReflectiveMemoryServiceStub(channel).ReviewReflection(request)
