"""What SQLite and Postgres are both asked about critiques, observed failures and what was shown to agents."""

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import rule

from sidemirror_server.critique.record import CritiqueOutcome
from sidemirror_server.critique.store import CritiqueKey, CritiqueRecord
from sidemirror_server.memory.recoveries.observation import Move, MoveKind, Observation, Where
from sidemirror_server.memory.recoveries.observations import UnlearnedTurn
from sidemirror_server.trace.log import Batch, Draft, TurnHead, TurnStanding
from sidemirror_server.trace.receipts import Receipt, ReceiptItem, ReceiptKey, ReceiptKind
from sidemirror_server.trace.sources import SourceKind, key
from sidemirror_server.vocabulary.block import Omitted
from sidemirror_server.vocabulary.ids import EventId, SessionId, TurnId
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, serves_listed
from tests.adapters.same_stores import ALL, SECOND, BothStores, Stores, bodies, kinds, names, scopes, times

receipt_kinds = st.sampled_from(list(ReceiptKind))
shown_items = st.lists(
    st.builds(ReceiptItem, names, st.integers(1, 3), kinds, st.sampled_from([b"", b"\x00", b"\xff"])), max_size=3
)


class AdviceOperations(BothStores):
    """The ports Critiques, Observations and Receipts."""

    @rule(
        scope=scopes,
        critique=names,
        created=times,
        provider=kinds,
        confidence=st.none() | st.sampled_from([0, 1, 500_000, 1_000_000]),
        revise=st.booleans(),
        turn=names | st.just(""),
        session=names | st.just(""),
        body=bodies,
    )
    def keep(
        self,
        scope: Scope,
        critique: str,
        created: int,
        provider: str,
        confidence: int | None,
        revise: bool,
        turn: str,
        session: str,
        body: bytes,
    ) -> None:
        record = CritiqueRecord(critique, created, provider, confidence, revise, turn, session, body)
        self.ask(lambda stores: stores.critiques.keep(scope, record))
        self.ask(lambda stores: stores.critiques.get(scope, critique))

    @rule(
        scope=scopes,
        critique=names,
        outcome=st.builds(CritiqueOutcome, st.sampled_from(["success", "failure"]), st.none() | st.floats(0, 1), times),
    )
    def report(self, scope: Scope, critique: str, outcome: CritiqueOutcome) -> None:
        self.ask(lambda stores: stores.critiques.report(scope, critique, outcome))
        self.ask(lambda stores: stores.critiques.get(scope, critique))

    @rule(
        scope=scopes,
        turn=st.none() | names,
        session=st.none() | names,
        limit=st.integers(1, 3),
        begin=st.booleans(),
    )
    def list_critiques(self, scope: Scope, turn: str | None, session: str | None, limit: int, begin: bool) -> None:
        self.page(
            ("critiques", scope, turn, session),
            begin,
            lambda stores, after: stores.critiques.list(scope, turn, session, after, limit),
            lambda last: CritiqueKey(last.created_us, last.critique_id),
        )

    @rule(
        scope=scopes,
        start=times,
        end=times,
        bucket=st.none() | st.sampled_from([SECOND, 3 * SECOND]),
        provider=st.none() | kinds,
    )
    def figures(self, scope: Scope, start: int, end: int, bucket: int | None, provider: str | None) -> None:
        self.ask(lambda stores: stores.critiques.figures(scope, start, end, bucket, provider))

    @rule(before=times)
    def forget_critiques(self, before: int) -> None:
        self.ask(lambda stores: stores.critiques.forget(SERVES_ALL, before, 1000))

    @rule(
        scope=scopes,
        turn=names,
        last=st.just("") | names,
        signature=names,
        ids=st.lists(names, max_size=4),
        at=times,
        again=st.none() | times,
        most=st.integers(1, 3),
    )
    def keep_observations(
        self,
        scope: Scope,
        turn: str,
        last: str,
        signature: str,
        ids: list[str],
        at: int,
        again: int | None,
        most: int,
    ) -> None:
        """Of a turn that has just ended, unless there is one of that name."""
        ended = TurnHead(TurnId(turn), SessionId("s"), 1, TurnStanding.FINISHED, 1, at, at, b"{}")
        self.ask(lambda stores: stores.log.append(scope, (Batch(ended, (Draft(1, at, b"{}"),), b"{}"),)))
        where, move = Where(scope, TurnId(turn), SessionId("s"), turn), Move(MoveKind.OTHER)
        made = [
            Observation(
                one, where, EventId(one), signature, "x", move, worked=False, at_us=at, last_turn_id=TurnId(last)
            )
            for one in ids
        ]
        self.ask(lambda stores: stores.observations.keep(scope, TurnId(turn), made, again, most))
        self.ask(lambda stores: stores.observations.of_signature(scope, signature))

    @rule(
        scope=scopes,
        turn=names,
        last=st.just("") | names,
        signature=names,
        one=names,
        about=names,
        at=times,
        most=st.integers(1, 3),
    )
    def put_observation(
        self, scope: Scope, turn: str, last: str, signature: str, one: str, about: str, at: int, most: int
    ) -> None:
        where, move = Where(scope, TurnId(turn), SessionId("s"), turn), Move(MoveKind.OTHER)
        made = Observation(
            one, where, EventId(one), signature, "x", move, worked=False, at_us=at, last_turn_id=TurnId(last)
        )
        subjects = (key(SourceKind.SUBJECT, about),)
        records = [key(SourceKind.TURN, one) for one in (turn, last)]
        self.ask(lambda stores: stores.observations.put(scope, made, subjects, most))
        self.ask(lambda stores: stores.observations.of_signature(scope, signature))
        self.ask(lambda stores: stores.observations.subjects(scope, records))

    @rule(before=times, served=st.sampled_from(["*", "acme/*", "Acme/shop"]))
    def forget_observations(self, before: int, served: str) -> None:
        self.ask(lambda stores: stores.observations.forget(serves_listed(served), before, ALL))

    @rule(now=times, until=times, served=st.sampled_from(["*", "acme/*", "Acme/shop"]))
    def claim_turns(self, now: int, until: int, served: str) -> None:
        async def claimed(stores: Stores) -> list[UnlearnedTurn]:
            found = await stores.observations.claim(serves_listed(served), now, until, ALL)
            return sorted(found, key=lambda one: (one.scope, one.turn_id))  # many are due at the same time

        self.ask(claimed)

    @rule(scope=scopes, after=st.just("") | names, limit=st.integers(1, 3))
    def signatures(self, scope: Scope, after: str, limit: int) -> None:
        self.ask(lambda stores: stores.observations.signatures(scope, after, limit))

    @rule(
        scope=scopes,
        receipt=names,
        kind=receipt_kinds,
        at=times,
        items=shown_items,
        held=st.lists(names, max_size=2),
        turn=st.just("") | names,
        left=st.lists(st.builds(Omitted, names, names), max_size=2),
        silence=st.just("") | names,
    )
    def issue(
        self,
        scope: Scope,
        receipt: str,
        kind: ReceiptKind,
        at: int,
        items: list[ReceiptItem],
        held: list[str],
        turn: str,
        left: list[Omitted],
        silence: str,
    ) -> None:
        made = Receipt(receipt, kind, at, tuple(items), tuple(held), turn, goal_id=receipt)
        made = msgspec.structs.replace(made, omitted=tuple(left), silence=silence)
        self.ask(lambda stores: stores.receipts.issue(scope, made))
        self.ask(lambda stores: stores.receipts.get(scope, receipt))

    @rule(scope=scopes, hashes=st.sets(st.sampled_from([b"", b"\x00", b"\xff"])))
    def shown(self, scope: Scope, hashes: set[bytes]) -> None:
        self.ask(lambda stores: stores.receipts.shown(scope, hashes))

    @rule(scope=scopes, lesson=st.just("") | names, since=times, limit=st.integers(1, 3), begin=st.booleans())
    def find_receipts(self, scope: Scope, lesson: str, since: int, limit: int, begin: bool) -> None:
        self.page(
            ("receipts", scope, lesson),
            begin,
            lambda stores, after: stores.receipts.find(scope, after, limit, lesson_id=lesson, from_us=since),
            lambda last: ReceiptKey(last.time_us, last.receipt_id),
        )

    @rule(scope=scopes, turns=st.lists(st.just("") | names, max_size=3), limit=st.integers(1, 3))
    def receipts_of_turns(self, scope: Scope, turns: list[str], limit: int) -> None:
        self.ask(lambda stores: stores.receipts.of_turns(scope, turns, limit))

    @rule(before=times)
    def forget_receipts(self, before: int) -> None:
        self.ask(lambda stores: stores.receipts.forget(SERVES_ALL, before, 1000))
