"""A session's configuration as stored: JSON, so that the store does not depend on its fields."""

from collections.abc import Callable

import msgspec

from sidemirror_server.thinking.config import ThinkingConfig

# The stored form of a session's configuration.
config_body: Callable[[ThinkingConfig], bytes] = msgspec.json.Encoder().encode
# The configuration in its stored form.
config_in: Callable[[bytes], ThinkingConfig] = msgspec.json.Decoder(ThinkingConfig).decode
