"""A server of ours for a module, and pytest-grpc's fixtures on one: its channel and stub fixtures as they are, its
server replaced.

The plugin would start a synchronous `grpc.server`, on which none of our methods can run.
"""

from collections.abc import Callable, Iterator

import pytest

from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from tests.memory.talk import memories
from tests.wire.sidecar import SidecarThread, sidecar


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarThread]:
    """One with the built-in rules. Tests keep apart by tenant."""
    with sidecar(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(scope="module")
def memory(server: SidecarThread) -> Iterator[ReflectiveMemoryServiceStub]:
    """The memory of `server`."""
    with memories(server) as made:
        yield made


@pytest.fixture(scope="module")
def grpc_addr(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"unix:{tmp_path_factory.mktemp('grpc') / 's'}"


@pytest.fixture(scope="module")
def _grpc_server(tmp_path_factory: pytest.TempPathFactory) -> SidecarThread:
    return SidecarThread(tmp_path_factory.mktemp("sidecar"))


@pytest.fixture(scope="module")
def grpc_servicer() -> None:
    """Ours are put together by `assemble`."""


@pytest.fixture(scope="module")
def grpc_add_to_server() -> Callable[[None, SidecarThread], None]:
    return lambda servicer, server: None


@pytest.fixture(scope="module")
def grpc_stub_cls() -> type[ThinkingServiceStub]:
    return ThinkingServiceStub


@pytest.fixture(scope="module")
def stub(grpc_stub: ThinkingServiceStub) -> ThinkingServiceStub:
    """The plugin's stub, with its type. One server for a module: tests keep apart by scope or by session."""
    return grpc_stub
