"""What SQLite and Postgres are both asked about work, and about what it may spend and keep."""

from hypothesis import strategies as st
from hypothesis.stateful import rule

from sidemirror_server.models.ledger import Amount, Level, Refusal, Reservation
from sidemirror_server.policy.record import Advice, AdviceKind, Cap, DataPolicy, PolicyLevel, RetentionPeriods
from sidemirror_server.policy.store import PolicyChange
from sidemirror_server.vocabulary.ids import JobId
from sidemirror_server.vocabulary.scope import SERVES_ALL, Scope, serves_listed
from sidemirror_server.work.queue import Job, JobKey, JobState, NewJob
from tests.adapters.same_stores import SECOND, T0, BothStores, bodies, kinds, names, scopes, texts, times

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
# What is done with one of the claimed jobs: verb, which one, how far its token is off, body, text, now, when to retry.
Step = tuple[str, int, int, bytes, str, int, int]
VERBS = ["extend", "checkpoint", "finish", "fail", "fail for good", "release", "revive", "forget"]
steps = st.lists(
    st.tuples(st.sampled_from(VERBS), st.integers(0, 3), st.sampled_from([0, 0, 0, 1]), bodies, texts, times, times),
    min_size=1,
    max_size=4,
)


class WorkOperations(BothStores):
    """The ports Work, Ledger and Policies."""

    def __init__(self) -> None:
        super().__init__()
        self.claimed: list[Job] = []
        self.reservations: list[tuple[Reservation, Reservation]] = []

    @rule(
        scope=scopes, job=names, kind=kinds, payload=bodies, attempts=st.integers(1, 2), at=st.none() | times, now=times
    )
    def put(self, scope: Scope, job: str, kind: str, payload: bytes, attempts: int, at: int | None, now: int) -> None:
        self.ask(lambda stores: stores.work.put(scope, NewJob(JobId(job), kind, payload, attempts, at), now))

    @rule(of=st.sets(kinds), limit=st.integers(0, 4), lease=st.sampled_from([1.0, 2.5]), now=times, worker=texts)
    def claim(self, of: set[str], limit: int, lease: float, now: int, worker: str) -> None:
        jobs = self.one(lambda stores: stores.work.claim(SERVES_ALL, sorted(of), limit, lease, now, worker))
        self.claimed += jobs

    @rule(scope=scopes, job=names, kind=kinds, payload=bodies, attempts=st.integers(1, 2), now=times, then=steps)
    def live_through(
        self, scope: Scope, job: str, kind: str, payload: bytes, attempts: int, now: int, then: list[Step]
    ) -> None:
        """A job from its beginning on, beside what else is claimed with it."""
        self.put(scope, job, kind, payload, attempts, None, now)
        self.claim({kind}, 4, 2.5, now, "worker")
        for step in then:
            self.go_on(*step)

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
        self.page(
            ("work", scope, kind),
            begin,
            lambda stores, after: stores.work.list(scope, kind, sorted(states), after, limit),
            lambda last: JobKey(last.created_us, last.job_id),
        )
        self.ask(lambda stores: stores.work.count(scope, kind))
        self.ask(lambda stores: stores.work.waiting(scope, kind))

    @rule(of=st.sets(kinds), before=times)
    def purge(self, of: set[str], before: int) -> None:
        self.ask(lambda stores: stores.work.purge(SERVES_ALL, sorted(of), before, 1000))
        self.ask(lambda stores: stores.work.purge_dead(SERVES_ALL, sorted(of), before, 1000))
        self.ask(lambda stores: stores.work.scopes(SERVES_ALL, sorted(of)))

    @rule(
        scope=scopes,
        purpose=kinds,
        most=amounts,
        caps=st.dictionaries(
            st.sampled_from(list(Level)), st.builds(Cap, st.none() | st.just(2500), st.none() | st.just(10**9))
        ),
        days=st.integers(0, 1),
        actual=st.none() | amounts,
    )
    def reserve(
        self, scope: Scope, purpose: str, most: Amount, caps: dict[Level, Cap], days: int, actual: Amount | None
    ) -> None:
        now = T0 + days * 86_400 * SECOND
        given = self.ask(lambda stores: stores.ledger.reserve(scope, purpose, most, caps, 1.0, now))
        if not isinstance(given[0], Refusal):
            self.reservations.append((given[0], given[1]))
            if actual is not None:
                self.settle(len(self.reservations) - 1, actual, guess=False)

    @rule(place=st.integers(0, 20), actual=amounts, guess=st.booleans())
    def settle(self, place: int, actual: Amount, guess: bool) -> None:
        if self.reservations:
            pair = self.reservations[place % len(self.reservations)]
            self.ask(*(lambda stores, of=of: stores.ledger.settle(of, actual, is_estimate=guess) for of in pair))
            scope, purpose, day = pair[0].scope, pair[0].purpose, pair[0].day
            self.ask(lambda stores: stores.ledger.used(scope, purpose, day))
            self.ask(lambda stores: stores.ledger.spent(scope, day, T0))

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

    @rule(scope=scopes, level=st.sampled_from(PolicyLevel), policy=policies, version=st.integers(0, 3), at=times)
    def set_policy(self, scope: Scope, level: PolicyLevel, policy: DataPolicy, version: int, at: int) -> None:
        made = PolicyChange(level, policy, scope.project_id, version, 2)
        self.ask(lambda stores: stores.policies.set(scope, made, at))
        self.ask(lambda stores: stores.policies.get(scope))

    @rule(served=st.sampled_from(["*", "acme/*", "Acme/shop", "acme/é, שלום/*"]))
    def retained(self, served: str) -> None:
        self.ask(lambda stores: stores.policies.retained(serves_listed(served)))
        self.ask(lambda stores: stores.policies.deciding(serves_listed(served)))
