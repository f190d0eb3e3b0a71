"""SQLite and Postgres are driven with the same operations, through every port, and give the same answers.

Compared is all that a caller sees: values, order, what is refused and how. What a store may choose for itself is not:
the numbers of positions (each store's own cursors are followed instead), the ids of reservations, and the order of what
is equally old where no clause gives one.
"""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from sidemirror_server.critique.record import CritiqueOutcome
from sidemirror_server.critique.store import CritiqueKey, CritiqueRecord, Critiques
from sidemirror_server.memory.recoveries.observation import Move, MoveKind, Observation, Where
from sidemirror_server.memory.recoveries.observations import Observations, UnlearnedTurn
from sidemirror_server.models.ledger import Amount, Ledger, Level, Refusal, Reservation
from sidemirror_server.policy.record import Advice, AdviceKind, Cap, DataPolicy, PolicyLevel, RetentionPeriods
from sidemirror_server.policy.store import Policies, PolicyChange
from sidemirror_server.storage.postgres.critiques import PostgresCritiques
from sidemirror_server.storage.postgres.database import PostgresDatabase
from sidemirror_server.storage.postgres.ledger import PostgresLedger
from sidemirror_server.storage.postgres.observations import PostgresObservations
from sidemirror_server.storage.postgres.policies import PostgresPolicies
from sidemirror_server.storage.postgres.receipts import PostgresReceipts
from sidemirror_server.storage.postgres.requests import PostgresRequests
from sidemirror_server.storage.postgres.sessions import PostgresSessions
from sidemirror_server.storage.postgres.turn_log import PostgresTurnLog
from sidemirror_server.storage.postgres.work import PostgresWork
from sidemirror_server.storage.sqlite.critiques import SqliteCritiques
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.ledger import SqliteLedger
from sidemirror_server.storage.sqlite.observations import SqliteObservations
from sidemirror_server.storage.sqlite.policies import SqlitePolicies
from sidemirror_server.storage.sqlite.receipts import SqliteReceipts
from sidemirror_server.storage.sqlite.requests import SqliteRequests
from sidemirror_server.storage.sqlite.sessions import SqliteSessions
from sidemirror_server.storage.sqlite.turn_log import SqliteTurnLog
from sidemirror_server.storage.sqlite.work import SqliteWork
from sidemirror_server.thinking.store import SessionKey, SessionRecord, Sessions
from sidemirror_server.trace.log import TURN_TOPIC, Batch, Draft, Entry, HeadKey, TurnHead, TurnLog, TurnStanding
from sidemirror_server.trace.receipts import Receipt, ReceiptItem, ReceiptKey, ReceiptKind, Receipts
from sidemirror_server.trace.requests import Answered, Requests
from sidemirror_server.trace.sources import SourceKind, key
from sidemirror_server.vocabulary.block import Omitted
from sidemirror_server.vocabulary.errors import SidemirrorError
from sidemirror_server.vocabulary.ids import EventId, JobId, RequestId, SessionId, TurnId
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, serves_listed
from sidemirror_server.work.queue import Job, JobKey, JobState, NewJob, Work
from tests.postgres.databases import Databases

T0 = 1_700_000_000_000_000
SECOND = 1_000_000
ALL = 1_000_000_000


class Stores(msgspec.Struct, frozen=True):
    log: TurnLog
    sessions: Sessions
    requests: Requests
    work: Work
    ledger: Ledger
    critiques: Critiques
    receipts: Receipts
    policies: Policies
    observations: Observations


