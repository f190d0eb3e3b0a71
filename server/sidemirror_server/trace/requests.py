"""What was asked under a request_id and what was answered, so that the same request is answered the same again.

`rpc/requests.py` asks here before a write and keeps the answer after it. A write that failed is never kept, so a failed
try does not bind its id. Adapters: `storage/sqlite/requests.py`.
"""

from typing import Protocol

import msgspec

from sidemirror_server.vocabulary.ids import RequestId
from sidemirror_server.vocabulary.scope import Scope, Serves

# Design section 2: the same id answers the same for 24 hours.
KEPT_FOR_US = 24 * 3600 * 1_000_000


class Answered(msgspec.Struct, frozen=True):
    """A request that was answered. `digest` is of the request's content, `answer` the response as it was sent."""

    digest: bytes
    answer: bytes


class Requests(Protocol):
    """Remembers answers by scope, method and request_id.

    RQ1  `recall` returns what was remembered, None when nothing was or when it has expired at `now_us`.
    RQ2  `remember` keeps the first answer: it returns the one that is kept, which may be an earlier one.
    RQ3  An expired answer counts as absent: another may take its place.
    RQ4  `forget` removes what has expired at `now_us`, at most `limit`, and returns how many it removed.
    RQ5  The same request_id under another scope or another method is another request.
    RQ6  `forget` leaves the answers of scopes that are not served; they do not count towards `limit`.
    Raises StoreUnavailable, StoreFull.
    """

    async def recall(self, scope: Scope, method: str, request_id: RequestId, now_us: int) -> Answered | None: ...

    async def remember(
        self, scope: Scope, method: str, request_id: RequestId, answered: Answered, now_us: int, expires_us: int
    ) -> Answered: ...

    async def forget(self, serves: Serves, now_us: int, limit: int) -> int: ...
