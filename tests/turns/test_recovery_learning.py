"""Turns that have ended teach what followed their failing calls: each once, over the session's next turn, and late."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from sidemirror_server.memory.recoveries import moves
from sidemirror_server.memory.recoveries.deciding import FailedAttempt
from sidemirror_server.memory.recoveries.finding import RecoveryFinder, receipt_id_of
from sidemirror_server.memory.recoveries.moves import SILENT_FRACTION
from sidemirror_server.memory.recoveries.observation import CameFrom, Move, MoveKind, Observation, ValueKind
from sidemirror_server.memory.trials.evidence import Arm
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.erasures import SqliteErasures
from sidemirror_server.storage.sqlite.observations import SqliteObservations
from sidemirror_server.storage.sqlite.receipts import SqliteReceipts
from sidemirror_server.storage.sqlite.trials import SqliteTrials
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from sidemirror_server.thinking.record import Advised, Directive, Recorded, draft
from sidemirror_server.trace.event import (
    Event,
    ModelStarted,
    ToolCalled,
    ToolFailed,
    ToolReturned,
    TurnFinished,
    TurnStarted,
    What,
)
from sidemirror_server.trace.event import Message as Said
from sidemirror_server.trace.log import Batch, Draft, TurnHead, TurnStanding
from sidemirror_server.trace.receipts import NAMED, ShownIn
from sidemirror_server.trace.sources import SourceKind, key
from sidemirror_server.turns.recovery_learning import LATEST_US, LEASE_S, RecoveryLearner
from sidemirror_server.vocabulary.giving_way import Awaited, GivesWay
from sidemirror_server.vocabulary.ids import DirectiveId, EventId, SessionId, TurnId, new_id
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope
from tests.adapters.sqlite_store import sqlite_database
from tests.faults.clocks import SetClock
from tests.policy.made import policies_on

SCOPE = Scope("acme", "shop")
MISSING = "no user found with this email"


class Learning(msgspec.Struct, frozen=True):
    """A learner on a store of its own."""

    database: SqliteDatabase
    clock: SetClock
    log: SqliteTurnLog
    store: SqliteObservations
    finder: RecoveryFinder
    learner: RecoveryLearner
    awaited: Awaited

    async def turn(self, name: str, count: int, *whats: What, session: str = "s", caller: str = "") -> None:
        """A turn that has ended, a minute of the clock after the one before."""
        self.clock.advance(60)
        at_us = self.clock.now_us()
        begin = TurnStarted(session, caller=caller)
        told: list[Recorded] = [
            Event(EventId(f"{name}{number}"), at_us + number, what, Origin.AGENT)
            for number, what in enumerate((begin, *whats, TurnFinished("success")))
        ]
        drafts = tuple(draft(number, at_us, one) for number, one in enumerate(told, start=1))
        await self.append(name, session, count, at_us, drafts)

    async def append(self, name: str, session: str, count: int, at_us: int, drafts: tuple[Draft, ...]) -> None:
        head = TurnHead(
            *(TurnId(name), SessionId(session), count, TurnStanding.FINISHED, len(drafts), at_us, at_us, b"{}")
        )
        await self.log.append(SCOPE, (Batch(head, drafts, b"{}"),))

    async def learn(self) -> None:
        """Learns all that is due now."""
        while await self.learner.learn_due():
            pass

    async def signatures(self) -> tuple[str, ...]:
        return tuple(await self.store.signatures(SCOPE, "", 10))

    async def learned(self, signature: str) -> tuple[Observation, ...]:
        await self.learn()
        return await self.store.of_signature(SCOPE, signature)


@asynccontextmanager
async def learning(folder: Path) -> AsyncIterator[Learning]:
    async with sqlite_database(folder) as database:
        clock = SetClock()
        log, store, receipts = SqliteTurnLog(database), SqliteObservations(database), SqliteReceipts(database)
        trials = SqliteTrials(database)
        finder = RecoveryFinder(store, trials, policies_on(database, clock), clock)
        awaited = Awaited()
        learner = RecoveryLearner(log, store, receipts, trials, finder, SERVES_ALL, clock, awaited)
        yield Learning(database, clock, log, store, finder, learner, awaited)


def asks(number: int, email: str) -> ToolCalled:
    return ToolCalled(f"c{number}", "find_user", msgspec.json.encode({"email": email}).decode())


async def signature_in(own: Learning) -> str:
    (signature,) = await own.signatures()
    return signature


async def test_a_repaired_failure_is_learned_once(tmp_path: Path) -> None:
    async with learning(tmp_path) as own:
        await own.turn(
            "t", 1, asks(1, "a@b.de"), ToolFailed("c1", MISSING), asks(2, "a@b.de"), ToolReturned("c2", "u1")
        )
        assert await own.learner.learn_due() == 1
        assert await own.learner.learn_due() == 0
        (first,) = await own.learned(await signature_in(own))
        assert (first.move, first.worked, first.where.identity) == (Move(MoveKind.SENT_AGAIN), True, "s")
        # As after a crash between two writes: the turn is claimed once more.
        unlearned = "INSERT INTO unlearned_turns VALUES ('acme', 'shop', 't', 0, 0, 0)"
        await own.database.write(lambda connection: connection.execute(unlearned).rowcount)
        assert await own.learned(first.signature) == (first,)


async def test_a_long_turn_is_learned_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between any two of its events other calls may go on (`vocabulary/giving_way.py`)."""
    asked = 0

    async def ask(self: GivesWay) -> None:
        nonlocal asked
        asked += 1
        await give_way(self)

    give_way = GivesWay.__call__
    monkeypatch.setattr(GivesWay, "__call__", ask)
    async with learning(tmp_path) as own:
        calls = [(asks(number, "a@b.de"), ToolFailed(f"c{number}", MISSING)) for number in range(100)]
        await own.turn("t", 1, *(what for call in calls for what in call))
        assert await own.learner.learn_due() == 1
    assert asked == 205


