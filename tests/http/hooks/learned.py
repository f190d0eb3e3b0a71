"""A failure of git whose repair a sidecar has learned from the hooks of five sessions."""

from pathlib import Path

import grpc

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.http.hooks.projects import project_of
from tests.http.hooks.players import Player
from tests.wire.sidecar import SidecarThread
from tests.wire.waiting import until

BAD, GOOD = "git checkout feature-x", "git checkout feature-2026-x"
FAILURE = "error: pathspec 'feature-x' did not match any file(s) known to git"
SENTENCE = "earlier tries the call worked after `git branch --list`."


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
        until(lambda: any(move.is_told for one in stub.ListRecoveries(request).signatures for move in one.moves))
