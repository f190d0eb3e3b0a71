"""What every adapter of the port `Requests` does, clause by clause.

Each test is given a function that opens the port on one empty store; called again, it gives another object on it.
"""

import asyncio
from collections.abc import Callable

from sidemirror_server.trace.requests import Answered, Requests
from sidemirror_server.vocabulary.ids import RequestId
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope
from tests.conformance.served import ACME, REST, SHOP

OpenRequests = Callable[[], Requests]

ONE, OTHER, THIRD = Scope("acme", "shop"), Scope("acme", "blog"), Scope("other", "shop")
T0 = 1_700_000_000_000_000
METHOD = "CreateSession"
R1, R2 = RequestId("r1"), RequestId("Grüße \U0001f642")

FIRST = Answered(b"\x00\xff" * 8, bytes(range(256)))
SECOND = Answered(b"\x01" * 16, b"")


async def rq1_recall_until_it_expires(open_requests: OpenRequests) -> None:
    requests = open_requests()
    assert await requests.recall(ONE, METHOD, R1, T0) is None
    await requests.remember(ONE, METHOD, R1, FIRST, T0, T0 + 10)
    await requests.remember(ONE, METHOD, R2, SECOND, T0, T0 + 20)
    assert await open_requests().recall(ONE, METHOD, R1, T0 + 9) == FIRST
    assert await requests.recall(ONE, METHOD, R1, T0 + 10) is None
    assert await requests.recall(ONE, METHOD, R2, T0 + 10) == SECOND


async def rq2_the_first_answer_is_kept(open_requests: OpenRequests) -> None:
    requests = open_requests()
    assert await requests.remember(ONE, METHOD, R1, FIRST, T0, T0 + 10) == FIRST
    assert await requests.remember(ONE, METHOD, R1, SECOND, T0 + 1, T0 + 30) == FIRST
    assert await requests.recall(ONE, METHOD, R1, T0 + 9) == FIRST
    assert await requests.recall(ONE, METHOD, R1, T0 + 10) is None
    answers = [Answered(b"%d" % number, b"") for number in range(8)]
    together = [open_requests().remember(ONE, METHOD, R2, answer, T0, T0 + 10) for answer in answers]
    assert len(set(await asyncio.gather(*together))) == 1


async def rq3_an_expired_answer_is_replaced(open_requests: OpenRequests) -> None:
    requests = open_requests()
    await requests.remember(ONE, METHOD, R1, FIRST, T0, T0 + 10)
    assert await requests.remember(ONE, METHOD, R1, SECOND, T0 + 10, T0 + 20) == SECOND
    assert await requests.recall(ONE, METHOD, R1, T0 + 19) == SECOND
    assert await requests.recall(ONE, METHOD, R1, T0 + 20) is None


async def rq4_forget_removes_what_has_expired(open_requests: OpenRequests) -> None:
    requests = open_requests()
    assert await requests.forget(SERVES_ALL, T0, 10) == 0
    for number, scope in enumerate((ONE, OTHER, THIRD, ONE, OTHER)):
        await requests.remember(scope, METHOD, RequestId(f"r{number}"), FIRST, T0, T0 + number)
    assert await requests.forget(SERVES_ALL, T0 + 3, 3) == 3
    assert await requests.forget(SERVES_ALL, T0 + 3, 3) == 1
    assert await requests.forget(SERVES_ALL, T0 + 3, 3) == 0
    assert await requests.recall(OTHER, METHOD, RequestId("r4"), T0) == FIRST
    for number, scope in enumerate((ONE, OTHER, THIRD, ONE)):
        assert await requests.recall(scope, METHOD, RequestId(f"r{number}"), T0 - 1) is None


async def rq5_scopes_and_methods_never_meet(open_requests: OpenRequests) -> None:
    requests = open_requests()
    places = [(scope, method) for scope in (ONE, OTHER, THIRD) for method in (METHOD, "DeleteSession")]
    for number, (scope, method) in enumerate(places):
        assert await requests.recall(scope, method, R1, T0) is None
        answered = Answered(b"%d" % number, b"")
        assert await requests.remember(scope, method, R1, answered, T0, T0 + 10) == answered
    for number, (scope, method) in enumerate(places):
        answered = Answered(b"%d" % number, b"")
        assert await requests.recall(scope, method, R1, T0) == answered
        assert await requests.remember(scope, method, R1, Answered(b"later", b""), T0, T0 + 10) == answered


async def rq6_answers_of_others_stay(open_requests: OpenRequests) -> None:
    requests = open_requests()
    for number, scope in enumerate((OTHER, THIRD, ONE, ONE)):
        await requests.remember(scope, METHOD, RequestId(f"r{number}"), FIRST, T0, T0 + number)
    # What others have is older, and there is no room for it in the limit.
    assert await requests.forget(SHOP, T0 + 9, 1) == 1
    assert await requests.forget(SHOP, T0 + 9, 9) == 1
    assert await requests.forget(SHOP, T0 + 9, 9) == 0
    assert await requests.forget(ACME, T0 + 9, 9) == 1
    assert await requests.forget(ACME, T0 + 9, 9) == 0
    assert await requests.forget(REST, T0 + 9, 9) == 1
