"""Data in a prompt: between tags that no text inside them can close.

Used by the rooms' prompts. What was recorded or reported may try to give orders, or to end its block.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b


def fence(texts: Iterable[str]) -> str:
    """A tag that depends on every character it encloses: a text that holds its own tag would have to guess a hash."""
    digest = blake2b("\x00".join(texts).encode("utf-8", "surrogatepass"), digest_size=8)
    return f"data-{digest.hexdigest()}"


def fenced(parts: Sequence[tuple[str, str]]) -> str:
    """Each part's heading, and its text between tags; parts without a text are left out."""
    shown = [(heading, text) for heading, text in parts if text.strip()]
    tag = fence(text for _, text in shown)
    return "\n\n".join(f"{heading}:\n<{tag}>\n{text}\n</{tag}>" for heading, text in shown)
