"""A service that a setting turns off: every call of it is refused, saying which setting."""

from collections.abc import AsyncIterator, Callable
from typing import Any, NoReturn

from google.protobuf.descriptor import ServiceDescriptor

from sidemirror_server.vocabulary.errors import Disabled


class DisabledCalls:
    """Stands in for the servicers of `service`."""

    def __init__(self, service: ServiceDescriptor, setting: str) -> None:
        for method in service.methods:
            refuse = _streaming if method.server_streaming else _reading if method.client_streaming else _unary
            setattr(self, method.name, refuse(setting))


def _unary(setting: str) -> Callable[..., Any]:
    async def refuse(*_: object) -> NoReturn:
        raise Disabled(detail=setting)

    return refuse


def _reading(setting: str) -> Callable[..., Any]:
    async def refuse(requests: AsyncIterator[object], *_: object) -> NoReturn:
        await anext(requests, None)  # a stream that nobody begins to read is complained about
        raise Disabled(detail=setting)

    return refuse


def _streaming(setting: str) -> Callable[..., Any]:
    async def refuse(*_: object) -> AsyncIterator[object]:
        for _refused in (setting,):
            raise Disabled(detail=setting)
        yield None  # makes it a stream

    return refuse
