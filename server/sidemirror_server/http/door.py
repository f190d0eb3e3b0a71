"""The HTTP door: what every request passes before it is read, and where it goes by its path.

In this order: the Host that it was sent to, the page that it came from, its token. A page in a browser that makes the
user's machine call loopback fails at each of the three. Without a token there are only the console's files, which hold
nothing of anybody.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import NoReturn, TypeAlias

from google.rpc import status_pb2

from sidemirror_server.http.asgi import CLOSE, App, Headers, Receive, Scope, Send, only, tell
from sidemirror_server.http.connect.errors import refuse_stranger
from sidemirror_server.http.context import HttpContext
from sidemirror_server.rpc.boundary.identity import Identity
from sidemirror_server.rpc.boundary.refusals import Refusals
from sidemirror_server.rpc.boundary.status import reason_of, row_of, status_of
from sidemirror_server.vocabulary.errors import NotPermitted, Unauthenticated
from sidemirror_server.vocabulary.telemetry import REFUSED

_HTTP_PORT = 80
# Writes an error for whoever sent a request.
Refuse: TypeAlias = Callable[[Scope, Send, status_pb2.Status, Headers], Awaitable[None]]
NO_REFUSING: Mapping[str, Refuse] = {}
_ASKS: Headers = [(b"www-authenticate", b"Bearer")]


def hosts_of(address: str, port: int) -> frozenset[str]:
    """What a Host header may say to a door that listens at this host:port: the host, and loopback's names."""
    host = address.rpartition(":")[0].lower()
    names = {host, "localhost", "127.0.0.1", "[::1]"}
    # A client leaves out HTTP's own port.
    return frozenset(f"{name}:{port}" for name in names) | (names if port == _HTTP_PORT else frozenset())


class Door:
    """An ASGI application that passes requests on by their whole path, with the caller's token as `caller`."""

    def __init__(
        self,
        routes: Mapping[str, App],
        identity: Identity,
        refusals: Refusals,
        *,
        open_routes: Mapping[str, App],
        reads: Collection[str],
        refusing: Mapping[str, Refuse] = NO_REFUSING,
    ) -> None:
        """`open_routes`: the paths that need no token. `reads`: the paths of `routes` that a read-only token may
        call. `refusing`: of the paths of another protocol than Connect, how its refusals are written."""
        self._routes = routes
        self._identity = identity
        self._refusals = refusals
        self._open = open_routes
        self._reads = reads
        self._refusing = refusing
        # As a Host header has them; set when the port is known.
        self.hosts: frozenset[str] = frozenset()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        context = HttpContext(scope, None)
        path = scope["path"]
        # What was not found is not told apart in the log, which anybody can write to.
        method = path[1:] if path in self._routes or path in self._open else "http"
        app = self._open.get(path)
        try:
            self._check_page(scope, method, context)
            if app is None:
                # What it asks of gRPC's context, this one has.
                caller = self._identity.caller_of(method, context)  # type: ignore[arg-type]
                if caller is not None and caller.reads_only and path not in self._reads:
                    self._refuse(method, context, "the token of a page may only read")
                scope["caller"] = caller
                app = self._routes.get(path)
        except (Unauthenticated, NotPermitted) as error:
            row = row_of(error)
            REFUSED.add(1, {"code": row.code.name, "reason": reason_of(row)})
            more = _ASKS if isinstance(error, Unauthenticated) else []
            if (refusing := self._refusing.get(path)) is not None:
                await refusing(scope, send, status_of(error), [*more, CLOSE])
            else:
                await refuse_stranger(send, error, [*more, CLOSE])
            return
        if app is None:
            await tell(send, 404, "nothing is served at this path", [CLOSE])
        else:
            await app(scope, receive, send)

    def _check_page(self, scope: Scope, method: str, context: HttpContext) -> None:
        """Raises NotPermitted for a Host that is not this door, and for a page that it did not serve."""
        host, origin = only(scope, b"host").lower(), only(scope, b"origin").lower()
        reason = ""
        if host not in self.hosts:
            reason = "the Host is not this door: call it by its own address"
        elif origin and origin.removeprefix("http://") not in self.hosts:
            reason = "the Origin is another site"
        elif only(scope, b"sec-fetch-site") not in ("", "same-origin", "none"):
            reason = "the request comes from another site"
        if reason:
            self._refuse(method, context, reason)

    def _refuse(self, method: str, context: HttpContext, reason: str) -> NoReturn:
        self._refusals.tell(context.peer(), method=method, reason=reason)
        raise NotPermitted(reason=reason)
