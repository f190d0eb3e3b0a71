"""Encloses the data of a prompt in tags that no text between them can close.

The rooms' prompts use it, because recorded and reported texts may contain orders, or try to end their block.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b


def fence(texts: Iterable[str]) -> str:
    """A tag with a hash of the enclosed texts: a text that contains the tag would have to guess the hash."""
    digest = blake2b("\x00".join(texts).encode("utf-8", "surrogatepass"), digest_size=8)
    return f"data-{digest.hexdigest()}"


def fenced(parts: Sequence[tuple[str, str]]) -> str:
    """Each part's heading, and its text between tags; parts without a text are left out."""
    shown = [(heading, text) for heading, text in parts if text.strip()]
    tag = fence(text for _, text in shown)
    return "\n\n".join(f"{heading}:\n<{tag}>\n{text}\n</{tag}>" for heading, text in shown)
