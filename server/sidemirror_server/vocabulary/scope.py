"""Whose data a call is about. Every key and every port verb starts with a scope."""

import msgspec


class Scope(msgspec.Struct, frozen=True, order=True):
    """A tenant and one of its projects. Flat: no scope contains another (decision 003)."""

    tenant_id: str
    project_id: str


DEFAULT_SCOPE = Scope("default", "default")