async def test_learning_makes_way_for_an_agent_that_waits(tmp_path: Path) -> None:
    """Seen to fail when the learner does not look for who waits."""
    async with learning(tmp_path) as own:
        await own.turn("t", 1, asks(1, "a@b.de"), ToolFailed("c1", MISSING))
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        own.awaited.call_failed()
        assert await own.learner.learn_due() == 1
        assert loop.time() - began_s >= 0.029


async def test_what_is_told_is_counted_once_for_all_turns_of_a_claim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to fail with a count for each turn."""
    counted: list[list[str]] = []
    learned = RecoveryFinder.learned

    async def counting(finder: RecoveryFinder, scope: Scope, signatures: Iterable[str]) -> None:
        counted.append(list(signatures))
        await learned(finder, scope, signatures)

    monkeypatch.setattr(RecoveryFinder, "learned", counting)
    async with learning(tmp_path) as own:
        whats = (asks(1, "a@b.de"), ToolFailed("c1", MISSING), asks(2, "a@b.de"), ToolReturned("c2", "u1"))
        for number in range(3):
            await own.turn(f"t{number}", 1, *whats, session=f"s{number}")
        assert await own.learner.learn_due() == 3
        assert counted == [[await signature_in(own)]]


async def test_the_callers_token_is_the_identity(tmp_path: Path) -> None:
    async with learning(tmp_path) as own:
        whats = (asks(1, "a@b.de"), ToolFailed("c1", MISSING), asks(2, "a@b.de"), ToolReturned("c2", "u1"))
        await own.turn("t", 1, *whats, caller="fleet")
        await own.learner.learn_due()
        (seen,) = await own.learned(await signature_in(own))
        assert seen.where.identity == "fleet"


async def test_a_failure_waits_for_the_sessions_next_turn(tmp_path: Path) -> None:
    """The user who was asked answers there."""
    async with learning(tmp_path) as own:
        await own.turn("t", 1, asks(1, "a@b.de"), ToolFailed("c1", MISSING))
        await own.turn("foreign", 1, asks(1, "z@b.de"), ToolReturned("c1", "u2"), session="other")
        await own.learn()
        assert await own.signatures() == ()
        await own.turn("u", 2, asks(1, "ann@b.de"), ToolReturned("c1", "u1"))
        await own.learner.learn_due()
        (seen,) = await own.learned(await signature_in(own))
        assert (seen.where.turn_id, seen.last_turn_id, seen.worked) == ("t", "u", True)
        assert seen.move.kind is MoveKind.CHANGED
        # An hour later the turn is due once more, and nothing of it is left.
        own.clock.advance(LATEST_US / 1e6)
        assert await own.learned(seen.signature) == (seen,)


@pytest.mark.parametrize("gone", ["t", "u"], ids=["the failure's turn", "the attempt's turn"])
async def test_what_a_turn_taught_that_is_erased_meanwhile_is_not_kept(
    gone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The turn was read before, and its observations arrive after. Seen to fail with a store that keeps those of turns
    that are not there."""
    async with learning(tmp_path) as own:
        await own.turn("t", 1, asks(1, "a@b.de"), ToolFailed("c1", MISSING))
        await own.turn("u", 2, asks(1, "ann@b.de"), ToolReturned("c1", "u1"))
        erasures, keep = SqliteErasures(own.database), own.store.keep
        kept: list[int] = []

        async def late(
            scope: Scope, turn_id: TurnId, found: Sequence[Observation], again_us: int | None = None
        ) -> None:
            if found:
                await erasures.begin(SCOPE, "e", (key(SourceKind.TURN, gone),), own.clock.now_us())
                await erasures.remove(SCOPE, "e", key(SourceKind.TURN, gone), own.clock.now_us())
            kept.append(len(found))
            await keep(scope, turn_id, found, again_us)

        monkeypatch.setattr(own.store, "keep", late)
        await own.learn()
        assert any(kept)
        assert await own.signatures() == ()


