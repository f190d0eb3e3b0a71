"""Policies on an embedded store, where nobody has proposed anything."""

from sidemirror_server.policy.in_force import PoliciesInForce
from sidemirror_server.policy.record import DataPolicy, PolicyLevel, RetentionPeriods
from sidemirror_server.policy.store import PolicyChange
from sidemirror_server.storage.sqlite.database import SqliteDatabase
from sidemirror_server.storage.sqlite.policies import SqlitePolicies
from sidemirror_server.vocabulary.clock import Clock
from sidemirror_server.vocabulary.scope import SERVES_ALL


def policies_on(database: SqliteDatabase, clock: Clock) -> PoliciesInForce:
    return PoliciesInForce(SqlitePolicies(database), RetentionPeriods(), SERVES_ALL, clock, 10)


def change(policy: DataPolicy, level: PolicyLevel = PolicyLevel.PROJECT) -> PolicyChange:
    """A change that replaces whatever is stored."""
    return PolicyChange(level, policy, "ops", None, 10)
