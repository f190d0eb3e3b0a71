"""What SQLite and Postgres are both asked about turns: the log, sessions, and answered requests."""

from hypothesis import strategies as st
from hypothesis.stateful import rule

from sidemirror_server.thinking.store import SessionKey, SessionRecord
from sidemirror_server.trace.log import TURN_TOPIC, Batch, Draft, HeadKey, TurnHead, TurnStanding
from sidemirror_server.trace.requests import Answered
from sidemirror_server.vocabulary.ids import RequestId, SessionId, TurnId
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope
from tests.adapters.same_stores import ALL, BothStores, bodies, kinds, limits, names, scopes, times

byte_limits = st.sampled_from([1, 10, 1 << 20, ALL])
standings = st.sampled_from(list(TurnStanding))


class TurnOperations(BothStores):
    """The ports TurnLog, Sessions and Requests."""

    def __init__(self) -> None:
        super().__init__()
        self.cursors: dict[tuple[Scope, str | None], list[int]] = {}

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
        for batch in batches:
            self.head_of(scope, batch.head.turn_id)
            self.newest(scope, batch.head.session_id)

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
            found = self.answer(stores.log.tail(scope, TURN_TOPIC, None, 0, ALL, ALL))
            last = self.answer(stores.log.last_position(scope))
            assert last == (found[-1].position if found else 0)

    @rule(
        scope=scopes,
        session=st.none() | names,
        standing=st.none() | standings,
        limit=st.integers(1, 3),
        begin=st.booleans(),
    )
    def heads(self, scope: Scope, session: str | None, standing: TurnStanding | None, limit: int, begin: bool) -> None:
        of = None if session is None else SessionId(session)
        self.page(
            ("log", scope, session, standing),
            begin,
            lambda stores, after: stores.log.heads(scope, of, standing, after, limit),
            lambda last: HeadKey(last.started_us, last.turn_id),
        )

    @rule(scope=scopes, session=names)
    def newest(self, scope: Scope, session: str) -> None:
        self.ask(lambda stores: stores.log.newest(scope, SessionId(session)))

    @rule(before=times)
    def idle(self, before: int) -> None:
        found = [self.answer(stores.log.idle(SERVES_ALL, before, ALL)) for stores in self.stores]
        assert sorted(found[0], key=_age) == sorted(found[1], key=_age)
        assert [head.updated_us for _, head in found[0]] == [head.updated_us for _, head in found[1]]

    @rule(scope=scopes, session=names, body=bodies, created=times)
    def create(self, scope: Scope, session: str, body: bytes, created: int) -> None:
        self.ask(
            lambda stores: stores.sessions.create(scope, SessionRecord(SessionId(session), body, created, created))
        )
        self.get(scope, session)

    @rule(scope=scopes, session=names)
    def get(self, scope: Scope, session: str) -> None:
        self.ask(lambda stores: stores.sessions.get(scope, SessionId(session)))

    @rule(scope=scopes, session=names, body=bodies, now=times)
    def update(self, scope: Scope, session: str, body: bytes, now: int) -> None:
        self.ask(lambda stores: stores.sessions.update(scope, SessionId(session), body, now))

    @rule(scope=scopes, limit=st.integers(1, 3), begin=st.booleans())
    def list_sessions(self, scope: Scope, limit: int, begin: bool) -> None:
        self.page(
            ("sessions", scope),
            begin,
            lambda stores, after: stores.sessions.list(scope, after, limit),
            lambda last: SessionKey(last.created_us, last.session_id),
        )

    @rule(scope=scopes, session=names)
    def delete(self, scope: Scope, session: str) -> None:
        self.ask(lambda stores: stores.sessions.delete(scope, SessionId(session)))

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
        self.recall(scope, method, request, now)

    @rule(now=times)
    def forget(self, now: int) -> None:
        self.ask(lambda stores: stores.requests.forget(SERVES_ALL, now, 1000))


def _age(found: tuple[Scope, TurnHead]) -> tuple[int, Scope, str]:
    scope, head = found
    return head.updated_us, scope, head.turn_id