async def test_where_no_turn_comes_the_failure_stays_without_an_attempt(tmp_path: Path) -> None:
    """An hour later, and not before."""
    async with learning(tmp_path) as own:
        await own.turn("t", 1, asks(1, "a@b.de"), ToolFailed("c1", MISSING), ToolCalled("c2", "transfer", "{}"))
        await own.learn()
        own.clock.advance(LATEST_US / 1e6 - 1)
        await own.learn()
        assert await own.signatures() == ()
        own.clock.advance(2)
        await own.learn()
        (seen,) = await own.learned(await signature_in(own))
        assert (seen.move.kind, seen.worked, seen.last_turn_id) == (MoveKind.STOPPED, False, "")


async def test_a_try_after_advice_is_marked_and_settles_its_trial(tmp_path: Path) -> None:
    async with learning(tmp_path) as own:
        whats = (asks(1, "a@b.de"), ToolFailed("c1", MISSING), asks(2, "a@b.de"), ToolReturned("c2", "u1"))
        for number in range(1, 6):
            await own.turn(f"t{number}", 1, *whats, session=f"s{number}")
        await own.learner.learn_due()
        signature = await signature_in(own)
        # Of many turns, so that both arms are there.
        arms: dict[str, str] = {}
        for number in range(40):
            name = f"u{number}"
            await own.turn(name, 1, *whats, session=name)
            failed = FailedAttempt(signature, True, (), name, name)
            told = await own.finder.find(SCOPE, failed, receipt_id_of(SCOPE, name, signature))
            arms[name] = "shown" if told.block.items else "held_back"
        assert set(arms.values()) == {"shown", "held_back"}
        rows = {row.where.turn_id: row for row in await own.learned(signature)}
        assert {name: bool(rows[TurnId(name)].advised) for name in arms} == {
            name: arm == "shown" for name, arm in arms.items()
        }
        (recovery,) = {row.advised for row in rows.values()} - {""}
        tallies = (await SqliteTrials(own.database).tallies(SCOPE, [(recovery, 1)]))[recovery]
        counts = {tally.arm: (tally.fraction, tally.assigned, tally.succeeded) for tally in tallies}
        shown = sum(arm == "shown" for arm in arms.values())
        assert counts == {
            Arm.SHOWN: (SILENT_FRACTION, shown, shown),
            Arm.HELD_BACK: (SILENT_FRACTION, len(arms) - shown, len(arms) - shown),
        }


async def test_what_was_not_tried_again_settles_no_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen to fail: a call that was told something and never made again counted as a next attempt that failed."""
    monkeypatch.setattr(moves, "SILENT_FRACTION", 0.0)
    async with learning(tmp_path) as own:
        whats = (asks(1, "a@b.de"), ToolFailed("c1", MISSING), asks(2, "a@b.de"), ToolReturned("c2", "u1"))
        for number in range(1, 6):
            await own.turn(f"t{number}", 1, *whats, session=f"s{number}")
        await own.learner.learn_due()
        signature = await signature_in(own)
        await own.turn("u", 1, *whats[:2], session="u")
        failed = FailedAttempt(signature, True, (), "u", "u")
        receipt_id = receipt_id_of(SCOPE, "u", signature)
        assert (await own.finder.find(SCOPE, failed, receipt_id)).block.items
        await own.learn()
        own.clock.advance(LATEST_US / 1e6 + 2)
        (row,) = [row for row in await own.learned(signature) if row.where.turn_id == "u"]
        assert row.move.kind is MoveKind.STOPPED
        (trial,) = (await SqliteTrials(own.database).results(SCOPE, [receipt_id]))[receipt_id]
        assert trial.succeeded is None


@pytest.mark.parametrize(("place", "in_time"), [(3, True), (4, False), (5, False), (None, False)])
async def test_advice_that_came_too_late_counts_neither_way(
    place: int | None, in_time: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`place`: before which entry it was recorded: before the next call, after it or its end; or not at all, because
    the turn ended first. Seen to fail for the last three when all that has a receipt counts as told."""
    monkeypatch.setattr(moves, "SILENT_FRACTION", 0.0)
    async with learning(tmp_path) as own:
        whats = (asks(1, "a@b.de"), ToolFailed("c1", MISSING), asks(2, "a@b.de"), ToolReturned("c2", "u1"))
        for number in range(1, 6):
            await own.turn(f"t{number}", 1, *whats, session=f"s{number}")
        await own.learner.learn_due()
        signature = await signature_in(own)
        failed = FailedAttempt(signature, True, (), "u", "u")
        found = await own.finder.find(SCOPE, failed, receipt_id_of(SCOPE, "u", signature), place=ShownIn.ADVICE)
        own.clock.advance(60)
        at_us = own.clock.now_us()
        entire: tuple[What, ...] = (TurnStarted("u"), *whats, TurnFinished("success"))
        every: list[Recorded] = [
            Event(EventId(f"u{number}"), at_us, what, Origin.AGENT) for number, what in enumerate(entire)
        ]
        if place is not None:
            every.insert(place, Directive(DirectiveId("d"), at_us, Advised(found.block, signature)))
        drafts = tuple(draft(number, at_us, one) for number, one in enumerate(every, start=1))
        await own.append("u", "u", 1, at_us, drafts)
        (row,) = [row for row in await own.learned(signature) if row.where.turn_id == "u"]
        assert (row.advised, row.followed, row.worked) == (found.block.items[0].id, in_time, True)
        tallies = (await SqliteTrials(own.database).tallies(SCOPE, [(row.advised, 1)]))[row.advised]
        assert [(tally.assigned, tally.succeeded) for tally in tallies] == [(1, int(in_time))]


