"""A session's configuration as it is kept: JSON, so that the store need not know its fields."""

from collections.abc import Callable

import msgspec

from sidemirror_server.thinking.config import ThinkingConfig

# What the store keeps of a session's configuration.
config_body: Callable[[ThinkingConfig], bytes] = msgspec.json.Encoder().encode
# The configuration that the store has kept.
config_in: Callable[[bytes], ThinkingConfig] = msgspec.json.Decoder(ThinkingConfig).decode
