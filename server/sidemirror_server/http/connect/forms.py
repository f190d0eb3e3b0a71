"""The forms of Connect's messages: content types, compression, frames, and the headers of a call. Pure rules."""

import gzip
import re
import zlib

import grpc
import msgspec

from sidemirror_server.http.asgi import Scope, only
from sidemirror_server.http.connect.errors import refusal
from sidemirror_server.http.context import Ended

IDENTITY = "identity"
GZIP = "gzip"
# Of a frame: 1 byte of flags, 4 of its length.
HEAD_BYTES = 5
_COMPRESSED = 0b01
_END = 0b10
# Smaller messages are not worth it. Chosen here: about one packet.
_WORTH_BYTES = 1_024
# The fastest: the answer stays on this machine.
_LEVEL = 1
# Members of a gzip. Chosen here: a writer makes a few of them, and what follows one is copied for each.
_MOST_MEMBERS = 100
_LONGEST_TIMEOUT = re.compile(r"[0-9]{1,10}")


class Form(msgspec.Struct, frozen=True):
    """How messages are written: `codec` is json or proto; a stream puts each into a frame."""

    codec: str
    streams: bool

    @property
    def content_type(self) -> str:
        return f"application/{'connect+' if self.streams else ''}{self.codec}"


_FORMS = {
    form.content_type: form
    for form in (Form(codec, streams) for codec in ("json", "proto") for streams in (False, True))
}


def form_of(content_type: str) -> Form | None:
    """The form that a content type names; None if it is none of Connect's."""
    kind, _, parameters = content_type.partition(";")
    form = _FORMS.get(kind.strip().lower())
    charset = parameters.replace(" ", "").replace('"', "").lower()
    return form if charset in ("", "charset=utf-8") else None


def forms_of(*, streams: bool) -> str:
    """The content types that a method takes, for a caller who sent another."""
    return ", ".join(name for name, form in _FORMS.items() if form.streams is streams)


class Head(msgspec.Struct, frozen=True):
    """What a call's headers ask for. `encoding`: of the request. `accepts_gzip`: of the answer. `timeout_s` None: no
    deadline."""

    encoding: str
    accepts_gzip: bool
    timeout_s: float | None


def head_of(scope: Scope, form: Form) -> Head:
    """The call's headers. Raises Ended for what the protocol does not have."""
    if (version := only(scope, b"connect-protocol-version")) not in ("", "1"):
        raise _bad(f"connect-protocol-version: 1 is expected, not {version[:20]!r}")
    given = only(scope, b"connect-timeout-ms")
    if given and not _LONGEST_TIMEOUT.fullmatch(given):
        raise _bad("connect-timeout-ms: 1 to 10 digits are expected")
    prefix = b"connect-" if form.streams else b""
    encoding = only(scope, prefix + b"content-encoding").strip().lower() or IDENTITY
    if encoding not in (IDENTITY, GZIP):
        text = f"{prefix.decode()}content-encoding {encoding[:20]!r} is not known: {GZIP} and {IDENTITY} are"
        raise Ended(refusal(grpc.StatusCode.UNIMPLEMENTED, text))
    accepted = {item.partition(";")[0].strip().lower() for item in only(scope, prefix + b"accept-encoding").split(",")}
    return Head(encoding, GZIP in accepted, int(given) / 1000 if given else None)


def decompressed(body: bytes, most_bytes: int) -> bytes:
    """The body without gzip, which may have several members (RFC 1952). Raises Ended when it is no gzip, or is longer
    than `most_bytes`."""
    parts: list[bytes] = []
    size = 0
    while body or not parts:
        reader = zlib.decompressobj(wbits=31)
        try:
            parts.append(reader.decompress(body, most_bytes - size + 1))
        except zlib.error as error:
            raise _bad("the body is not compressed by gzip") from error
        size += len(parts[-1])
        if size > most_bytes:
            raise too_long(most_bytes)
        if len(parts) > _MOST_MEMBERS:
            raise _bad(f"the body's gzip has more than {_MOST_MEMBERS} members")
        if not reader.eof:
            raise _bad("the body is cut short: its gzip has no end")
        body = reader.unused_data
    return b"".join(parts)


def compressed(body: bytes) -> bytes:
    """The body as gzip, always the same bytes for the same body."""
    return gzip.compress(body, _LEVEL, mtime=0)


def worth_gzip(body: bytes, *, accepted: bool) -> bool:
    """Whether to compress an answer's message."""
    return accepted and len(body) >= _WORTH_BYTES


def framed(body: bytes, *, is_compressed: bool = False, is_end: bool = False) -> bytes:
    """A message, or the end, of a stream."""
    flags = (_COMPRESSED if is_compressed else 0) | (_END if is_end else 0)
    return bytes([flags]) + len(body).to_bytes(4, "big") + body


def only_frame(body: bytes) -> tuple[bytes, bool]:
    """The one message of a request's stream, and whether it is compressed. Raises Ended when there is not exactly one
    whole message."""
    if not body:
        raise Ended(refusal(grpc.StatusCode.UNIMPLEMENTED, "the request's stream has no message: one is expected"))
    length = int.from_bytes(body[1:HEAD_BYTES], "big")
    if len(body) < HEAD_BYTES + length:
        raise _bad("the request's message is cut short")
    if body[0] & ~_COMPRESSED:
        raise _bad(f"the flags {body[0]} of the request's message are not known")
    if len(body) > HEAD_BYTES + length:
        text = "the request's stream has several messages: one is expected"
        raise Ended(refusal(grpc.StatusCode.UNIMPLEMENTED, text))
    return body[HEAD_BYTES:], bool(body[0] & _COMPRESSED)


def too_long(most_bytes: int) -> Ended:
    """The refusal of a message over the limit."""
    return Ended(refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, f"the message is longer than {most_bytes} bytes"))


def _bad(text: str) -> Ended:
    return Ended(refusal(grpc.StatusCode.INVALID_ARGUMENT, text))
