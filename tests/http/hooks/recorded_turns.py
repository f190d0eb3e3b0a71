"""A repository that a host works in, and what the sidecar recorded of it."""

from pathlib import Path

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.http.hooks.projects import project_of
from tests.wire.sidecar import SidecarThread, thinking

# The answer that the built-in rules find wrong: the tools said something else.
WRONG = "Done: I have switched to feature-x, and all 12 tests passed."

SETTINGS = {"hooks__revise": "true", "limits__http_requests_per_second": "10000"}


def made(folder: Path) -> Path:
    folder.mkdir()
    (folder / ".git").mkdir()
    return folder


def turns(server: SidecarThread, folder: Path) -> list[pb.Turn]:
    """The turns of the folder's project, the oldest first."""
    with thinking(server) as stub:
        return list(stub.ListTurns(pb.ListTurnsRequest(project_id=project_of(str(folder)))).turns)[::-1]


def told(turn: pb.Turn) -> tuple[str, str, int]:
    return turn.task, pb.TurnState.Name(turn.state).removeprefix("TURN_STATE_"), turn.event_count
