"""What every adapter of the port `Receipts` does, clause by clause.

Each test is given a function that opens the port on one empty store; called again, it gives another object on it.
"""

import asyncio
from collections.abc import Callable

import msgspec

from sidemirror_server.trace.receipts import Receipt, ReceiptItem, ReceiptKey, ReceiptKind, Receipts, ShownIn
from sidemirror_server.vocabulary.block import Omitted
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope
from tests.conformance.served import ACME, REST, SHOP

OpenReceipts = Callable[[], Receipts]

ONE, OTHER, THIRD = Scope("acme", "shop"), Scope("acme", "blog"), Scope("other", "shop")
T0 = 1_700_000_000_000_000
A, B, C = b"\x00" * 32, b"\xff" * 32, bytes(range(32))


def receipt(receipt_id: str, at_us: int = T0, *hashes: bytes, kind: ReceiptKind = ReceiptKind.GOAL) -> Receipt:
    items = tuple(ReceiptItem(f"i{number}", number, "lesson", one) for number, one in enumerate(hashes, start=1))
    return Receipt(receipt_id, kind, at_us, items)


async def rc1_the_first_of_an_id_is_kept(open_receipts: OpenReceipts) -> None:
    receipts = open_receipts()
    items = (
        ReceiptItem("Grüße \U0001f642", 7, "strategy", C),
        ReceiptItem("i2", 1, "", A),
        ReceiptItem("i3", 1, "", A, 0.25, "words", ("größe", "order")),
    )
    first = Receipt("r \U0001f642", ReceiptKind.MEMORY, T0, items, ("h1", "h2"), "t", "s", "g")
    assert await receipts.issue(ONE, first) == first
    assert await open_receipts().issue(ONE, msgspec.structs.replace(first, goal_id="x", items=())) == first
    assert await receipts.issue(ONE, receipt("r \U0001f642", T0 + 5, B)) == first
    assert await receipts.get(ONE, first.receipt_id) == first
    assert await receipts.shown(ONE, [A, B, C]) == {A, C}
    racing = [receipt("raced", T0 + number, A) for number in range(8)]
    assert len({one.time_us for one in await asyncio.gather(*(receipts.issue(ONE, one) for one in racing))}) == 1


async def rc2_get_of_an_unknown_id(open_receipts: OpenReceipts) -> None:
    receipts = open_receipts()
    assert await receipts.get(ONE, "r") is None
    await receipts.issue(ONE, receipt("r"))
    assert await receipts.get(ONE, "R") is None
    assert await receipts.get(ONE, "r") == receipt("r")


async def rc3_shown_tells_what_a_receipt_holds(open_receipts: OpenReceipts) -> None:
    receipts = open_receipts()
    assert await receipts.shown(ONE, [A, B]) == frozenset()
    await receipts.issue(ONE, receipt("r1", T0, A))
    await receipts.issue(ONE, msgspec.structs.replace(receipt("r2", T0 + 1, A, C), held_back=("i3",)))
    assert await receipts.shown(ONE, []) == frozenset()
    assert await receipts.shown(ONE, [B]) == frozenset()
    assert await receipts.shown(ONE, [A, B, A]) == {A}
    assert await open_receipts().shown(ONE, {A, B, C}) == {A, C}


