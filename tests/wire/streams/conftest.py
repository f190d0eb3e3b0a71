"""pytest-grpc's stub on an asyncio channel to a sidecar in the test's own loop.

A folder of its own, because it replaces fixtures that the tests beside it replace otherwise.
"""

from collections.abc import AsyncIterator, Callable

import grpc
import pytest
import pytest_asyncio

from tests.wire.streams.agent import Sidecar, Stub, sidecar


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def grpc_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Sidecar]:
    async with sidecar(tmp_path_factory.mktemp("sidecar")) as server:
        yield server


@pytest.fixture(scope="module")
def grpc_create_channel(grpc_server: Sidecar) -> Callable[[], grpc.aio.Channel]:
    return lambda: grpc.aio.insecure_channel(grpc_server.address)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def grpc_channel(grpc_create_channel: Callable[[], grpc.aio.Channel]) -> AsyncIterator[grpc.aio.Channel]:
    async with grpc_create_channel() as channel:
        yield channel


@pytest.fixture(scope="module")
def stub(grpc_stub: Stub) -> Stub:
    return grpc_stub
