"""The hosts whose hooks are served, by the name that their path has."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from sidemirror_server.http.hooks.hosts import claude_code, codex, cursor, gemini_cli, like_claude, openhands
from sidemirror_server.http.hooks.hosts.happening import Happening
from sidemirror_server.http.hooks.hosts.payload import Payload


class Host(Struct, frozen=True):
    """How a host tells and is answered. `event_field`: where a hook names its event. `told` makes the answer that
    brings a text to the agent, empty for an event that takes none; `sent_back` the one that sends it back to work.
    `hears_in_turns`: whether any event within a turn takes words."""

    event_field: str
    read: Callable[[str, Payload], Happening | None]
    told: Callable[[str, str], dict[str, Any]]
    sent_back: Callable[[str], dict[str, Any]]
    hears_in_turns: bool = True


HOSTS = {
    "claude-code": Host("hook_event_name", claude_code.read, like_claude.told, like_claude.sent_back),
    "codex": Host("hook_event_name", codex.read, like_claude.told, like_claude.sent_back),
    "gemini-cli": Host("hook_event_name", gemini_cli.read, like_claude.told, gemini_cli.sent_back),
    "cursor": Host("hook_event_name", cursor.read, cursor.told, cursor.sent_back),
    "openhands": Host("event_type", openhands.read, openhands.told, openhands.sent_back, hears_in_turns=False),
}
