"""What is decided for a tenant or one of its projects: retention, caps and advice. Values and the precedence between
them (decision 048).

A policy is a row beside the data, so that every sidecar on a store follows the same one.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

import msgspec

_T = TypeVar("_T")
_U = TypeVar("_U")


class PolicyLevel(StrEnum):
    """Whom a policy is for. The values are stored and never change."""

    PROJECT = "project"
    TENANT = "tenant"


class AdviceKind(StrEnum):
    """What a policy can turn off. The values are stored and never change."""

    # Every kind, including later ones.
    ALL = "all"
    LESSONS = "lessons"
    RECOVERIES = "recoveries"

    @classmethod
    def _missing_(cls, value: object) -> "AdviceKind":  # noqa: ARG003 (whatever it is)
        """A kind that a later version stored. All advice is off then: this version cannot tell which it means."""
        return cls.ALL


class RetentionPeriods(msgspec.Struct, frozen=True, omit_defaults=True):
    """How long records are kept, in days, and how many memories of a project. 0 keeps them for ever; None is not set.
    `memory_importance`: from 0 to 1; memories of at least this importance do not become too old."""

    spend_days: int | None = None
    critique_days: int | None = None
    memory_days: int | None = None
    memory_importance: float | None = None
    memory_count: int | None = None
    trace_days: int | None = None

    def over(self, other: "RetentionPeriods") -> "RetentionPeriods":
        """These values, and where one is not set, the other's."""
        mine, theirs = msgspec.structs.asdict(self), msgspec.structs.asdict(other)
        return RetentionPeriods(**{name: theirs[name] if mine[name] is None else mine[name] for name in mine})

    @property
    def memories_whole(self) -> "RetentionPeriods":
        """These values; once one of memories is set, those that are not set keep all of them. Else what a sidecar
        proposes would remove memories that a policy keeps."""
        if (self.memory_days, self.memory_importance, self.memory_count) == (None, None, None):
            return self
        return self.over(_MEMORIES_KEPT)

    @property
    def removes(self) -> bool:
        """Whether anything is ever removed."""
        return any((self.spend_days, self.critique_days, self.memory_days, self.memory_count, self.trace_days))


# What holds where nobody has decided: everything is kept. The importance has an effect only beside `memory_days`; it is
# the default of the setting.
KEPT_FOR_EVER = RetentionPeriods(0, 0, 0, 0.5, 0, 0)
_MEMORIES_KEPT = RetentionPeriods(memory_days=0, memory_importance=KEPT_FOR_EVER.memory_importance, memory_count=0)


def retention_in_force(
    project: RetentionPeriods, tenant: RetentionPeriods, proposed: RetentionPeriods
) -> RetentionPeriods:
    """How long records are kept: by the project's policy, else the tenant's, else by the settings of a sidecar, which
    count for memories only where no policy sets a value of theirs; else for ever."""
    return project.over(tenant).memories_whole.over(proposed).over(KEPT_FOR_EVER)


class Cap(msgspec.Struct, frozen=True, omit_defaults=True):
    """The most that may be spent in a day. None: no cap."""

    tokens: int | None = None
    nano_usd: int | None = None


