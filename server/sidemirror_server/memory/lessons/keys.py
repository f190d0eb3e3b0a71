"""Keys that recognise equal texts and equal episodes. Pure.

These digests are stored, so their inputs must never change.
"""

import re
import unicodedata
from collections.abc import Iterable
from hashlib import blake2b

from sidemirror_server.memory.lessons.episode import EpisodeStep

_WORD = re.compile(r"\w+")
_DIGEST_BYTES = 16


def plain(text: str) -> str:
    """`text` as a reader sees it: composed, without case and without invisible characters."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(c for c in folded if unicodedata.category(c) != "Cf") if not folded.isascii() else folded


def text_key(text: str) -> str:
    """A key that is equal for texts with the same words. Case, spaces, punctuation and invisible characters do not
    count. A text without words equals only itself."""
    return _digest([" ".join(_WORD.findall(plain(text))) or text])


def episode_key(task: str, outcome: str, steps: Iterable[EpisodeStep]) -> str:
    """A key that is equal for an episode and its replay: of task, outcome and ordered steps, without ids and times."""
    parts = [task, outcome]
    for step in steps:
        parts += (step.event_type, step.tool_name, step.content, step.error)
    return _digest([" ".join(plain(part).split()) for part in parts])


def named_episode(episode: str, session_id: str, event_ids: Iterable[str], text: str) -> str:
    """The digest of an episode that a request names: `episode` itself if it is a digest, else one made of the session
    and the events; without events of the session and the lesson's `text`, since a session has many episodes. Empty if
    none is given."""
    if len(episode) == 2 * _DIGEST_BYTES and set(episode) <= set("0123456789abcdef"):
        return episode
    events = tuple(event_ids)
    if not any(events):
        return _digest([session_id, text_key(text)]) if session_id else ""
    return _digest([session_id, *events])


def _digest(parts: Iterable[str]) -> str:
    digest = blake2b(digest_size=_DIGEST_BYTES)
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big"))
        digest.update(raw)
    return digest.hexdigest()