@pytest.mark.parametrize("is_late", [False, True], ids=["before the next call", "after it"])
async def test_what_an_agent_asked_by_mcp_is_advice(
    is_late: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tool's result names the receipt; neither the turn nor the session is known to MCP. Seen to fail when only
    receipts of the turn count: then it is one more try without advice."""
    monkeypatch.setattr(moves, "SILENT_FRACTION", 0.0)
    async with learning(tmp_path) as own:
        failing: tuple[What, ...] = (asks(1, "a@b.de"), ToolFailed("c1", MISSING))
        repaired: tuple[What, ...] = (asks(2, "a@b.de"), ToolReturned("c2", "u1"))
        for number in range(1, 6):
            await own.turn(f"t{number}", 1, *failing, *repaired, session=f"s{number}")
        await own.learner.learn_due()
        signature = await signature_in(own)
        found = (await own.finder.find(SCOPE, FailedAttempt(signature, True), new_id(own.clock.now_us()))).block
        text = f"{found.text}\n{NAMED.format(found.receipt_id)}"
        asked = (ModelStarted(), ToolCalled("m", "mcp__sidemirror__what_worked", "{}"), ToolReturned("m", text))
        then = (*repaired, *asked) if is_late else (*asked, *repaired)
        await own.turn("u", 1, *failing, *then, session="u")
        (row,) = [row for row in await own.learned(signature) if row.where.turn_id == "u"]
        told = "" if is_late else found.items[0].id
        assert (row.advised, row.followed, row.worked) == (told, not is_late, True)


async def test_a_turn_that_cannot_be_read_is_given_up(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is claimed five times, and does not stop the others."""
    async with learning(tmp_path) as own:
        unreadable = (Draft(1, own.clock.now_us(), b'{"type":"of a later version"}'),)
        await own.append("bad", "b", 1, own.clock.now_us(), unreadable)
        whats = (asks(1, "a@b.de"), ToolFailed("c1", MISSING), asks(2, "a@b.de"), ToolReturned("c2", "u1"))
        await own.turn("good", 1, *whats)
        claimed = []
        for _ in range(7):
            claimed.append(await own.learner.learn_due())
            own.clock.advance(LEASE_S)
        assert claimed == [2, 1, 1, 1, 1, 0, 0]
        assert len(await own.learned(await signature_in(own))) == 1
        said = [record.message for record in caplog.records]
        assert said.count("turn_given_up") == 1
        assert said.count("turn_not_learned") == 1


def kinds_of(move: Move) -> tuple[ValueKind | None, CameFrom | None]:
    return move.value, move.came_from


async def test_a_value_of_the_user_is_known_across_turns(tmp_path: Path) -> None:
    async with learning(tmp_path) as own:
        await own.turn("t", 1, asks(1, "a@b.de"), ToolFailed("c1", MISSING))
        own.clock.advance(60)
        at_us = own.clock.now_us()
        begin = TurnStarted("s", messages=(Said("user", "It is ann@b.de"),))
        whats: tuple[What, ...] = (begin, asks(1, "ann@b.de"), ToolReturned("c1", "u1"), TurnFinished("success"))
        told = [Event(EventId(f"u{number}"), at_us, what, Origin.AGENT) for number, what in enumerate(whats)]
        await own.append(
            "u", "s", 2, at_us, tuple(draft(number, at_us, one) for number, one in enumerate(told, start=1))
        )
        await own.learn()
        (seen,) = await own.learned(await signature_in(own))
        assert kinds_of(seen.move) == (ValueKind.EMAIL, CameFrom.USER_ASKED)
