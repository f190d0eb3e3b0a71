"""The log of dreams, the unread memories, and the rules for when a pass is due. `dreaming.py` runs a pass."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from sidemirror_server.vocabulary.scope import Scope, Serves
from sidemirror_server.vocabulary.status import ResultStatus, Usage

_HOUR_US = 3600 * 1_000_000
# A pass is due this long after the last activity, or this long after the last pass at the latest (decision 034).
QUIET_US = 2 * _HOUR_US
LATEST_US = 24 * _HOUR_US
# The rest after a pass that changed nothing. The rest doubles with each further such pass in a row, up to
# LONGEST_REST_US. Chosen here: a project that teaches nothing new gets one pass a week.
FIRST_REST_US = 6 * _HOUR_US
LONGEST_REST_US = 7 * 24 * _HOUR_US


class DreamtLesson(msgspec.Struct, frozen=True, omit_defaults=True):
    """The lesson of one cluster. `supporting_ids`: the memories that it cites; `episodes`: how many distinct episodes
    taught them. `is_new`: False if the lesson was known and was strengthened."""

    reflection_id: str
    strategy_id: str
    supporting_ids: tuple[str, ...]
    episodes: int
    is_new: bool


class Dream(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The log entry of a pass. Field names are part of the stored format.

    `number`: counts the project's passes, from 1. `status`: OK, or the status of the failure that ended the pass, or
    else of its first failure. `read`: memories read as new; `left`: unread ones left to the next pass. `clusters`:
    those with a new memory and at least two episodes; `known` of them needed no question, `asked` were put to a model.
    `unsupported`: answers that cite fewer than two episodes or are of too little importance. `failed`: clusters without
    an answer. `usage`: of all questions; None if none was asked. `refused_ids`: the first new memory of each cluster
    that is left after a refused request, in this pass or an earlier one; the latest refusals come last.
    """

    dream_id: str
    number: int
    started_us: int
    ended_us: int
    status: ResultStatus = ResultStatus.OK
    detail: str = ""
    read: int = 0
    left: int = 0
    clusters: int = 0
    known: int = 0
    asked: int = 0
    unsupported: int = 0
    failed: int = 0
    lessons: tuple[DreamtLesson, ...] = ()
    usage: Usage | None = None
    refused_ids: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the pass made or strengthened a lesson."""
        return bool(self.lessons)

    @property
    def was_idle(self) -> bool:
        """Whether the pass read memories and changed nothing. A pass with nothing to read says nothing about the
        project, so it does not count as idle."""
        return not self.changed and bool(self.read or self.left)


class DreamHistory(msgspec.Struct, frozen=True):
    """The passes of a project. `dreams`: how many there were; `idle_dreams`: how many of the last ones in a row were
    idle (`Dream.was_idle`). `ended_us`: the last one's end, or 0. `rest_until_us`: no pass is due before then."""

    dreams: int = 0
    idle_dreams: int = 0
    ended_us: int = 0
    rest_until_us: int = 0


class Waiting(msgspec.Struct, frozen=True):
    """A project with unread memories. `standing`: its past passes. `first_us`, `last_us`: when the first and the last
    of these memories were created."""

    scope: Scope
    standing: DreamHistory
    first_us: int
    last_us: int


def is_due(waiting: Waiting, last_active_us: int, now_us: int) -> bool:
    """Whether a project's next pass is due (decision 034). `last_active_us`: its last activity."""
    if now_us < waiting.standing.rest_until_us:
        return False
    since_us = max(waiting.standing.ended_us, waiting.first_us)
    return now_us >= max(last_active_us, waiting.last_us) + QUIET_US or now_us >= since_us + LATEST_US


def rest_until(standing: DreamHistory, dream: Dream) -> int:
    """When the rest after this pass ends: now if the pass changed something, as before if there was nothing to read."""
    if dream.changed:
        return dream.ended_us
    if not dream.was_idle:
        return standing.rest_until_us
    return dream.ended_us + min(FIRST_REST_US << min(standing.idle_dreams, 10), LONGEST_REST_US)


# Encodes a log entry as JSON, and decodes it.
dream_body: Callable[[Dream], bytes] = msgspec.json.Encoder().encode
dream_in: Callable[[bytes], Dream] = msgspec.json.Decoder(Dream).decode


class Dreams(Protocol):
    """Stores the log of dreams and the list of unread memories.

    DR1  A reflection that `Memories` stores becomes unread, unless it is dreamt (`derived_from`). A strengthened or
         changed memory does not become unread again; a deleted one is not unread.
    DR2  `unread` returns at most `limit` ids of unread memories, the newest created first.
    DR3  `close` adds a dream to the log, marks its memories as read and counts it, in one transaction. It returns the
         stored entry.
    DR4  `close` with a number that the log already has changes nothing and returns the stored entry.
    DR5  `close` refuses a number that is not the next one of its project (WrongState) and changes nothing.
    DR6  `standing` returns the history of a project. `idle_dreams` skips passes that had nothing to read.
    DR7  `waiting` returns at most `limit` served projects with unread memories, the longest waiting first, without
         projects whose rest ends after `now_us`.
    DR8  `list` returns at most `limit` entries of the log below `before`, the newest first. The log loses no entry.
    DR9  Scopes are isolated.
    DR10 `waiting` skips projects that are not served; they do not count towards `limit`.
    Raises StoreUnavailable, StoreFull.
    """

    async def unread(self, scope: Scope, limit: int) -> tuple[str, ...]: ...

    async def close(self, scope: Scope, dream: Dream, read_ids: tuple[str, ...], rest_until_us: int) -> Dream: ...

    async def standing(self, scope: Scope) -> DreamHistory: ...

    async def waiting(self, serves: Serves, now_us: int, limit: int) -> tuple[Waiting, ...]: ...

    async def list(self, scope: Scope, before: int | None, limit: int) -> tuple[Dream, ...]: ...