# Whatever an id or a text can hold once it was let in; what sorts apart by language and together by code point.
_ODD = [
    "a",
    "B",
    "b",
    "é",
    "e\u0301",
    "z",
    "Z",
    "שלום",
    "\u202eab",
    "\ufffd",
    "\U0001f642",
    "' OR 1=1 --",
    '"]}',
    "%s $1 :x",
]
names = st.sampled_from(_ODD)
scopes = st.builds(
    Scope, st.sampled_from(["acme", "Acme", "\U0001f642", "שלום"]), st.sampled_from(["shop", "é", "' --"])
)
texts = st.lists(st.sampled_from([*_ODD, " ", "\n", "\x7f", "\u2028", "\\u0000", "\\"]), max_size=6).map("".join)
bodies = st.one_of(
    texts.map(str.encode),
    st.binary(max_size=20),
    st.builds(lambda text: (text.encode() * (1 << 20))[: 1 << 20], st.sampled_from(["x", "\ufffd", "\U0001f642", "ש"])),
)
times = st.integers(0, 4).map(lambda number: T0 + number * SECOND)  # few, so that many are equal
limits = st.sampled_from([1, 2, 3, 7, ALL])
byte_limits = st.sampled_from([1, 10, 1 << 20, ALL])
standings = st.sampled_from(list(TurnStanding))
kinds = st.sampled_from(["goal", "dream", "ש"])
receipt_kinds = st.sampled_from(list(ReceiptKind))
shown_items = st.lists(
    st.builds(ReceiptItem, names, st.integers(1, 3), kinds, st.sampled_from([b"", b"\x00", b"\xff"])), max_size=3
)
periods = st.builds(
    RetentionPeriods,
    *(st.none() | st.integers(0, 2),) * 3,
    st.none() | st.sampled_from([0.0, 0.55, 1.0]),
    *(st.none() | st.integers(0, 2),) * 2,
)
caps = st.dictionaries(names, st.builds(Cap, st.none() | st.integers(0, 9), st.none() | st.integers(0, 9)), max_size=2)
advices = st.builds(Advice, st.sampled_from([(), tuple(AdviceKind)]), st.lists(names, max_size=2).map(tuple))
policies = st.just(DataPolicy()) | st.builds(DataPolicy, periods, caps, advices)
amounts = st.builds(Amount, st.sampled_from([0, 1, 1000]), st.sampled_from([0, 1, 10**8]))


def seen(answer: Any) -> Any:
    """An answer without what a store may choose for itself."""
    if isinstance(answer, Entry):
        return (answer.key, answer.group, answer.sequence, answer.at_us, answer.body)
    if isinstance(answer, Reservation):
        return (answer.scope, answer.purpose, answer.day, answer.most)
    if isinstance(answer, tuple):
        return tuple(seen(part) for part in answer)
    return answer