class Advice(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which advice is not given: the kinds that are off, and the ids of lessons."""

    off: tuple[AdviceKind, ...] = ()
    silenced: tuple[str, ...] = ()

    def gives(self, kind: AdviceKind) -> bool:
        """Whether advice of this kind is given at all."""
        return kind not in self.off and AdviceKind.ALL not in self.off

    def shows(self, lesson_id: str, *rests_on: str) -> bool:
        """Whether a lesson may be shown. `rests_on`: the reflection that it is the strategy of, and the memories that
        it was dreamt from; each silences it too."""
        return not self.silenced or not {lesson_id, *rests_on} & {*self.silenced}

    def and_off(self, other: "Advice") -> "Advice":
        """What either leaves out."""
        off = tuple(kind for kind in AdviceKind if kind in self.off or kind in other.off)
        return Advice(off, tuple(dict.fromkeys((*self.silenced, *other.silenced))))


class DataPolicy(msgspec.Struct, frozen=True, omit_defaults=True):
    """One policy. `caps`: by purpose, '' for all purposes together. Field names are part of the stored format."""

    retention: RetentionPeriods = RetentionPeriods()
    caps: Mapping[str, Cap] = {}
    advice: Advice = Advice()


class StoredPolicy(msgspec.Struct, frozen=True):
    """A policy as it is stored. `version`: grows with each change (`store.py`). `set_by`: the name of the token, empty
    without one. `set_us`: when, by the store's clock."""

    policy: DataPolicy
    version: int
    set_by: str
    set_us: int


class ScopePolicies(msgspec.Struct, frozen=True):
    """The stored policies that concern a scope: its project's and its tenant's, None where there is none."""

    project: StoredPolicy | None = None
    tenant: StoredPolicy | None = None

    @property
    def of_project(self) -> DataPolicy:
        """The project's own policy; an empty one if there is none."""
        return DataPolicy() if self.project is None else self.project.policy

    @property
    def of_tenant(self) -> DataPolicy:
        """The tenant's policy; an empty one if there is none."""
        return DataPolicy() if self.tenant is None else self.tenant.policy

    def at(self, level: PolicyLevel) -> DataPolicy:
        """The policy of this level; an empty one if there is none."""
        return self.of_project if level is PolicyLevel.PROJECT else self.of_tenant

    @property
    def advice(self) -> Advice:
        """The advice that the scope is not given: what is off for the tenant is off in all its projects."""
        return self.of_tenant.advice.and_off(self.of_project.advice)

    def retention(self, proposed: RetentionPeriods) -> RetentionPeriods:
        """How long the scope's records are kept. `proposed`: by the sidecar's settings; they count where neither the
        project nor the tenant says anything."""
        return retention_in_force(self.of_project.retention, self.of_tenant.retention, proposed)


# What holds in the place of a part of a stored policy that this version cannot read: nothing is removed, no advice is
# given, and calls go on under the sidecar's own caps.
UNREADABLE = DataPolicy(KEPT_FOR_EVER, {}, Advice((AdviceKind.ALL,)))


class _Body(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the stores keep of a policy beside its version. Field names are part of the stored format."""

    policy: DataPolicy
    set_by: str = ""
    set_us: int = 0


class _RawPolicy(msgspec.Struct, frozen=True):
    """The parts of a stored `DataPolicy`, each decoded by itself."""

    retention: msgspec.Raw = msgspec.Raw(b"{}")
    caps: msgspec.Raw = msgspec.Raw(b"{}")
    advice: msgspec.Raw = msgspec.Raw(b"{}")


class _RawBody(msgspec.Struct, frozen=True):
    """A stored `_Body` whose parts may be unreadable."""

    policy: _RawPolicy
    set_by: str = ""
    set_us: int = 0


def policy_body(stored: StoredPolicy) -> bytes:
    """A stored policy without its version, as JSON."""
    return msgspec.json.encode(_Body(stored.policy, stored.set_by, stored.set_us))


def stored_policy(version: int, body: bytes) -> StoredPolicy:
    """A policy from a row. What cannot be read of it, since a later version wrote it or it is damaged, is taken from
    `UNREADABLE`: such a row must not stop the server, and can still be replaced and removed."""
    made = _decoded(body, _RawBody, None)
    if made is None:
        return StoredPolicy(UNREADABLE, version, "", 0)
    parts = made.policy
    policy = DataPolicy(
        _decoded(parts.retention, RetentionPeriods, UNREADABLE.retention),
        _decoded(parts.caps, dict[str, Cap], UNREADABLE.caps),
        _decoded(parts.advice, Advice, UNREADABLE.advice),
    )
    return StoredPolicy(policy, version, made.set_by, made.set_us)


def _decoded(raw: bytes | msgspec.Raw, kind: type[_T], unreadable: _U) -> _T | _U:
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return unreadable
