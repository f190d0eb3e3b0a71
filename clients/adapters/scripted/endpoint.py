"""A model endpoint for tests of adapters: a real HTTP server whose answers a test scripts, in a provider's wire format.

A script belongs to a model's name, so that several agents share one endpoint. `wire.py` has the formats.
"""

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from scripted.wire import FORMATS, Answer, Fails, Hangs, Request

Script = Callable[[Request], Answer]
# A request that hangs is let go after this long at the latest.
_HANG_S = 60.0


@dataclass
class Exchange:
    """A request as it came, and the answer with the ids that its calls got."""

    request: Request
    answer: Answer
    call_ids: list[str] = field(default_factory=list)
    # When the request came and when the answer was sent, by the monotonic clock.
    came_s: float = 0.0
    answered_s: float = 0.0


class Endpoint:
    """What was asked of each model, in order, and how it answers."""

    def __init__(self) -> None:
        self.scripts: dict[str, Script] = {}
        self.seen: dict[str, list[Exchange]] = {}
        self.url = ""
        # What a model takes to answer, in seconds.
        self.model_s = 0.0
        self.over = threading.Event()
        self._news = threading.Condition()

    def script(self, model: str, *answers: Answer) -> str:
        """The model gives these answers, one after the other. Returns its name."""
        self.scripts[model] = lambda request: answers[request.number]
        return model

    def answered(self, request: Request) -> Exchange:
        """The exchange for a request, which is numbered here."""
        with self._news:
            past = self.seen.setdefault(request.model, [])
            request.number = len(past)
            answer = self.scripts[request.model](request)
            exchange = Exchange(request, answer, came_s=time.monotonic())
            if isinstance(answer, list):
                exchange.call_ids = [f"call_{request.model}_{request.number}_{place}" for place in range(len(answer))]
            past.append(exchange)
            self._news.notify_all()
        return exchange

    def wait_for(self, model: str) -> None:
        """Returns once the model was asked."""
        with self._news:
            assert self._news.wait_for(lambda: model in self.seen, _HANG_S)


@contextmanager
def serving() -> Iterator[Endpoint]:
    """An endpoint at a free port of loopback."""
    endpoint = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Else an answer's body waits some 40 ms for the client to acknowledge the headers.
        disable_nagle_algorithm = True

        def log_message(self, *_: Any) -> None:
            """Nothing is logged."""

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            wire = next(one for suffix, one in FORMATS.items() if suffix in self.path)
            request = wire.read(self.path, body)
            exchange = endpoint.answered(request)
            if isinstance(exchange.answer, Hangs):
                endpoint.over.wait(_HANG_S)
                self.close_connection = True
                return
            if isinstance(exchange.answer, Fails):
                self._send(exchange.answer.status, b'{"error": {"message": "scripted", "type": "server_error"}}')
                return
            time.sleep(endpoint.model_s)
            exchange.answered_s = time.monotonic()
            if request.streamed:
                events = wire.stream(exchange.request, exchange.answer, exchange.call_ids)
                self._send(200, "".join(events).encode(), "text/event-stream")
            else:
                whole = wire.whole(exchange.request, exchange.answer, exchange.call_ids)
                self._send(200, json.dumps(whole).encode())

        def _send(self, status: int, body: bytes, kind: str = "application/json") -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that goes away is no failure of the endpoint."""
            if not isinstance(sys.exc_info()[1], OSError):
                super().handle_error(request, client_address)

    server = Server(("127.0.0.1", 0), Handler)
    endpoint.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