class SameAnswers(RuleBasedStateMachine):
    """`databases` and `name` are set by the test: the server and the database that all examples share in turn."""

    databases: Databases
    name: str

    @initialize()
    def open(self) -> None:
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.stores = self.runner.run(self._open())
        self.cursors: dict[tuple[Scope, str | None], list[int]] = {}
        self.head_keys: dict[Any, HeadKey] = {}
        self.session_keys: dict[Scope, SessionKey] = {}
        self.job_keys: dict[Any, JobKey] = {}
        self.critique_keys: dict[Any, CritiqueKey] = {}
        self.receipt_keys: dict[Any, ReceiptKey] = {}
        self.claimed: list[Job] = []
        self.reservations: list[tuple[Reservation, Reservation]] = []

    async def _open(self) -> tuple[Stores, Stores]:
        await self.databases.empty(self.name)
        self.sqlite = await SqliteDatabase.open(Path(self.folder.name), now_us=0)
        self.postgres = await PostgresDatabase.open(self.databases.cluster.url("sidecar", self.name))
        one, other = self.sqlite, self.postgres
        return (
            Stores(
                *(SqliteTurnLog(one), SqliteSessions(one), SqliteRequests(one)),
                *(SqliteWork(one), SqliteLedger(one), SqliteCritiques(one)),
                *(SqliteReceipts(one), SqlitePolicies(one), SqliteObservations(one)),
            ),
            Stores(
                *(PostgresTurnLog(other), PostgresSessions(other), PostgresRequests(other)),
                *(PostgresWork(other), PostgresLedger(other), PostgresCritiques(other)),
                *(PostgresReceipts(other), PostgresPolicies(other), PostgresObservations(other)),
            ),
        )

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            self.envelopes_are_in_step()
            self.runner.run(self.sqlite.close())
            self.runner.run(self.postgres.close())
            self.runner.close()
            self.folder.cleanup()

    def ask(self, *asks: Callable[[Stores], Awaitable[Any]]) -> list[Any]:
        """Both stores' answers to the same (or each to its own) question, after they were found to be the same."""
        answers = []
        for stores, question in zip(self.stores, asks * 2 if len(asks) == 1 else asks, strict=True):
            try:
                answers.append(self.runner.run(_awaited(question(stores))))
            except SidemirrorError as error:
                answers.append((type(error), str(error)))
        assert seen(answers[0]) == seen(answers[1])
        return answers

    def one(self, question: Callable[[Stores], Awaitable[Any]]) -> Any:
        return self.ask(question)[0]

    # --- the log -----------------------------------------------------------------------------------------------------

    @rule(
        scope=scopes,
        parts=st.lists(
            st.tuples(
                names, names, st.lists(bodies, max_size=3), st.integers(-1, 1), standings, times, times, st.booleans()
            ),
            min_size=1,
            max_size=3,
        ),
    )
    def append(
        self, scope: Scope, parts: list[tuple[str, str, list[bytes], int, TurnStanding, int, int, bool]]
    ) -> None:
        """Mostly in step with what is there: one time in some, a place too early or too late, or another session."""
        batches = []
        lasts: dict[str, int] = {}
        for turn, session, texts, off, standing, started, updated, makes in parts:
            kept = self.head_of(scope, TurnId(turn))
            last = lasts.get(turn, kept.last_sequence if kept else 0)
            first = max(last + 1 + (off if off < 0 or len(texts) == 3 else 0), 1)
            lasts[turn] = max(last, first + len(texts) - 1)
            drafts = tuple(Draft(first + n, updated + n, text) for n, text in enumerate(texts))
            of = kept.session_id if kept and off == 0 else SessionId(session)
            head = TurnHead(
                *(TurnId(turn), of, len(turn) + first, standing, lasts[turn], started, updated),
                texts[0] if texts else b"{}",
            )
            batches.append(Batch(head, drafts, b"{}" if makes else None))
        self.ask(lambda stores: stores.log.append(scope, tuple(batches)))

    def head_of(self, scope: Scope, turn_id: TurnId) -> TurnHead | None:
        head: TurnHead | None = self.one(lambda stores: stores.log.head(scope, turn_id))
        return head

    @rule(scope=scopes, turn=names, after=st.integers(0, 5), limit=limits, max_bytes=byte_limits)
    def read(self, scope: Scope, turn: str, after: int, limit: int, max_bytes: int) -> None:
        self.ask(lambda stores: stores.log.read(scope, TurnId(turn), after, limit, max_bytes))

    @rule(scope=scopes, group=st.none() | names, limit=limits, max_bytes=byte_limits)
    def follow(self, scope: Scope, group: str | None, limit: int, max_bytes: int) -> None:
        cursors = self.cursors.setdefault((scope, group), [0, 0])
        pages = self.ask(
            *(
                lambda stores, after=after: stores.log.tail(scope, TURN_TOPIC, group, after, limit, max_bytes)
                for after in cursors
            )
        )
        for number, page in enumerate(pages):
            positions = [cursors[number], *(entry.position for entry in page)]
            assert positions == sorted(set(positions))
            cursors[number] = positions[-1]

    @rule(scope=scopes)
    def last_position(self, scope: Scope) -> None:
        for stores in self.stores:
            found = self.runner.run(_awaited(stores.log.tail(scope, TURN_TOPIC, None, 0, ALL, ALL)))
            last = self.runner.run(_awaited(stores.log.last_position(scope)))
            assert last == (found[-1].position if found else 0)

    @rule(
        scope=scopes,
        session=st.none() | names,
        standing=st.none() | standings,
        limit=st.integers(1, 3),
        begin=st.booleans(),
    )
    def heads(self, scope: Scope, session: str | None, standing: TurnStanding | None, limit: int, begin: bool) -> None:
        place = (scope, session, standing)
        after = None if begin else self.head_keys.get(place)
        of = None if session is None else SessionId(session)
        page = self.one(lambda stores: stores.log.heads(scope, of, standing, after, limit))
        if page:
            self.head_keys[place] = HeadKey(page[-1].started_us, page[-1].turn_id)

    @rule(scope=scopes, session=names)
    def newest(self, scope: Scope, session: str) -> None:
        self.ask(lambda stores: stores.log.newest(scope, SessionId(session)))

    @rule(before=times)
    def idle(self, before: int) -> None:
        found = [self.runner.run(_awaited(stores.log.idle(SERVES_ALL, before, ALL))) for stores in self.stores]
        assert sorted(found[0], key=_age) == sorted(found[1], key=_age)
        assert [head.updated_us for _, head in found[0]] == [head.updated_us for _, head in found[1]]

    # --- sessions ----------------------------------------------------------------------------------------------------

    @rule(scope=scopes, session=names, body=bodies, created=times)
    def create(self, scope: Scope, session: str, body: bytes, created: int) -> None:
        self.ask(
            lambda stores: stores.sessions.create(scope, SessionRecord(SessionId(session), body, created, created))
        )

    @rule(scope=scopes, session=names)
    def get(self, scope: Scope, session: str) -> None:
        self.ask(lambda stores: stores.sessions.get(scope, SessionId(session)))

    @rule(scope=scopes, session=names, body=bodies, now=times)
    def update(self, scope: Scope, session: str, body: bytes, now: int) -> None:
        self.ask(lambda stores: stores.sessions.update(scope, SessionId(session), body, now))

    @rule(scope=scopes, limit=st.integers(1, 3), begin=st.booleans())
    def list_sessions(self, scope: Scope, limit: int, begin: bool) -> None:
        after = None if begin else self.session_keys.get(scope)
        page = self.one(lambda stores: stores.sessions.list(scope, after, limit))
        if page:
            self.session_keys[scope] = SessionKey(page[-1].created_us, page[-1].session_id)

    @rule(scope=scopes, session=names)
    def delete(self, scope: Scope, session: str) -> None:
        self.ask(lambda stores: stores.sessions.delete(scope, SessionId(session)))

    # --- requests ----------------------------------------------------------------------------------------------------

    @rule(scope=scopes, method=kinds, request=names, now=times)
    def recall(self, scope: Scope, method: str, request: str, now: int) -> None:
        self.ask(lambda stores: stores.requests.recall(scope, method, RequestId(request), now))

    @rule(
        scope=scopes,
        method=kinds,
        request=names,
        digest=st.binary(max_size=16),
        answer=bodies,
        now=times,
        expires=times,
    )
    def remember(
        self, scope: Scope, method: str, request: str, digest: bytes, answer: bytes, now: int, expires: int
    ) -> None:
        answered = Answered(digest, answer)
        self.ask(lambda stores: stores.requests.remember(scope, method, RequestId(request), answered, now, expires))

    @rule(now=times)
    def forget(self, now: int) -> None:
        self.ask(lambda stores: stores.requests.forget(SERVES_ALL, now, 1000))

    # --- work --------------------------------------------------------------------------------------------------------

    @rule(
        scope=scopes, job=names, kind=kinds, payload=bodies, attempts=st.integers(1, 2), at=st.none() | times, now=times
    )
    def put(self, scope: Scope, job: str, kind: str, payload: bytes, attempts: int, at: int | None, now: int) -> None:
        self.ask(lambda stores: stores.work.put(scope, NewJob(JobId(job), kind, payload, attempts, at), now))

    @rule(of=st.sets(kinds), limit=st.integers(0, 4), lease=st.sampled_from([1.0, 2.5]), now=times, worker=texts)
    def claim(self, of: set[str], limit: int, lease: float, now: int, worker: str) -> None:
        jobs = self.one(lambda stores: stores.work.claim(SERVES_ALL, sorted(of), limit, lease, now, worker))
        self.claimed += jobs

    @rule(
        verb=st.sampled_from(
            ["extend", "checkpoint", "finish", "fail", "fail for good", "release", "revive", "forget"]
        ),
        place=st.integers(0, 20),
        off=st.sampled_from([0, 0, 0, 1]),
        body=bodies,
        text=texts,
        now=times,
        retry=times,
    )
    def go_on(self, verb: str, place: int, off: int, body: bytes, text: str, now: int, retry: int) -> None:
        if not self.claimed:
            return
        job = self.claimed[-1 - place % len(self.claimed)]
        at = (job.scope, job.job_id)
        token = job.token + off
        self.ask(
            {
                "extend": lambda stores: stores.work.extend(*at, token, 1.5, now),
                "checkpoint": lambda stores: stores.work.checkpoint(*at, token, body, now),
                "finish": lambda stores: stores.work.finish(*at, token, body if place % 2 else None, now),
                "fail": lambda stores: stores.work.fail(*at, token, text, retry, now),
                "fail for good": lambda stores: stores.work.fail(*at, token, text, None, now),
                "release": lambda stores: stores.work.release(*at, token, now),
                "revive": lambda stores: stores.work.revive(*at, now),
                "forget": lambda stores: stores.work.forget(*at),
            }[verb]
        )
        self.ask(lambda stores: stores.work.get(*at))

    @rule(
        scope=scopes,
        kind=kinds,
        states=st.sets(st.sampled_from(list(JobState))),
        limit=st.integers(1, 3),
        begin=st.booleans(),
    )
    def list_jobs(self, scope: Scope, kind: str, states: set[JobState], limit: int, begin: bool) -> None:
        after = None if begin else self.job_keys.get((scope, kind))
        page = self.one(lambda stores: stores.work.list(scope, kind, sorted(states), after, limit))
        if page:
            self.job_keys[scope, kind] = JobKey(page[-1].created_us, page[-1].job_id)
        self.ask(lambda stores: stores.work.count(scope, kind))
        self.ask(lambda stores: stores.work.waiting(scope, kind))

    @rule(of=st.sets(kinds), before=times)
    def purge(self, of: set[str], before: int) -> None:
        self.ask(lambda stores: stores.work.purge(SERVES_ALL, sorted(of), before, 1000))
        self.ask(lambda stores: stores.work.purge_dead(SERVES_ALL, sorted(of), before, 1000))
        self.ask(lambda stores: stores.work.scopes(SERVES_ALL, sorted(of)))

    # --- the ledger --------------------------------------------------------------------------------------------------

    @rule(
        scope=scopes,
        purpose=kinds,
        most=amounts,
        caps=st.dictionaries(
            st.sampled_from(list(Level)), st.builds(Cap, st.none() | st.just(2500), st.none() | st.just(10**9))
        ),
        days=st.integers(0, 1),
    )
    def reserve(self, scope: Scope, purpose: str, most: Amount, caps: dict[Level, Cap], days: int) -> None:
        now = T0 + days * 86_400 * SECOND
        given = self.ask(lambda stores: stores.ledger.reserve(scope, purpose, most, caps, 1.0, now))
        if not isinstance(given[0], Refusal):
            self.reservations.append((given[0], given[1]))

    @rule(place=st.integers(0, 20), actual=amounts, guess=st.booleans())
    def settle(self, place: int, actual: Amount, guess: bool) -> None:
        if self.reservations:
            pair = self.reservations[place % len(self.reservations)]
            self.ask(*(lambda stores, of=of: stores.ledger.settle(of, actual, is_estimate=guess) for of in pair))

    @rule(scope=scopes, purpose=kinds, now=times)
    def spent(self, scope: Scope, purpose: str, now: int) -> None:
        day = T0 // (86_400 * SECOND)
        self.ask(lambda stores: stores.ledger.spent(scope, day, now))
        self.ask(lambda stores: stores.ledger.used(scope, purpose, day))
        self.ask(lambda stores: stores.ledger.costs(SERVES_ALL, day, day + 1, day + 1, 9))

    @rule(days=st.integers(0, 3), today=st.integers(0, 1))
    def forget_spend(self, days: int, today: int) -> None:
        now = T0 + today * 86_400 * SECOND
        # All or none: which of one day's entries go first is left open.
        self.ask(lambda stores: stores.ledger.forget(SERVES_ALL, T0 // (86_400 * SECOND) + days - 1, 1000, now))

    # --- critiques ---------------------------------------------------------------------------------------------------

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
        place = (scope, turn, session)
        after = None if begin else self.critique_keys.get(place)
        page = self.one(lambda stores: stores.critiques.list(scope, turn, session, after, limit))
        if page:
            self.critique_keys[place] = CritiqueKey(page[-1].created_us, page[-1].critique_id)

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

    # --- policies ----------------------------------------------------------------------------------------------------

    @rule(scope=scopes, level=st.sampled_from(PolicyLevel), policy=policies, version=st.integers(0, 3), at=times)
    def set_policy(self, scope: Scope, level: PolicyLevel, policy: DataPolicy, version: int, at: int) -> None:
        made = PolicyChange(level, policy, scope.project_id, version, 2)
        self.ask(lambda stores: stores.policies.set(scope, made, at))
        self.ask(lambda stores: stores.policies.get(scope))

    @rule(served=st.sampled_from(["*", "acme/*", "Acme/shop", "acme/é, שלום/*"]))
    def retained(self, served: str) -> None:
        self.ask(lambda stores: stores.policies.retained(serves_listed(served)))
        self.ask(lambda stores: stores.policies.deciding(serves_listed(served)))

    # --- observations ------------------------------------------------------------------------------------------------

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

    # --- receipts ----------------------------------------------------------------------------------------------------

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
        after = None if begin else self.receipt_keys.get((scope, lesson))
        page = self.one(lambda stores: stores.receipts.find(scope, after, limit, lesson_id=lesson, from_us=since))
        if page:
            self.receipt_keys[scope, lesson] = ReceiptKey(page[-1].time_us, page[-1].receipt_id)

    @rule(scope=scopes, turns=st.lists(st.just("") | names, max_size=3), limit=st.integers(1, 3))
    def receipts_of_turns(self, scope: Scope, turns: list[str], limit: int) -> None:
        self.ask(lambda stores: stores.receipts.of_turns(scope, turns, limit))

    @rule(before=times)
    def forget_receipts(self, before: int) -> None:
        self.ask(lambda stores: stores.receipts.forget(SERVES_ALL, before, 1000))

    @rule()
    def envelopes_are_in_step(self) -> None:
        """What looks across scopes agrees with what it stands for."""
        assert self.runner.run(self.databases.strays(self.name)) == []


async def _awaited(question: Awaitable[Any]) -> Any:
    return await question


def _age(found: tuple[Scope, TurnHead]) -> tuple[int, Scope, str]:
    scope, head = found
    return head.updated_us, scope, head.turn_id


def run(databases: Databases, examples: int, steps: int, *, shrink: bool) -> None:
    SameAnswers.databases = databases
    SameAnswers.name = asyncio.run(databases.create())
    run_state_machine_as_test(
        SameAnswers,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
            phases=[Phase.explicit, Phase.reuse, Phase.generate, *([Phase.shrink] if shrink else [])],
        ),
    )


def test_same_operations_same_answers(databases: Databases) -> None:
    run(databases, examples=12, steps=50, shrink=False)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_same_operations_same_answers_for_long(databases: Databases) -> None:
    run(databases, examples=300, steps=100, shrink=True)
