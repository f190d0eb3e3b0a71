"""What a handler is told about the call that it serves, beside the request."""

from collections.abc import Callable
from typing import Any, TypeAlias

import grpc
from msgspec import Struct

from sidemirror_server.vocabulary.budget import LONGEST_MODEL_CALL_S
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import SidemirrorError
from sidemirror_server.vocabulary.ids import derived_id, new_id
from sidemirror_server.vocabulary.scope import Scope

# gRPC's side of a call; requests and responses pass it as bytes, and streams as iterators of bytes.
Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]
# What an answer needs after the model's. Chosen here: the gateway's own grace and a write to the store, several times
# over.
_AFTER_MODEL_S = 0.2


class Call(Struct, frozen=True):
    """One call. `request_id` is empty when the client gave none; `digest` then is too, else it is of the request."""

    scope: Scope
    method: str
    request_id: str
    clock: Clock
    ends_at_s: float | None
    digest: bytes = b""
    # Why the call may not go on, for streams, which outlive what was found when they began; None while it may. Without
    # an access file there is nothing to ask.
    barred: Callable[[], SidemirrorError | None] | None = None

    def remaining_s(self) -> float | None:
        """Seconds until the call's deadline by the monotonic clock, never negative; None without a deadline."""
        return None if self.ends_at_s is None else max(0.0, self.ends_at_s - self.clock.monotonic_s())

    def time_for(self, wanted_s: float, answer_s: float) -> float:
        """Seconds that something may take now: `wanted_s`, or less, so that `answer_s` are left before the deadline.
        Never negative."""
        left_s = self.remaining_s()
        return wanted_s if left_s is None else max(0.0, min(wanted_s, left_s - answer_s))

    def model_time_s(self) -> float:
        """Seconds that a call to a model may take now."""
        return self.time_for(LONGEST_MODEL_CALL_S, _AFTER_MODEL_S)

    def make_id(self, given: str = "", part: str = "") -> str:
        """The id of what this call makes: `given` when the client chose one; the same again for the same request_id
        with the same content, but not for other content, which may come once the id is free again; else a new one.
        `part` tells apart several things that one call makes."""
        if given:
            return given
        if self.request_id:
            return derived_id(self.scope, f"{self.method}{part}", f"{self.request_id}\0{self.digest.hex()}")
        return new_id(self.clock.now_us())