async def rc4_lists_page_from_the_newest(open_receipts: OpenReceipts) -> None:
    receipts = open_receipts()
    kinds = (ReceiptKind.GOAL, ReceiptKind.MEMORY, ReceiptKind.TURN)
    # Two made at one time are in the order of their ids, downwards.
    places = ((T0, "a"), (T0 + 1, "c"), (T0 + 1, "b"), (T0 + 2, "z"), (T0, "b1"), (T0 + 1, "c1"))
    made = [receipt(name, at_us, A, kind=kinds[n % 3]) for n, (at_us, name) in enumerate(places)]
    for one in made:
        await receipts.issue(ONE, one)
    wanted = sorted(made, key=lambda one: (one.time_us, one.receipt_id), reverse=True)
    assert await receipts.find(ONE, None, 10) == tuple(wanted)
    found: list[Receipt] = []
    after: ReceiptKey | None = None
    while page := await receipts.find(ONE, after, 2):
        assert len(page) <= 2
        found += page
        after = ReceiptKey(page[-1].time_us, page[-1].receipt_id)
        # Newer ones do not move a list that is being read.
        await receipts.issue(ONE, receipt(f"new{len(found)}", T0 + 10, kind=ReceiptKind.MEMORY))
    assert found == wanted
    assert await receipts.find(ONE, ReceiptKey(T0 + 2, ""), 10, from_us=T0 + 1) == tuple(wanted[1:4])


async def rc5_forget_removes_the_oldest(open_receipts: OpenReceipts) -> None:
    receipts = open_receipts()
    assert await receipts.forget(SERVES_ALL, T0, 10) == 0
    for number, scope in ((4, ONE), (2, THIRD), (1, OTHER), (0, ONE), (3, ONE)):
        await receipts.issue(scope, receipt(f"r{number}", T0 + number, A, *([B] if number == 3 else [])))
    assert await receipts.forget(SERVES_ALL, T0 + 4, 2) == 2
    assert await receipts.get(ONE, "r0") is None
    assert await receipts.get(OTHER, "r1") is None
    assert await receipts.get(THIRD, "r2") == receipt("r2", T0 + 2, A)
    assert await receipts.shown(OTHER, [A]) == frozenset()
    assert await receipts.shown(ONE, [A, B]) == {A, B}
    assert await receipts.forget(SERVES_ALL, T0 + 4, 10) == 2
    assert await receipts.forget(SERVES_ALL, T0 + 4, 10) == 0
    assert await receipts.get(ONE, "r4") == receipt("r4", T0 + 4, A)
    assert await receipts.shown(ONE, [A, B]) == {A}
    assert await receipts.shown(THIRD, [A]) == frozenset()


async def rc6_scopes_never_meet(open_receipts: OpenReceipts) -> None:
    receipts = open_receipts()
    for scope, one in ((ONE, A), (OTHER, B), (THIRD, C)):
        assert await receipts.get(scope, "r") is None
        assert await receipts.find(scope, None, 10) == ()
        own = msgspec.structs.replace(receipt("r", T0, one), turn_id="t")
        assert await receipts.issue(scope, own) == own
    for scope, one in ((ONE, A), (OTHER, B), (THIRD, C)):
        own = msgspec.structs.replace(receipt("r", T0, one), turn_id="t")
        assert await receipts.get(scope, "r") == own
        assert await receipts.find(scope, None, 10) == (own,)
        assert await receipts.find(scope, None, 10, lesson_id="i1") == (own,)
        assert await receipts.find(scope, None, 10, turn_id="t") == (own,)
        assert await receipts.shown(scope, [A, B, C]) == {one}
    await receipts.issue(THIRD, receipt("late", T0 + 9, C))
    assert await receipts.forget(SERVES_ALL, T0 + 1, 10) == 3
    assert await receipts.find(THIRD, None, 10) == (receipt("late", T0 + 9, C),)


