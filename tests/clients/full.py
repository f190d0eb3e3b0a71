"""A connection that is full for a while: HTTP/2 refuses calls on it, as it does where a sidecar is busy."""

import contextlib
import socket
import threading
from collections.abc import Mapping
from pathlib import Path

import hpack
from hyperframe.frame import RstStreamFrame

from tests.acceptance.product import PATIENCE_S
from tests.clients.harness import Beside

REFUSED_STREAM = 7
_CANCEL = 8
_PREFACE_BYTES, _HEAD_BYTES = 24, 9
_HEADERS, _PADDED, _PRIORITY = 0x1, 0x8, 0x20


class FullConnection:
    """Passes connections on to the address behind it, and refuses the first calls."""

    def __init__(self, behind: Beside, refusals: Mapping[str, int]) -> None:
        """`refusals`: how many calls of a method are refused, on all connections together, by the method's name."""
        self.socket: Path = behind.socket
        self.variables: dict[str, str] = {}
        # What is left of them.
        self.refusals = dict(refusals)
        self._behind = behind
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def complaints(self) -> str:
        return self._behind.complaints

    def do(self, what: str) -> None:
        self._behind.do(what)

    def end(self) -> None:
        for one in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        host, _, port = self._behind.address.rpartition(":")
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection((host, int(port)))
                self._open += (client, server)
                greeted = threading.Event()
                for way in (self._requests, self._responses):
                    threading.Thread(target=way, args=(client, server, greeted), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket, greeted: threading.Event) -> None:
        """Frame by frame. A refused stream is opened and cancelled at the sidecar, because both sides' compression of
        headers has to see the same ones."""
        decoder, refused = hpack.Decoder(), set[int]()
        with contextlib.suppress(OSError), client.makefile("rb") as frames:
            server.sendall(frames.read(_PREFACE_BYTES))
            while head := frames.read(_HEAD_BYTES):
                payload = frames.read(int.from_bytes(head[:3], "big"))
                kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
                if kind == _HEADERS:
                    path = dict(decoder.decode(_block(payload, flags), raw=True)).get(b":path", b"")
                    server.sendall(head + payload)
                    if self._refuses(path.decode().rpartition("/")[2]):
                        refused.add(stream)
                        server.sendall(RstStreamFrame(stream, error_code=_CANCEL).serialize())
                        # The first frame that a client hears has to be the settings.
                        greeted.wait(PATIENCE_S)
                        with self._lock:
                            client.sendall(RstStreamFrame(stream, error_code=REFUSED_STREAM).serialize())
                elif stream not in refused:
                    server.sendall(head + payload)
        _end(server)

    def _responses(self, client: socket.socket, server: socket.socket, greeted: threading.Event) -> None:
        with contextlib.suppress(OSError), server.makefile("rb") as frames:
            while head := frames.read(_HEAD_BYTES):
                frame = head + frames.read(int.from_bytes(head[:3], "big"))
                with self._lock:
                    client.sendall(frame)
                greeted.set()
        _end(client)

    def _refuses(self, method: str) -> bool:
        with self._lock:
            refuses = self.refusals.get(method, 0) > 0
            if refuses:
                self.refusals[method] -= 1
        return refuses


def _block(payload: bytes, flags: int) -> bytes:
    """The compressed headers of a frame that holds them all."""
    if flags & _PADDED:
        payload = payload[1 : len(payload) - payload[0]]
    return payload[5:] if flags & _PRIORITY else payload


def _end(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
