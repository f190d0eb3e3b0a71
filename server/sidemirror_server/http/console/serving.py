"""Serves the console's page: its files to everybody, a code to whoever has a token, a page's token for a code.

The files are the same for everybody and hold nothing of anybody, since a browser asks for them without a token. What
the page shows it asks by Connect, with the token of its code.
"""

import asyncio
import json
import re
from collections.abc import Callable
from functools import cache
from gzip import compress
from pathlib import Path

from sidemirror_server.http.asgi import CLOSE, App, Headers, Receive, Scope, Send, answer, only, tell
from sidemirror_server.http.connect.errors import JSON, refuse_stranger
from sidemirror_server.http.console.links import Links
from sidemirror_server.vocabulary.errors import Unauthenticated

PAGE = "/console/"
LINK = "/console/link"
OPEN = "/console/open"
_FOLDER = Path(__file__).parent / "assets"
_INDEX = "index.html"
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
# What the page may do: load its own files, and call the door that served it. Nothing of it may stand in another page.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_GUARDS: Headers = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_SCHEME = "bearer "


def open_routes(links: Links, address: Callable[[], str]) -> dict[str, App]:
    """What is served without a token, by path: the page's files, and the exchange of a code. `address`: where gRPC is
    served, which a page names in commands."""
    files: dict[str, App] = {
        PAGE + ("" if file.name == _INDEX else file.name): _file(file)
        for file in sorted(_FOLDER.iterdir())
        if file.suffix in _TYPES
    }
    return {**files, OPEN: _exchange(links, address)}


def token_routes(links: Links) -> dict[str, App]:
    """What needs a token, by path: a new code."""
    return {LINK: _link(links)}


def _file(path: Path) -> App:
    # Made when it is first asked for: a sidecar whose console nobody opens neither does it nor keeps it.
    packed = cache(lambda: compress(path.read_bytes(), mtime=0))

    async def serve(scope: Scope, _: Receive, send: Send) -> None:
        if scope["method"] != "GET":
            await tell(send, 405, "GET is expected", [(b"allow", b"GET"), CLOSE])
            return
        headers = [*_GUARDS, (b"vary", b"accept-encoding"), CLOSE]
        if _takes_gzip(only(scope, b"accept-encoding")):
            content = await asyncio.to_thread(packed)
            headers.append((b"content-encoding", b"gzip"))
        else:
            content = await asyncio.to_thread(path.read_bytes)
        await answer(send, 200, f"{_TYPES[path.suffix]}; charset=utf-8", content, headers)

    return serve


def _takes_gzip(accepted: str) -> bool:
    """Whether Accept-Encoding names gzip; with a weight of 0 it is refused."""
    offers = (offer.partition(";") for offer in accepted.lower().split(","))
    weights = {name.strip(): weight.replace(" ", "") for name, _, weight in offers}
    return "gzip" in weights and not re.fullmatch(r"q=0(\.0*)?", weights["gzip"])


def _exchange(links: Links, address: Callable[[], str]) -> App:
    async def serve(scope: Scope, _: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await tell(send, 405, "POST is expected", [(b"allow", b"POST"), CLOSE])
            return
        carried = only(scope, b"authorization")
        is_code = carried[: len(_SCHEME)].lower() == _SCHEME
        token = links.opened(carried[len(_SCHEME) :].strip()) if is_code else None
        if token is None:
            reason = "the link is not good any more: `sidemirror console` makes a new one"
            await refuse_stranger(send, Unauthenticated(reason=reason), [CLOSE])
        else:
            opened = {"token": token, "address": address()}
            await answer(send, 200, JSON, json.dumps(opened).encode(), [CLOSE])

    return serve


def _link(links: Links) -> App:
    async def serve(scope: Scope, _: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            await answer(send, 200, JSON, json.dumps({"code": links.link(scope["caller"])}).encode(), [CLOSE])
        else:
            await tell(send, 405, "POST is expected", [(b"allow", b"POST"), CLOSE])

    return serve
