"""Wake-ups between sidecars that share a Postgres: after an append one notifies, and those with a watch listen.

A notification says only that something was appended somewhere in the database, since channels know no row policies
(decision 056). It follows the commit, in a transaction of its own, at most ten times a second for each sidecar. One
that is lost costs nothing but time: whoever listens looks by itself now and then (`trace/live.py:Lookout`).
"""

import asyncio
import logging
from collections.abc import Callable

from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.vocabulary.errors import SidemirrorError

_log = logging.getLogger(__name__)

_CHANNEL = "sidemirror_log"
# Notifications of one sidecar are at least this far apart.
_APART_S = 0.1
# How long to wait before listening again after a failure; the wait doubles. Chosen here: a server that restarts is
# heard soon, and one that refuses is asked once a minute.
_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 60.0


class PostgresWakes:
    """Tells other sidecars of appends, and hears of theirs while somebody watches."""

    def __init__(self, database: PostgresDatabase, url: str) -> None:
        """`url`: the address for listening, without a pooler between; empty: neither tells nor hears."""
        self._database = database
        self._url = url
        self._telling: asyncio.Task[None] | None = None
        self._has_news = False
        self._hearing: asyncio.Task[None] | None = None
        self._is_heard = False

    def tell(self) -> None:
        """Reports that this sidecar has appended something, after the commit."""
        self._has_news = bool(self._url)
        if self._has_news and self._telling is None:
            self._telling = asyncio.create_task(self._tell())
            self._telling.add_done_callback(self._told)

    async def _tell(self) -> None:
        while self._has_news:
            self._has_news = False
            try:
                await self._database.announce(_CHANNEL)
            except SidemirrorError as failure:
                _log.debug("wake_up_lost", extra={"reason": str(failure)})
            await asyncio.sleep(_APART_S)

    def _told(self, _: asyncio.Task[None]) -> None:
        self._telling = None

    @property
    def is_heard(self) -> bool:
        """Whether notifications arrive now."""
        return self._is_heard

    def listen(self, heard: Callable[[], None]) -> None:
        """Calls `heard` at each notification, and each time that it begins to listen, until `mute`."""
        if self._url and self._hearing is None:
            self._hearing = asyncio.create_task(self._hear(heard))

    def mute(self) -> None:
        """Ends `listen`, and closes its connection."""
        if self._hearing is not None:
            self._hearing.cancel()
            self._hearing = None
            self._is_heard = False
            self._database.listen_no_more()

    async def close(self) -> None:
        """Ends both, without waiting for what is to be told."""
        tasks = [task for task in (self._telling, self._hearing) if task is not None]
        self.mute()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _hear(self, heard: Callable[[], None]) -> None:
        wait_s = _FIRST_WAIT_S
        while True:
            try:
                ended = await self._database.listen(self._url, _CHANNEL, heard)
            except SidemirrorError as failure:
                if wait_s == _FIRST_WAIT_S:
                    _log.warning("wake_ups_not_heard", extra={"reason": str(failure)})
            else:
                wait_s = _FIRST_WAIT_S
                self._is_heard = True
                heard()  # what was appended before has told nobody here
                await ended.wait()
                self._is_heard = False
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
