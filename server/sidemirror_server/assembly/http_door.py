"""Puts the HTTP door together, where the settings ask for one: its callers, its admission and what it serves."""

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sidemirror_server.entrance import http_token_file, http_tokens_of, identity_by
from sidemirror_server.http.asgi import App
from sidemirror_server.http.connect.serving import Connect, Method, changes_nothing, methods_of
from sidemirror_server.http.console.links import Links
from sidemirror_server.http.console.pages import PageFile
from sidemirror_server.http.console.serving import open_routes, token_routes
from sidemirror_server.http.door import Door, Refuse, hosts_of
from sidemirror_server.http.hooks.serving import Hooks
from sidemirror_server.http.listener import HttpListener
from sidemirror_server.http.mcp.serving import PATH as MCP_PATH
from sidemirror_server.http.mcp.serving import Mcp
from sidemirror_server.rpc.boundary.admission import Admission, CallLimits
from sidemirror_server.rpc.boundary.interceptors import Boundary
from sidemirror_server.rpc.boundary.refusals import Refusals
from sidemirror_server.rpc.boundary.services import ServiceTable
from sidemirror_server.rpc.listening.server import handlers_of
from sidemirror_server.settings import Settings
from sidemirror_server.vocabulary.clock import Clock

if TYPE_CHECKING:
    from sidemirror_server.rpc.otlp.receiver import OtlpReceiver

_log = logging.getLogger(__name__)


class HttpDoor:
    """The door with its listener. `port` is 0 until it listens."""

    def __init__(
        self,
        settings: Settings,
        services: Sequence[ServiceTable],
        boundary_of: Callable[..., Boundary],
        refusals: Refusals,
        clock: Clock,
        receiver: "OtlpReceiver | None" = None,
        *,
        grpc_address: Callable[[], str],
    ) -> None:
        """`boundary_of`: makes a boundary of an identity and an admission; all else it shares with gRPC's. `receiver`
        None: no telemetry is taken. `grpc_address`: where gRPC is served, once it is. Raises BadSettings."""
        limits = settings.limits
        links = Links(http_tokens_of(settings, clock), clock, PageFile(settings.data_dir / "console-pages"))
        identity = identity_by(settings, refusals, links.tokens, clock)
        # A connection has one request at a time.
        self.admission = Admission(
            CallLimits(limits.http_connections, limits.http_connections, limits.requests_per_second), clock
        )
        self._address = settings.http_address
        # The file with the tokens that callers need.
        self.tokens = settings.access_file or str(http_token_file(settings))
        self._boundary = boundary_of(identity, admission=self.admission)
        methods: dict[str, Method] = {}
        for service in services:
            methods |= methods_of(service.contract, handlers_of(self._boundary, service))
        self._connect = Connect(methods, limits.message_bytes)
        self._mcp = Mcp(methods, limits.message_bytes)
        handlers = {path: method.handler for path, method in methods.items()}
        self._hooks = Hooks(handlers, identity, limits.message_bytes, revises=settings.hooks.revise)
        routes: dict[str, App] = {MCP_PATH: self._mcp, **token_routes(links)}
        routes |= dict.fromkeys(methods, self._connect)
        routes |= dict.fromkeys(self._hooks.paths, self._hooks)
        refusing: dict[str, Refuse] = {}
        if receiver is not None:
            from sidemirror_server.http.otlp import Otlp
            from sidemirror_server.rpc.otlp.services import http_paths

            paths = http_paths(self._boundary, receiver, has_names=bool(settings.access_file))
            otlp = Otlp(paths, limits.message_bytes)
            routes |= dict.fromkeys(paths, otlp)
            refusing |= dict.fromkeys(paths, otlp.refuse)
        self._door = Door(
            routes,
            identity,
            refusals,
            open_routes=open_routes(links, grpc_address),
            reads={path for path, method in methods.items() if changes_nothing(method)},
            refusing=refusing,
        )
        self._listener = HttpListener(self._door, limits.http_connections, limits.http_requests_per_second)
        self.port = 0

    async def start(self) -> None:
        """Listens. An address that cannot be had is a warning: gRPC is served all the same."""
        try:
            self.port = await self._listener.start(self._address)
        except OSError as error:
            _log.warning("http_not_served", extra={"address": self._address, "reason": error.strerror or str(error)})
            return
        self._door.hosts = hosts_of(self._address, self.port)
        _log.info("http_served", extra={"port": self.port, "tokens": self.tokens})

    @property
    def url(self) -> str:
        """Where it listens; empty before, and where its address could not be had."""
        return f"http://{self._address.rpartition(':')[0]}:{self.port}" if self.port else ""

    def refuse(self) -> None:
        """Refuses new calls from now on, because the server shuts down."""
        self._boundary.refuse()

    async def stop(self, grace_s: float) -> None:
        """Takes no more connections, and gives running calls `grace_s` seconds to end."""
        await self._listener.stop(grace_s)
        await self._hooks.close()
        await self._mcp.close()
        await self._connect.close()
