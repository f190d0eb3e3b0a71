"""A service that a setting turns off: every call is refused with the name of the setting."""

from collections.abc import AsyncIterator
from typing import NoReturn

from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message

from sidemirror_server.rpc.boundary.services import BidiStream, ClientStream, ServerStream, ServiceTable, Unary, kind_of
from sidemirror_server.vocabulary.errors import Disabled


def disabled(contract: ServiceDescriptor, setting: str) -> ServiceTable:
    """The service's table while `setting` turns it off: every RPC raises Disabled."""

    async def refuse(*_: object) -> NoReturn:
        raise Disabled(detail=setting)

    async def refuse_stream(requests: AsyncIterator[object], *_: object) -> NoReturn:
        await anext(requests, None)  # gRPC complains about a request stream that is never read
        raise Disabled(detail=setting)

    async def refusals(*_: object) -> AsyncIterator[Message]:
        for _refused in (setting,):
            raise Disabled(detail=setting)
        yield Message()  # makes this an async generator

    kinds = (Unary(refuse), ServerStream(refusals), ClientStream(refuse_stream), BidiStream(refusals))
    how = {type(kind): kind for kind in kinds}
    return ServiceTable(contract, **{method.name: how[kind_of(method)] for method in contract.methods})
