"""What serves a service of the contract: a table with one entry for each RPC, checked when the server is put together.

Each service room exports one function that makes its table (`rpc/*/service.py`); `listening/server.py` registers them.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import msgspec
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message

from sidemirror.v1 import critique_pb2, goal_reflection_pb2, reflective_memory_pb2, sidecar_pb2, thinking_pb2
from sidemirror_server.rpc.boundary.call import Call

THINKING = thinking_pb2.DESCRIPTOR.services_by_name["ThinkingService"]
CRITIQUE = critique_pb2.DESCRIPTOR.services_by_name["CritiqueService"]
GOALS = goal_reflection_pb2.DESCRIPTOR.services_by_name["GoalReflectionService"]
MEMORY = reflective_memory_pb2.DESCRIPTOR.services_by_name["ReflectiveMemoryService"]
SIDECAR = sidecar_pb2.DESCRIPTOR.services_by_name["SidecarService"]

# Takes a request and its answer, and returns the answer as it is sent; the same for the same two.
Complete: TypeAlias = Callable[[Any, bytes], bytes]
# Whether an answer binds the request_id that it was given for.
Binds: TypeAlias = Callable[[Any], bool]
# Takes the first request of a stream and returns the call, whose scope is that of this request.
Begin: TypeAlias = Callable[[Any], Call]


class Unary(msgspec.Struct, frozen=True):
    """One request, one answer. `complete` adds to an answer what must not be kept with it. `binds` says of an answer
    whether it binds the request_id; without it each one does."""

    serve: Callable[[Any, Call], Awaitable[Message]]
    complete: Complete | None = None
    binds: Binds | None = None


class ServerStream(msgspec.Struct, frozen=True):
    """One request, a stream of answers. `binds`: as `Unary` has it. `keeps_times`: the handler itself says `closing`
    and ends when the stream is too old or its token is gone. `follows`: as `Lasting` has it."""

    serve: Callable[[Any, Call], AsyncIterator[Message]]
    binds: Binds | None = None
    keeps_times: bool = False
    follows: bool = False


class ClientStream(msgspec.Struct, frozen=True):
    """A stream of requests, one answer."""

    serve: Callable[[AsyncIterator[Any], Begin], Awaitable[Message]]


class BidiStream(msgspec.Struct, frozen=True):
    """A stream of requests, a stream of answers. From the first request on the handler keeps the stream's times."""

    serve: Callable[[AsyncIterator[Any], Begin], AsyncIterator[Message]]


Rpc: TypeAlias = Unary | ServerStream | ClientStream | BidiStream
# (whether the client streams, whether the server does) → the kind.
_KINDS: dict[tuple[bool, bool], type[Rpc]] = {
    (False, False): Unary,
    (False, True): ServerStream,
    (True, False): ClientStream,
    (True, True): BidiStream,
}


class NotTheContract(Exception):
    """A service's table and the contract differ."""


class ServiceTable:
    """A service of the contract, and what serves each of its RPCs."""

    def __init__(self, contract: ServiceDescriptor, **rpcs: Rpc) -> None:
        """`rpcs`: by the name of the RPC. Raises NotTheContract, which names each RPC that is unknown, missing or of
        another kind; a name that is given twice is refused by Python."""
        kinds = {method.name: kind_of(method) for method in contract.methods}
        wrong = [
            *(f"{name} is not in the contract" for name in rpcs if name not in kinds),
            *(f"{name} is not served" for name in kinds if name not in rpcs),
            *(
                f"{name} is served as {type(how).__name__}, and is {kinds[name].__name__}"
                for name, how in rpcs.items()
                if name in kinds and not isinstance(how, kinds[name])
            ),
        ]
        if wrong:
            raise NotTheContract(f"{contract.full_name}: {'; '.join(wrong)}")
        self.contract = contract
        self.rpcs: Mapping[str, Rpc] = rpcs


def kind_of(method: MethodDescriptor) -> type[Rpc]:
    """The kind of an RPC, as the contract has it."""
    return _KINDS[method.client_streaming, method.server_streaming]
