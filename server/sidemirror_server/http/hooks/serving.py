"""Hooks of coding agents: `POST /hooks/HOST` takes what the host tells and answers in its form.

Whatever goes wrong, the answer is empty, which every host takes for a hook that has nothing to say. The caller says in
a header how long it waits; the answer is there before. What takes longer is still recorded, and its words wait for the
next hook of the turn (decision 097).
"""

import asyncio
import logging
from collections import OrderedDict, defaultdict, deque
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any

import grpc
import msgspec
from msgspec import Struct

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
from sidemirror_server.http.hooks.hosts.payload import payload_in, text_in
from sidemirror_server.http.hooks.projects import project_of
from sidemirror_server.http.hooks.table import HOSTS, Host
from sidemirror_server.rpc.boundary.access import Token
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
# Hooks whose host does not wait any more: so many go on, each for so many seconds. Chosen here: some 13 MB, less than
# half of the calls that the door takes at once, and much more than a sidecar needs that is only busy.
_MOST_LATE = 100
_LATE_S = 30.0
# Of so many of the last hooks of a caller's host it is known whether they were late.
_REMEMBERED = 100
# The longest hook. Chosen here: what a tool has read of an image or a document, in base64, and no more than comes in an
# attached hook's time.
_LONGEST_BYTES = 16 * 1024 * 1024
_TOO_LONG = grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
# A longer hook is read on a thread: other calls go on meanwhile. As for events (`rpc/thinking/turn_events.py`).
_LONG_BYTES = 64 * 1024
# Characters of a session's or a subagent's id, which stay in memory. Chosen here: many times what hosts have.
_LONGEST_ID = 1_000


class _Hook(Struct):
    """One event of a host on its way. `is_heard`: whether the host waits for the answer."""

    name: str
    host: Host
    event: str
    happening: Happening
    context: HttpContext
    caller: Token | None
    conversation: Conversation
    is_heard: bool = True


