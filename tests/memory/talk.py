"""A sidecar whose model is played by an endpoint, or by a cast, and clients of its memory."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import grpc

from sidemirror.v1 import common_pb2
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.assembly import Sidecar
from tests.critique.cast import Cast
from tests.faults.sidecars import Stub, channel, running
from tests.models.endpoint import CLAUDE, KEY, LOCAL, Endpoint
from tests.wire.calls import TIMEOUT_S
from tests.wire.sidecar import SidecarThread, sidecar

OK = common_pb2.RESULT_STATUS_OK
PROVIDERS = ("anthropic", "openai_compatible")


class MemoryTalk(NamedTuple):
    """The endpoint that plays the provider, the sidecar, and its memory's client."""

    endpoint: Endpoint
    sidecar: Sidecar
    memory: Stub


@contextlib.asynccontextmanager
async def talk(folder: Path, provider: str = "anthropic", **more: str) -> AsyncIterator[MemoryTalk]:
    async with Endpoint() as endpoint:
        own = {"model__input_usd_per_mtok": "2", "model__output_usd_per_mtok": "8"}
        settings: dict[str, Any] = {
            "model__provider": provider,
            "model__name": CLAUDE if provider == "anthropic" else LOCAL,
            "model__base_url": endpoint.anthropic_url if provider == "anthropic" else endpoint.openai_url,
            "model__api_key": KEY,
            **(own if provider == "openai_compatible" else {}),
            **more,
        }
        async with running(folder, **settings) as served, channel(served.address) as connection:
            await served.sidecar.gateway.prepare()
            yield MemoryTalk(endpoint, served.sidecar, ReflectiveMemoryServiceStub(connection))


@contextlib.contextmanager
def memories(server: SidecarThread) -> Iterator[ReflectiveMemoryServiceStub]:
    """A stub on a connection of its own."""
    with grpc.insecure_channel(server.address) as channel:
        yield ReflectiveMemoryServiceStub(channel)


@contextlib.contextmanager
def played(folder: Path, cast: Cast, **settings: str) -> Iterator[ReflectiveMemoryServiceStub]:
    """A sidecar of one's own whose model plays a cast."""
    with sidecar(folder, model=cast, settings=settings) as server, memories(server) as stub:
        yield stub


def listed(stub: ReflectiveMemoryServiceStub, **fields: Any) -> list[pb.Memory]:
    """Everything that a list shows, page by page."""
    found: list[pb.Memory] = []
    token = ""
    while True:
        page = stub.ListReflections(pb.ListReflectionsRequest(page_token=token, **fields), timeout=TIMEOUT_S)
        found += page.memories
        token = page.next_page_token
        if not token:
            return found


def store(stub: ReflectiveMemoryServiceStub, text: str, **more: Any) -> pb.StoreReflectionResponse:
    scope = {name: more.pop(name) for name in ("tenant_id", "project_id", "request_id", "session_id") if name in more}
    result = pb.ReflectionResult(reflection_text=text, **more)
    return stub.StoreReflection(pb.StoreReflectionRequest(result=result, **scope), timeout=TIMEOUT_S)


def get(stub: ReflectiveMemoryServiceStub, memory_id: str, **scope: str) -> pb.Memory:
    return stub.GetReflection(pb.GetReflectionRequest(reflection_id=memory_id, **scope), timeout=TIMEOUT_S).memory


def versions(stub: ReflectiveMemoryServiceStub, memory_id: str, **more: Any) -> pb.ListReflectionVersionsResponse:
    request = pb.ListReflectionVersionsRequest(reflection_id=memory_id, **more)
    return stub.ListReflectionVersions(request, timeout=TIMEOUT_S)


def event(event_type: Any, content: str = "", event_id: str = "", **more: Any) -> pb.ReflectionEvent:
    """An event; `metadata` and `error` as mappings."""
    return pb.ReflectionEvent(event_id=event_id, event_type=event_type, content=content, **more)


def export(stub: ReflectiveMemoryServiceStub, **scope: Any) -> list[str]:
    """The lines of an export."""
    parts = stub.ExportReflections(pb.ExportReflectionsRequest(**scope), timeout=TIMEOUT_S)
    return [line for part in parts for line in part.lines]


def imported(
    stub: ReflectiveMemoryServiceStub, lines: list[str], at_once: int = 3, **scope: str
) -> pb.ImportReflectionsResponse:
    """What became of these lines, sent a few at a time."""
    parts = (
        pb.ImportReflectionsRequest(lines=lines[at : at + at_once], **scope) for at in range(0, len(lines), at_once)
    )
    return stub.ImportReflections(parts, timeout=TIMEOUT_S)
