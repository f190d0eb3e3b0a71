"""When what a project's agents are told was changed, and by whom: the mode, and what policies turn off.

A change is a note of the journal, in the project whose agents it concerns; that of a tenant's policy concerns all
projects, and is noted once, in a project that no call can name. A mode belongs to a sidecar, which notes it with
its first turn in a project unless the last note has the same one: a project that was never in shadow has no notes. It
holds from the sidecar's start on, which is the time of the note, and so ends the mode of the sidecar before it.
"""

import asyncio
import logging

import msgspec

from sidemirror_server.policy.record import Advice, PolicyLevel
from sidemirror_server.trace.log import Journal, Note
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.errors import SidemirrorError
from sidemirror_server.vocabulary.ids import new_id
from sidemirror_server.vocabulary.scope import Scope, whose

_log = logging.getLogger(__name__)

TOPIC = "advice_changes"
ON, SHADOW = "on", "shadow"
# For the journal, which keeps notes four times as long. Chosen here: a year, as trials are kept.
_KEPT_US = 91 * 24 * 3600 * 1_000_000
# Contract: GetServerInfoResponse.advice_changes has the last 200.
_MOST = 200
# Of one read of the journal, in notes and bytes.
_PAGE, _PAGE_BYTES = 500, 1024 * 1024
# The project of what concerns all of a tenant's projects. It is not printable, so that no call can name it.
_ALL_PROJECTS = "\x1fall"
# The most projects whose mode is known to be noted; beyond it they are looked at again. Chosen here: some MiB.
_MOST_SCOPES = 10_000


class AdviceChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """One change. `mode`: the new one, or empty; `level`: whose policy was changed, or empty. `changed_by`: the name of
    the token. Field names are part of the stored format."""

    at_us: int
    changed_by: str = ""
    mode: str = ""
    level: str = ""
    before: Advice = Advice()
    after: Advice = Advice()
    reason: str = ""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(AdviceChange).decode


class AdviceChanges:
    """Notes changes, and reads them."""

    def __init__(self, journal: Journal, clock: Clock, *, is_shadow: bool) -> None:
        self._journal = journal
        self._clock = clock
        self._mode = SHADOW if is_shadow else ON
        self._started_us = clock.now_us()
        self._noted: set[Scope] = set()
        self._noting: set[asyncio.Task[None]] = set()

    def begin(self, scope: Scope) -> None:
        """A turn begins in this project: notes the mode beside it, if this sidecar did not look yet."""
        if scope in self._noted:
            return
        if len(self._noted) >= _MOST_SCOPES:
            self._noted.clear()
        self._noted.add(scope)
        noting = asyncio.create_task(self._note_mode(scope, self._clock.now_us()))
        self._noting.add(noting)
        noting.add_done_callback(self._noting.discard)

    async def policy_set(
        self,
        scope: Scope,
        level: PolicyLevel,
        changed_by: str,
        before: Advice,
        after: Advice,
        version: int,
        reason: str = "",
    ) -> None:
        """Notes that a policy was changed, if that changed its advice. `version`: of the new policy; 0: it was removed.
        Raises what the store raises."""
        if before == after:
            return
        now_us = self._clock.now_us()
        key = f"{level.value}/{version or new_id(now_us)}"
        place = _of_all(scope) if level is PolicyLevel.TENANT else scope
        change = AdviceChange(now_us, changed_by, "", level.value, before, after, reason)
        await self._add(place, key, change, now_us)

    async def of(self, scope: Scope) -> tuple[AdviceChange, ...]:
        """The last 200 changes of a project and of its tenant, the newest first. The mode of this sidecar is among them
        without a turn too, where it ends the last one on record. Raises StoreUnavailable."""
        found = (*await self._on_record(scope), *await self._on_record(_of_all(scope)))
        last = next((one.mode for one in found if one.mode), self._mode)
        own = () if last == self._mode else (AdviceChange(self._started_us, mode=self._mode),)
        return tuple(sorted((*own, *found), key=lambda one: one.at_us, reverse=True))[:_MOST]

    async def _on_record(self, scope: Scope) -> tuple[AdviceChange, ...]:
        found: list[AdviceChange] = []
        after = 0
        while entries := await self._journal.tail(scope, TOPIC, None, after, _PAGE, _PAGE_BYTES):
            after = entries[-1].position
            found += (_decode(entry.body) for entry in entries)
            del found[:-_MOST]
        return tuple(sorted(found, key=lambda one: one.at_us, reverse=True))

    async def _note_mode(self, scope: Scope, now_us: int) -> None:
        try:
            last = next((one.mode for one in await self._on_record(scope) if one.mode), ON)
            if last != self._mode:
                change = AdviceChange(self._started_us, mode=self._mode)
                await self._add(scope, f"mode/{new_id(now_us)}", change, now_us)
        except SidemirrorError as error:
            self._noted.discard(scope)
            _log.info("mode_not_noted", extra={**whose(scope), "reason": type(error).__name__})

    async def _add(self, scope: Scope, key: str, change: AdviceChange, now_us: int) -> None:
        await self._journal.add(scope, TOPIC, Note(key, "", now_us, _encode(change)), _KEPT_US)


def _of_all(scope: Scope) -> Scope:
    """Where it is noted what concerns all projects of a scope's tenant."""
    return Scope(scope.tenant_id, _ALL_PROJECTS)
