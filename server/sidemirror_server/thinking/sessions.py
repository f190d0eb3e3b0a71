"""A session's configuration as stored: JSON, so that the store does not depend on its fields."""

import msgspec

from sidemirror_server.thinking.config import ThinkingConfig

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(ThinkingConfig).decode


def config_body(config: ThinkingConfig) -> bytes:
    """The stored form of a session's configuration."""
    return _encode(config)


def config_in(body: bytes) -> ThinkingConfig:
    """The configuration in its stored form."""
    return _decode(body)
