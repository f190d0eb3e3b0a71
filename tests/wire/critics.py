"""What wire tests of CritiqueService share: stubs, a sidecar whose model plays a cast, and what is kept."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc

from sidemirror.v1 import common_pb2
from sidemirror.v1 import critique_pb2 as pb
from sidemirror.v1.critique_pb2_grpc import CritiqueServiceStub
from tests.critique.cast import EVIDENCE, QUESTION, RESPONSE, Cast
from tests.wire.calls import TIMEOUT_S
from tests.wire.sidecar import SidecarThread, sidecar

OK = common_pb2.RESULT_STATUS_OK
GIVEN: dict[str, Any] = {
    "user_message": QUESTION,
    "response": RESPONSE,
    "tool_results": [common_pb2.ToolResult(name="search", content=EVIDENCE)],
}


@contextmanager
def critiques(server: SidecarThread) -> Iterator[CritiqueServiceStub]:
    with grpc.insecure_channel(server.address) as channel:
        yield CritiqueServiceStub(channel)


@contextmanager
def played(folder: Path, cast: Cast) -> Iterator[CritiqueServiceStub]:
    with sidecar(folder, model=cast) as server, critiques(server) as stub:
        yield stub


def figures(stub: CritiqueServiceStub, **fields: Any) -> pb.GetCritiqueStatisticsResponse:
    return stub.GetCritiqueStatistics(pb.GetCritiqueStatisticsRequest(**fields), timeout=TIMEOUT_S)


def listed(stub: CritiqueServiceStub, **fields: Any) -> list[pb.KeptCritique]:
    found: list[pb.KeptCritique] = []
    token = ""
    while True:
        page = stub.ListCritiques(pb.ListCritiquesRequest(page_token=token, **fields), timeout=TIMEOUT_S)
        found += page.critiques
        token = page.next_page_token
        if not token:
            return found
