"""The facts that a handler gets about its call besides the request: scope, request id, deadline and clock."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import grpc
from msgspec import Struct

from sidemirror_server.rpc.boundary.access import Token
from sidemirror_server.vocabulary.budget import ANSWER_S, LONGEST_MODEL_CALL_S
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import BadInput, NotPermitted, SidemirrorError
from sidemirror_server.vocabulary.ids import derived_id, new_id
from sidemirror_server.vocabulary.scope import Scope

# gRPC's context of a call. Requests and responses pass gRPC as bytes, streams as iterators of bytes.
Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]


class Call(Struct, frozen=True):
    """One call. `digest` is the request's hash, empty like `request_id` when the client gave no request_id."""

    scope: Scope
    method: str
    request_id: str
    clock: Clock
    ends_at_s: float | None
    digest: bytes = b""
    # For streams, which may outlive their token: returns the error that ends the stream, or None while it may go on.
    # Without an access file there is nothing to check, and the field is None.
    barred: Callable[[], SidemirrorError | None] | None = None
    # For watches: sends the response's initial metadata, by which the client knows that the watch is in force.
    in_force: Callable[[], Awaitable[None]] | None = None
    # The caller's token; None without an access file: then every caller may see everything.
    caller: Token | None = None

    @property
    def caller_name(self) -> str:
        """The name of the caller's token; empty without one."""
        return "" if self.caller is None else self.caller.name

    @property
    def is_admins(self) -> bool:
        """Whether the caller is an admin. Without tokens every caller is the operator."""
        return self.caller is None or self.caller.admin

    def check_admin(self) -> None:
        """Raises NotPermitted when the call's token is no admin's."""
        if not self.is_admins:
            raise NotPermitted(reason="the token is no admin's: `admin` is missing from its entry in the access file")

    def check_scope(self, tenant_id: str, project_id: str) -> None:
        """Checks that a later request of the client's stream names no scope, or the scope of the first request. Raises
        BadInput."""
        named = (("tenant_id", tenant_id, self.scope.tenant_id), ("project_id", project_id, self.scope.project_id))
        for field, given, begun in named:
            if given not in ("", begun):
                raise BadInput([(field, "the stream has begun with another one")])

    def remaining_s(self) -> float | None:
        """Seconds until the call's deadline by the monotonic clock, never negative; None without a deadline."""
        return None if self.ends_at_s is None else max(0.0, self.ends_at_s - self.clock.monotonic_s())

    def time_for(self, wanted_s: float, answer_s: float) -> float:
        """Seconds available now: `wanted_s`, cut so that `answer_s` remain before the deadline; never negative."""
        left_s = self.remaining_s()
        return wanted_s if left_s is None else max(0.0, min(wanted_s, left_s - answer_s))

    def model_time_s(self) -> float:
        """Seconds that a call to a model may take now."""
        return self.time_for(LONGEST_MODEL_CALL_S, ANSWER_S)

    def make_id(self, given: str = "", part: str = "") -> str:
        """The id of a record that the call creates: `given` if the client chose one, else derived from request_id and
        content, else new. It derives from the content too, because a request_id may be reused after a day. `part` tells
        apart the records of one call."""
        if given:
            return given
        if self.request_id:
            return derived_id(self.scope, f"{self.method}{part}", f"{self.request_id}\0{self.digest.hex()}")
        return new_id(self.clock.now_us())
