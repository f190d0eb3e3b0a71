"""Measures how long unary calls take, by method and code. Streams are only counted, while they are open."""

import time

from sidemirror_server.rpc.boundary.call import Context
from sidemirror_server.rpc.boundary.tracing import UnaryHandler, code_of
from sidemirror_server.vocabulary.telemetry import CALLS


class Metering:
    """Wraps handlers if metrics are on, else returns them unchanged."""

    def __init__(self, *, on: bool) -> None:
        self._on = on

    def unary(self, method: str, handle: UnaryHandler) -> UnaryHandler:
        """`handle`, timed."""
        if not self._on:
            return handle
        service, _, name = method.rpartition("/")

        async def metered(raw: bytes, context: Context) -> bytes:
            began_s = time.perf_counter()
            finished = False
            try:
                answer = await handle(raw, context)
                finished = True
                return answer
            finally:
                ended: object = context.code()
                code = code_of(context).name if finished or ended else "CANCELLED"
                attributes = {"rpc.service": service, "rpc.method": name, "code": code}
                CALLS.record(time.perf_counter() - began_s, attributes)

        return metered
