"""A session's configuration as it is kept: JSON, so that the store need not know its fields."""

import msgspec

from sidemirror_server.thinking.config import ThinkingConfig

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(ThinkingConfig).decode


def config_body(config: ThinkingConfig) -> bytes:
    """What the store keeps of a session's configuration."""
    return _encode(config)


def config_in(body: bytes) -> ThinkingConfig:
    """The configuration that the store has kept."""
    return _decode(body)
