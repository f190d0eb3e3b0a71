"""Claude through Anthropic's official SDK, which is imported when it is first used."""

from sidemirror_server.models.adapters.anthropic.model import AnthropicModel

__all__ = ["AnthropicModel"]