class Hooks:
    """An ASGI application that serves the hooks of every host."""

    def __init__(self, handlers: Mapping[str, Any], identity: Identity, most_bytes: int, *, revises: bool) -> None:
        """`handlers`: gRPC's, by path. `most_bytes`: the longest message; a longer hook is cut. `revises`: whether a
        final answer that a critique finds wrong is sent back."""
        self._handlers = handlers
        self._identity = identity
        self._most_bytes = most_bytes
        # Held by a hook that is longer, so that one of them at a time is in memory.
        self._reading_long = asyncio.Lock()
        self._revises = revises
        self._conversations: OrderedDict[tuple[str, str, str, str], Conversation] = OrderedDict()
        # Kept here too because the loop alone would let go of them.
        self._serving: set[asyncio.Task[dict[str, Any]]] = set()
        self._were_late: defaultdict[tuple[str, str], deque[bool]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))

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
        ends_s = asyncio.get_running_loop().time() + _timeout_s(scope)
        try:
            async with asyncio.timeout_at(ends_s - _WAY_S):
                hook = await self._read(name, HOSTS[name], scope, receive)
            if hook is not None:
                said = await self._answered(hook, ends_s)
        except (Ended, TimeoutError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            # Its body may not have been read: the connection ends, once the rest of it was thrown away.
            more = [CLOSE]
            _tell_failed(name, error)
        except CallerLeft:
            return
        await answer(send, 200, "application/json", msgspec.json.encode(said) if said else b"", more)

    async def close(self) -> None:
        """Ends what nobody waits for any more."""
        serving = list(self._serving)
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)

    async def _read(self, name: str, host: Host, scope: Scope, receive: Receive) -> _Hook | None:
        """What a host tells; None if there is nothing to record. Raises as `read_body`, and what decoding raises."""
        length = only(scope, b"content-length")
        is_long = length.isdigit() and int(length) > self._most_bytes
        most_bytes = max(self._most_bytes, _LONGEST_BYTES) if is_long else self._most_bytes
        async with self._reading_long if is_long else nullcontext():
            try:
                body = await read_body(scope, receive, most_bytes)
            except Ended as ended:
                if ended.status.code == _TOO_LONG:
                    _log.warning("hook_too_long", extra={"host": name, "most_bytes": most_bytes})
                raise
            if len(body) > _LONG_BYTES:
                event, happening = await asyncio.to_thread(_told_by, host, body, self._most_bytes)
            else:
                event, happening = _told_by(host, body, self._most_bytes)
        if happening is None or not happening.session:
            return None
        if max(len(happening.session), len(happening.agent)) > _LONGEST_ID:
            return None
        context = HttpContext(scope, None)
        caller = self._identity.caller_of("hooks", context)  # type: ignore[arg-type]  # what it asks of gRPC's, it has
        key = (caller.name if caller else "", name, happening.session, happening.agent)
        return _Hook(name, host, event, happening, context, caller, self._conversation(key))

    async def _answered(self, hook: _Hook, ends_s: float) -> dict[str, Any]:
        """The answer, if it is there in time; else none, and the hook is served all the same. Raises as `_serve`."""
        serving = asyncio.create_task(self._serve(hook, ends_s))
        self._serving.add(serving)
        serving.add_done_callback(self._serving.discard)
        left_s = ends_s - _WAY_S - asyncio.get_running_loop().time()
        await asyncio.wait((serving,), timeout=max(0.0, left_s))
        hook.is_heard = serving.done()
        hook.conversation.were_late.append(not hook.is_heard)
        if hook.is_heard:
            return serving.result()
        _log.info("hook_late", extra={"host": hook.name, "token": hook.caller.name if hook.caller else ""})
        serving.add_done_callback(partial(_tell_late, hook.name))
        if len(self._serving) > _MOST_LATE:
            serving.cancel()
        return {}

    async def _serve(self, hook: _Hook, ends_s: float) -> dict[str, Any]:
        """Records a hook, and returns the answer. Raises Ended, and TimeoutError long after its end."""
        conversation, happening = hook.conversation, hook.happening
        async with asyncio.timeout_at(ends_s + _LATE_S), conversation.lock:
            begins = isinstance(happening.what, Prompted) and not conversation.goes_on(happening)
            if conversation.project_id is None or begins:
                project_id = await asyncio.to_thread(project_of, happening.folder)
                reaches = self._identity.reaches(hook.caller, project_id)
                conversation.project_id = project_id if reaches else ""
            calls = Calls(self._handlers, hook.context, conversation.project_id)
            told = await self._act(hook, calls, ends_s)
            conversation.last_heard = hash(happening)
            return told

    async def _act(self, hook: _Hook, calls: Calls, ends_s: float) -> dict[str, Any]:
        conversation, happening = hook.conversation, hook.happening
        text, wait_s = "", max(0.0, ends_s - 2 * _WAY_S - asyncio.get_running_loop().time())
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
                if prompt and not hook.is_heard:
                    # The agent has ended its turn meanwhile.
                    await conversation.left(calls)
                return hook.host.sent_back(prompt) if prompt else {}
            case HostLeft():
                await conversation.left(calls)
        text = "\n".join(part for part in (conversation.untold, text) if part)
        told = hook.host.told(hook.event, text) if text and hook.is_heard else {}
        conversation.untold = "" if told else text
        return told

    def _conversation(self, key: tuple[str, str, str, str]) -> Conversation:
        found = self._conversations.get(key)
        if found is None:
            hears_in_turns = HOSTS[key[1]].hears_in_turns
            found = Conversation(*key[1:], self._were_late[key[:2]], hears_in_turns=hears_in_turns)
            self._conversations[key] = found
            if len(self._conversations) > _MOST:
                self._conversations.popitem(last=False)
        self._conversations.move_to_end(key)
        return found


def _told_by(host: Host, body: bytes, most_bytes: int) -> tuple[str, Happening | None]:
    """The event of a hook, and what it tells; None if there is nothing to record."""
    payload = payload_in(body, most_bytes)
    event = text_in(payload, host.event_field)
    return event, host.read(event, payload)


def _tell_failed(name: str, error: BaseException) -> None:
    """Logs what went wrong, without the error's text: it may quote what the host has told."""
    code = error.status.code if isinstance(error, Ended) else 0
    _log.info("hook_not_served", extra={"host": name, "error": type(error).__name__, "code": code})


def _tell_late(name: str, served: asyncio.Task[dict[str, Any]]) -> None:
    """Logs what went wrong with a hook for whose answer nobody waited."""
    if not served.cancelled() and (error := served.exception()) is not None:
        _tell_failed(name, error)


def _timeout_s(scope: Scope) -> float:
    """Seconds that the caller waits."""
    with suppress(ValueError):
        return min(_LONGEST_MS, int(only(scope, TIMEOUT_HEADER) or _TIMEOUT_MS)) / 1000
    return _TIMEOUT_MS / 1000
