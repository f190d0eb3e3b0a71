"""pytest-grpc's fixtures on our server: its channel and stub fixtures as they are, its server replaced by ours.

The plugin would start a synchronous `grpc.server`, on which none of our methods can run.
"""

from collections.abc import Callable

import pytest

from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from tests.wire.sidecar import SidecarThread


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
