"""Hooks of coding agents: `POST /hooks/HOST` takes what the host tells and answers in its form.

Whatever goes wrong, the answer is empty, which every host takes for a hook that has nothing to say. The caller says in
a header how long it waits; the answer is there before.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from sidemirror_server.http.asgi import CLOSE, Headers, Receive, Scope, Send, answer, only, tell
from sidemirror_server.http.connect.bodies import Left as CallerLeft
from sidemirror_server.http.connect.bodies import read_body
from sidemirror_server.http.context import Ended, HttpContext
from sidemirror_server.http.hooks.calls import Calls
from sidemirror_server.http.hooks.conversation import Conversation
from sidemirror_server.http.hooks.hosts.happening import (
    AnswerGiven,
    CallEnded,
    Happening,
    HostLeft,
    Prompted,
    SaidByAgent,
)
from sidemirror_server.http.hooks.hosts.payload import text_in
from sidemirror_server.http.hooks.projects import project_of
from sidemirror_server.http.hooks.table import HOSTS, Host
from sidemirror_server.rpc.boundary.identity import Identity

_log = logging.getLogger(__name__)

PATH = "/hooks/"
# Milliseconds after which the caller gives up. Without the header: what `attach` gives the hooks of tools.
TIMEOUT_HEADER = b"sidemirror-timeout-ms"
_TIMEOUT_MS = 300
_LONGEST_MS = 60_000
# Seconds that the answer needs on its way. Chosen here: many times what loopback takes.
_WAY_S = 0.05
# Conversations in memory; of more, those leave that were silent for longest. Chosen here: some 10 MB.
_MOST = 10_000
# A longer hook is read on a thread: other calls go on meanwhile. As for events (`rpc/thinking/turn_events.py`).
_LONG_BYTES = 64 * 1024
# Characters of a session's or a subagent's id, which stay in memory. Chosen here: many times what hosts have.
_LONGEST_ID = 1_000


class Hooks:
    """An ASGI application that serves the hooks of every host."""

    def __init__(self, handlers: Mapping[str, Any], identity: Identity, most_bytes: int, *, revises: bool) -> None:
        """`handlers`: gRPC's, by path. `most_bytes`: the longest body. `revises`: whether a final answer that a
        critique finds wrong is sent back."""
        self._handlers = handlers
        self._identity = identity
        self._most_bytes = most_bytes
        self._revises = revises
        self._conversations: OrderedDict[tuple[str, str, str, str], Conversation] = OrderedDict()

    @property
    def paths(self) -> list[str]:
        """The paths that are served."""
        return [f"{PATH}{name}" for name in HOSTS]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await tell(send, 405, "POST is expected", [(b"allow", b"POST"), CLOSE])
            return
        name = scope["path"].removeprefix(PATH)
        said: dict[str, Any] = {}
        more: Headers = []
        try:
            async with asyncio.timeout(max(0.0, _timeout_s(scope) - _WAY_S)):
                said = await self._answer(name, HOSTS[name], scope, receive)
        except (Ended, TimeoutError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            # Without the error's text: it may quote what the host has told.
            code = error.status.code if isinstance(error, Ended) else 0
            # Its body may not have been read: the connection ends, once the rest of it was thrown away.
            more = [CLOSE]
            _log.info("hook_not_served", extra={"host": name, "error": type(error).__name__, "code": code})
        except CallerLeft:
            return
        await answer(send, 200, "application/json", msgspec.json.encode(said) if said else b"", more)

    async def _answer(self, name: str, host: Host, scope: Scope, receive: Receive) -> dict[str, Any]:
        body = await read_body(scope, receive, self._most_bytes)
        payload = msgspec.json.decode(body, type=dict[str, Any])
        event = text_in(payload, host.event_field)
        is_long = len(body) > _LONG_BYTES
        happening = await asyncio.to_thread(host.read, event, payload) if is_long else host.read(event, payload)
        if happening is None or not happening.session:
            return {}
        if max(len(happening.session), len(happening.agent)) > _LONGEST_ID:
            return {}
        context = HttpContext(scope, None)
        caller = self._identity.caller_of("hooks", context)  # type: ignore[arg-type]  # what it asks of gRPC's, it has
        key = (caller.name if caller else "", name, happening.session, happening.agent)
        conversation = self._conversation(key)
        async with conversation.lock:
            if conversation.project_id is None or isinstance(happening.what, Prompted):
                project_id = await asyncio.to_thread(project_of, happening.folder)
                reaches = self._identity.reaches(caller, project_id)
                conversation.project_id = project_id if reaches else ""
            calls = Calls(self._handlers, context, conversation.project_id)
            return await self._act(conversation, calls, host, event, happening, scope)

    async def _act(
        self, conversation: Conversation, calls: Calls, host: Host, event: str, happening: Happening, scope: Scope
    ) -> dict[str, Any]:
        text, wait_s = "", _timeout_s(scope) - 2 * _WAY_S
        match happening.what:
            case Prompted() as asked:
                text = await conversation.asked(calls, happening, asked, critiques=self._revises)
            case CallEnded() as ran:
                text = await conversation.ran(calls, happening, ran, critiques=self._revises, wait_s=wait_s)
            case SaidByAgent() as said:
                conversation.said(said)
            case AnswerGiven() as answered:
                wait_s = wait_s if self._revises else 0.0
                prompt = await conversation.answered(calls, happening, answered, wait_s=wait_s)
                return host.sent_back(prompt) if prompt else {}
            case HostLeft():
                await conversation.left(calls)
        text = "\n".join(part for part in (conversation.untold, text) if part)
        told = host.told(event, text) if text else {}
        conversation.untold = "" if told else text
        return told

    def _conversation(self, key: tuple[str, str, str, str]) -> Conversation:
        found = self._conversations.get(key)
        if found is None:
            found = self._conversations[key] = Conversation(*key[1:], hears_in_turns=HOSTS[key[1]].hears_in_turns)
            if len(self._conversations) > _MOST:
                self._conversations.popitem(last=False)
        self._conversations.move_to_end(key)
        return found


def _timeout_s(scope: Scope) -> float:
    """Seconds that the caller waits."""
    with suppress(ValueError):
        return min(_LONGEST_MS, int(only(scope, TIMEOUT_HEADER) or _TIMEOUT_MS)) / 1000
    return _TIMEOUT_MS / 1000
