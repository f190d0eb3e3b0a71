"""Dreams: what passes over a project's memories came to, what no pass has read, and when the next one is due.

A pass itself is in `dreaming.py`.
"""

from typing import Protocol

import msgspec

from sidemirror_server.vocabulary.scope import Scope, Serves
from sidemirror_server.vocabulary.status import ResultStatus, Usage

_HOUR_US = 3600 * 1_000_000
# Design section 8, "Dreaming": after a project's last activity, and after the last pass at the latest.
QUIET_US = 2 * _HOUR_US
LATEST_US = 24 * _HOUR_US
# How long a project is left alone after a pass that changed nothing; twice as long after each further one in a row, at
# most the longest. Chosen here: a project that teaches nothing new is looked at once a week.
FIRST_REST_US = 6 * _HOUR_US
LONGEST_REST_US = 7 * 24 * _HOUR_US


class DreamtLesson(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a pass made of one cluster. `supporting_ids`: the memories that the lesson cites; `episodes`: how many
    distinct ones taught those. `is_new`: False where it was known already, and was strengthened."""

    reflection_id: str
    strategy_id: str
    supporting_ids: tuple[str, ...]
    episodes: int
    is_new: bool


class Dream(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a pass came to: field names are part of the stored format.

    `number`: of the project's passes, from 1. `status`: OK, or why it ended before all clusters were dreamt. `read`:
    memories that it read as new; `left`: new ones that are left to the next pass. `clusters`: groups with something new
    that two episodes or more support; `known`: those of them that a lesson says already; `asked`: those that a model
    was asked about; `unsupported`: answers that cite fewer than two episodes, or matter too little; `failed`: clusters
    for which there was no answer. `usage`: of all questions; None when nothing was asked. `refused_ids`: the first new
    memory of each cluster that is left and whose request was not taken, in this pass or an earlier one; those that were
    refused last come last.
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
        """It made something, or strengthened something."""
        return bool(self.lessons)

    @property
    def was_idle(self) -> bool:
        """It changed nothing, although there was something to read. Without that, asking for a pass says nothing of
        the project."""
        return not self.changed and bool(self.read or self.left)


class DreamHistory(msgspec.Struct, frozen=True):
    """Where a project stands: how many passes it had, when the last one ended (0: there was none), how many of the last
    ones in a row changed nothing although there was something to read, and until when it is left alone."""

    dreams: int = 0
    idle_dreams: int = 0
    ended_us: int = 0
    rest_until_us: int = 0


class Waiting(msgspec.Struct, frozen=True):
    """A project with memories that no pass has read: how it stands, and when the first and the last of them were
    made."""

    scope: Scope
    standing: DreamHistory
    first_us: int
    last_us: int


def is_due(waiting: Waiting, last_active_us: int, now_us: int) -> bool:
    """Whether a project dreams now (design section 8). `last_active_us`: when something was last heard of it."""
    if now_us < waiting.standing.rest_until_us:
        return False
    since_us = max(waiting.standing.ended_us, waiting.first_us)
    return now_us >= max(last_active_us, waiting.last_us) + QUIET_US or now_us >= since_us + LATEST_US


def rest_until(standing: DreamHistory, dream: Dream) -> int:
    """Until when a project is left alone after this pass: no longer than now when it changed something, and as long as
    before when there was nothing to read."""
    if dream.changed:
        return dream.ended_us
    if not dream.was_idle:
        return standing.rest_until_us
    return dream.ended_us + min(FIRST_REST_US << min(standing.idle_dreams, 10), LONGEST_REST_US)


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Dream).decode


def dream_body(dream: Dream) -> bytes:
    """The JSON that keeps an entry of the log."""
    return _encode(dream)


def dream_in(body: bytes) -> Dream:
    """The entry that such JSON keeps."""
    return _decode(body)


class Dreams(Protocol):
    """Keeps the log of dreams, and knows what no pass has read.

    DR1  A reflection that `Memories` keeps is unread from then on, unless it is dreamt itself (`derived_from`). A
         memory that is strengthened or changed does not become unread again; a deleted one is no longer.
    DR2  `unread` returns the ids of unread memories, the newest made first, at most `limit`.
    DR3  `close` keeps a dream in the log, makes the memories that it read read, and counts it: one transaction. It
         returns the entry that is kept.
    DR4  `close` of a number that the log has already changes nothing, and returns what is kept.
    DR5  `close` of a number that is not the next one of its project is refused (WrongState) and changes nothing.
    DR6  `standing` tells how a project stands; `idle_dreams` counts the last passes in a row that changed nothing,
         those aside that had nothing to read.
    DR7  `waiting` returns the projects served that have unread memories, the longest waiting first, at most `limit`;
         not those that are left alone beyond `now_us`.
    DR8  `list` returns the log, the newest first, below `before`, at most `limit`; nothing is ever removed from it.
    DR9  Scopes never meet.
    DR10 `waiting` leaves out projects that are not served; they do not count towards `limit`.
    Raises StoreUnavailable, StoreFull.
    """

    async def unread(self, scope: Scope, limit: int) -> tuple[str, ...]: ...

    async def close(self, scope: Scope, dream: Dream, read_ids: tuple[str, ...], rest_until_us: int) -> Dream: ...

    async def standing(self, scope: Scope) -> DreamHistory: ...

    async def waiting(self, serves: Serves, now_us: int, limit: int) -> tuple[Waiting, ...]: ...

    async def list(self, scope: Scope, before: int | None, limit: int) -> tuple[Dream, ...]: ...