async def rc7_receipts_of_a_turn(open_receipts: OpenReceipts) -> None:
    receipts = open_receipts()
    assert await receipts.of_turn(ONE, "t", 10) == ()
    made = [msgspec.structs.replace(receipt(f"r{number}", T0 + number // 2), turn_id="t") for number in range(4)]
    for one in (made[2], made[0], made[3], made[1]):
        await receipts.issue(ONE, one)
    await receipts.issue(ONE, msgspec.structs.replace(made[0], receipt_id="x", turn_id="u"))
    await receipts.issue(ONE, receipt("none"))
    await receipts.issue(OTHER, made[0])
    assert await open_receipts().of_turn(ONE, "t", 10) == tuple(made)
    assert await receipts.of_turn(ONE, "t", 3) == tuple(made[:3])
    assert await receipts.of_turn(ONE, "", 10) == ()
    assert await receipts.of_turn(THIRD, "t", 10) == ()


async def rc8_receipts_of_others_stay(open_receipts: OpenReceipts) -> None:
    receipts = open_receipts()
    for number, scope in enumerate((OTHER, THIRD, ONE, ONE)):
        await receipts.issue(scope, receipt(f"r{number}", T0 + number, A))
    # What others have is older, and there is no room for it in the limit.
    assert await receipts.forget(SHOP, T0 + 9, 1) == 1
    assert [one.receipt_id for one in await receipts.find(ONE, None, 9)] == ["r3"]
    assert await receipts.forget(SHOP, T0 + 9, 9) == 1
    assert await receipts.shown(OTHER, [A]) == await receipts.shown(THIRD, [A]) == {A}
    assert await receipts.forget(ACME, T0 + 9, 9) == 1
    assert await receipts.get(THIRD, "r1") == receipt("r1", T0 + 1, A)
    assert await receipts.forget(REST, T0 + 9, 9) == 1


async def rc9_receipts_of_a_lesson_and_of_a_turn(open_receipts: OpenReceipts) -> None:
    receipts = open_receipts()
    one = msgspec.structs.replace(receipt("r1", T0, A, B), turn_id="t", place=ShownIn.PLAN)
    held = msgspec.structs.replace(receipt("r2", T0 + 1, A), turn_id="t", held_back=("i2", "h"))
    # Shown and held back at once, which is one receipt all the same; and at the time of another.
    both = msgspec.structs.replace(receipt("r3", T0 + 1, A, B), turn_id="u", held_back=("i1",))
    for each in (held, both, one, receipt("r4", T0 + 2, A)):
        await receipts.issue(ONE, each)
    again = open_receipts()
    assert await again.find(ONE, None, 10, lesson_id="i2") == (both, held, one)
    assert await again.find(ONE, None, 10, lesson_id="i1") == (receipt("r4", T0 + 2, A), both, held, one)
    assert await again.find(ONE, None, 10, lesson_id="h") == (held,)
    assert await again.find(ONE, None, 2, lesson_id="i1") == (receipt("r4", T0 + 2, A), both)
    assert await again.find(ONE, ReceiptKey(T0 + 1, "r3"), 10, lesson_id="i1", from_us=T0 + 1) == (held,)
    assert await again.find(ONE, None, 10, lesson_id="I1") == ()
    assert await again.find(ONE, None, 10, turn_id="t") == (held, one)
    assert await again.find(ONE, ReceiptKey(T0 + 1, "r2"), 10, turn_id="t") == (one,)
    assert await again.find(ONE, None, 10, turn_id="t", from_us=T0 + 1) == (held,)
    assert await again.find(ONE, None, 1, turn_id="t") == (held,)


async def rc10_what_is_gone_is_not_found_by_its_lessons(open_receipts: OpenReceipts) -> None:
    receipts = open_receipts()
    for number, scope in enumerate((ONE, ONE, OTHER)):
        await receipts.issue(scope, msgspec.structs.replace(receipt(f"r{number}", T0 + number, A), held_back=("h",)))
    assert await receipts.forget(SERVES_ALL, T0 + 1, 10) == 1
    # The same id and time again, with another lesson.
    new = Receipt("r0", ReceiptKind.GOAL, T0, (ReceiptItem("new", 1, "lesson", B),))
    await receipts.issue(ONE, new)
    assert await receipts.find(ONE, None, 10, lesson_id="new") == (new,)
    for lesson_id in ("i1", "h"):
        assert [one.receipt_id for one in await receipts.find(ONE, None, 10, lesson_id=lesson_id)] == ["r1"]
        assert [one.receipt_id for one in await receipts.find(OTHER, None, 10, lesson_id=lesson_id)] == ["r2"]


async def rc11_receipts_of_a_session(open_receipts: OpenReceipts) -> None:
    receipts = open_receipts()
    assert await receipts.of_session(ONE, "s", T0, T0 + 9, 10) == ()
    # Two of one time, by their ids.
    times = {"r3": T0 - 3, "r1": T0 - 2, "r2": T0 - 2, "r0": T0}
    made = [msgspec.structs.replace(receipt(name, at), session_id="s") for name, at in times.items()]
    for one in (made[2], made[0], made[3], made[1]):
        await receipts.issue(ONE, one)
    await receipts.issue(ONE, msgspec.structs.replace(made[0], receipt_id="x", session_id="t"))
    await receipts.issue(ONE, receipt("none"))
    await receipts.issue(OTHER, made[0])
    assert await open_receipts().of_session(ONE, "s", T0 - 9, T0, 10) == tuple(made)
    assert await receipts.of_session(ONE, "s", T0 - 2, T0 - 1, 10) == tuple(made[1:3])
    assert await receipts.of_session(ONE, "s", T0 - 9, T0, 3) == tuple(made[:3])
    assert await receipts.of_session(ONE, "", T0 - 9, T0, 10) == ()
    assert await receipts.of_session(THIRD, "s", T0 - 9, T0, 10) == ()


async def rc12_receipts_of_several_turns(open_receipts: OpenReceipts) -> None:
    receipts = open_receipts()
    assert await receipts.of_turns(ONE, ["t"], 10) == {}
    plain = [receipt(f"r{number}", T0 + number // 2) for number in range(6)]
    made = [msgspec.structs.replace(one, turn_id="tu"[number % 2]) for number, one in enumerate(plain)]
    for one in reversed(made):
        await receipts.issue(ONE, one)
    await receipts.issue(ONE, msgspec.structs.replace(made[0], receipt_id="x", turn_id="T"))
    await receipts.issue(ONE, receipt("none"))
    await receipts.issue(OTHER, made[0])
    again = open_receipts()
    assert await again.of_turns(ONE, ["u", "t", "t", "v", ""], 10) == {"t": tuple(made[::2]), "u": tuple(made[1::2])}
    assert await again.of_turns(ONE, ["t", "u"], 2) == {"t": tuple(made[:4:2]), "u": tuple(made[1:4:2])}
    assert await again.of_turns(ONE, ["u"], 10) == {"u": tuple(made[1::2])}
    assert await again.of_turns(ONE, [], 10) == {}
    assert await again.of_turns(THIRD, ["t"], 10) == {}


async def rc13_what_was_left_out_and_why_nothing_was_given(open_receipts: OpenReceipts) -> None:
    receipts = open_receipts()
    left = (Omitted("i1", "held back"), Omitted("Grüße \U0001f642", "größer als 10 % \U0001f642"), Omitted("i1", ""))
    some = msgspec.structs.replace(receipt("some", T0, A), turn_id="t", session_id="s", omitted=left[1:])
    # A reason of a later version is kept too.
    none = Receipt("none", ReceiptKind.MEMORY, T0 + 1, turn_id="t", session_id="s", omitted=left, silence="of 2099")
    assert await receipts.issue(ONE, some) == some
    assert await receipts.issue(ONE, none) == none
    assert await receipts.issue(ONE, msgspec.structs.replace(none, omitted=(), silence="")) == none
    again = open_receipts()
    assert await again.get(ONE, "none") == none
    assert await again.find(ONE, None, 9) == await again.find(ONE, None, 9, turn_id="t") == (none, some)
    assert await again.of_turn(ONE, "t", 9) == await again.of_session(ONE, "s", T0, T0 + 9, 9) == (some, none)
    assert await again.of_turns(ONE, ["t"], 9) == {"t": (some, none)}
    # What was left out was not shown.
    assert await again.find(ONE, None, 9, lesson_id="i1") == (some,)
    assert await again.find(ONE, None, 9, lesson_id=left[1].id) == ()
