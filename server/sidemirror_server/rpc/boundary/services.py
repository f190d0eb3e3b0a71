"""Tables of services: the function that serves each RPC, checked against the contract at start.

Each service's room exports one function that makes its table (`rpc/*/service.py`); `listening/server.py` registers
them.
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

# A pure function: takes a request and its stored answer, and returns the answer to send.
Complete: TypeAlias = Callable[[Any, bytes], bytes]
# Raises NotPermitted when the caller may not make this call.
Permits: TypeAlias = Callable[[Any, Call], None]
# Whether an answer binds its request_id (`requests.py`).
Binds: TypeAlias = Callable[[Any], bool]
# Takes the first request of a stream and returns the call, in the scope of this request.
Begin: TypeAlias = Callable[[Any], Call]


class Unary(msgspec.Struct, frozen=True):
    """One request, one answer. `complete` adds the parts that must not be stored with an answer. `binds` says whether
    an answer binds its request_id; None: every answer does. `permits` is asked before `serve`, and before a stored
    answer is given; None: who may call in the scope may make this call. `asks`: it may ask a model."""

    serve: Callable[[Any, Call], Awaitable[Message]]
    complete: Complete | None = None
    binds: Binds | None = None
    permits: Permits | None = None
    asks: bool = False


class ServerStream(msgspec.Struct, frozen=True):
    """One request, a stream of answers. `binds`: as in `Unary`. `keeps_times`: the handler itself sends `closing` and
    ends the stream when it is too old or its token was removed. `follows`: as in `Lasting`."""

    serve: Callable[[Any, Call], AsyncIterator[Message]]
    binds: Binds | None = None
    keeps_times: bool = False
    follows: bool = False


class ClientStream(msgspec.Struct, frozen=True):
    """A stream of requests, one answer."""

    serve: Callable[[AsyncIterator[Any], Begin], Awaitable[Message]]


class BidiStream(msgspec.Struct, frozen=True):
    """A stream of requests, a stream of answers. The handler enforces the time limits from the first request on."""

    serve: Callable[[AsyncIterator[Any], Begin], AsyncIterator[Message]]


Rpc: TypeAlias = Unary | ServerStream | ClientStream | BidiStream
# (client streams, server streams) → kind.
_KINDS: dict[tuple[bool, bool], type[Rpc]] = {
    (False, False): Unary,
    (False, True): ServerStream,
    (True, False): ClientStream,
    (True, True): BidiStream,
}


class NotTheContract(Exception):
    """A service's table and the contract differ."""


class ServiceTable:
    """A service of the contract, with the function that serves each of its RPCs."""

    def __init__(self, contract: ServiceDescriptor, **rpcs: Rpc) -> None:
        """`rpcs`: by the name of the RPC. Raises NotTheContract, which names each RPC that is unknown, missing or of
        another kind. Python itself refuses a name that is given twice."""
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
    """The kind of an RPC in the contract."""
    return _KINDS[method.client_streaming, method.server_streaming]
