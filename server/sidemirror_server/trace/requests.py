"""Answers by request_id, so that a repeated request gets the same answer.

`rpc/boundary/requests.py` looks here before a write and keeps the answer after it. The result of a failed write is not
kept, so a retry with its id runs the write again. Adapters: `storage/*/requests.py`.
"""

from typing import Protocol

import msgspec

from sidemirror_server.vocabulary.ids import RequestId
from sidemirror_server.vocabulary.scope import Scope, Serves

# Decision 004: the same id gets the same answer for 24 hours.
KEPT_FOR_US = 24 * 3600 * 1_000_000


class Answered(msgspec.Struct, frozen=True):
    """An answered request. `digest`: of the request's content; `answer`: the response as sent."""

    digest: bytes
    answer: bytes


class Requests(Protocol):
    """Remembers answers by scope, method and request_id.

    RQ1  `recall` returns the remembered answer; None if there is none, or if it has expired at `now_us`.
    RQ2  `remember` keeps only the first answer for an id, and returns the kept answer.
    RQ3  An expired answer counts as absent: another answer may take its place.
    RQ4  `forget` removes answers that have expired at `now_us`, at most `limit`, and returns how many.
    RQ5  The same request_id under another scope or another method is another request.
    RQ6  `forget` leaves the answers of scopes that are not served; they do not count towards `limit`.
    `sources`: keys of `trace/sources.py`, by which an erasure finds the answer (clause ER13). An answer is
    returned and not kept if one of its sources was erased since `now_us`, when the request came (ER14).
    Raises StoreUnavailable, StoreFull.
    """

    async def recall(self, scope: Scope, method: str, request_id: RequestId, now_us: int) -> Answered | None: ...

    async def remember(
        self,
        scope: Scope,
        method: str,
        request_id: RequestId,
        answered: Answered,
        now_us: int,
        expires_us: int,
        sources: tuple[str, ...] = (),
    ) -> Answered: ...

    async def forget(self, serves: Serves, now_us: int, limit: int) -> int: ...
