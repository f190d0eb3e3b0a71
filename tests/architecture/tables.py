"""The tables of all services as the server makes them, of nothing: what they are made of is not asked."""

import inspect
from collections.abc import Callable

from sidemirror_server.rpc.boundary.services import ServiceTable
from sidemirror_server.rpc.critique.service import critique_service
from sidemirror_server.rpc.goals.service import goals_service
from sidemirror_server.rpc.memory.service import memory_service
from sidemirror_server.rpc.sidecar.service import sidecar_service
from sidemirror_server.rpc.thinking.service import thinking_service


def made_of_nothing(service: Callable[..., ServiceTable]) -> ServiceTable:
    return service(*(None for _ in inspect.signature(service).parameters))


SERVED = [
    made_of_nothing(service)
    for service in (thinking_service, critique_service, goals_service, memory_service, sidecar_service)
]
