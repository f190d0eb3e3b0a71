"""The tenant and project of a call, and the scopes that a sidecar serves. Every key and every port verb takes a scope
first; a verb across scopes takes the scopes served instead."""

import msgspec


class Scope(msgspec.Struct, frozen=True, order=True):
    """A tenant and one of its projects. Flat: no scope contains another (decision 003)."""

    tenant_id: str
    project_id: str


DEFAULT_SCOPE = Scope("default", "default")


def whose(scope: Scope) -> dict[str, str]:
    """The fields of a log line that say whose work it is about: every line of work has them."""
    return {"tenant_id": scope.tenant_id, "project_id": scope.project_id}


class Served(msgspec.Struct, frozen=True):
    """One entry of a sidecar's scopes. `project_id` None: every project; both None: every tenant."""

    tenant_id: str | None = None
    project_id: str | None = None

    def covers(self, other: "Served | Scope") -> bool:
        """Whether the entry includes all scopes of the other entry."""
        return self.tenant_id in (None, other.tenant_id) and self.project_id in (None, other.project_id)

    def common(self, other: "Served") -> "Served | None":
        """The scopes that both entries include; None if there are none."""
        parts = ((self.tenant_id, other.tenant_id), (self.project_id, other.project_id))
        if any(one is not None and other is not None and one != other for one, other in parts):
            return None
        return Served(*(other if one is None else one for one, other in parts))

    def __str__(self) -> str:
        return "*" if self.tenant_id is None else f"{self.tenant_id}/{self.project_id or '*'}"


class Serves(msgspec.Struct, frozen=True):
    """The scopes that a sidecar may serve, in calls and in the background. Entries are sorted by scope and do not
    overlap, so that a walk over them meets each scope once. `said`: whether the operator chose them, by a pinned scope
    or a list."""

    entries: tuple[Served, ...] = (Served(),)
    said: bool = False

    def covers(self, scope: Served | Scope) -> bool:
        """Whether the sidecar serves this scope, or all scopes of this entry."""
        return any(entry.covers(scope) for entry in self.entries)

    def __str__(self) -> str:
        return ", ".join(map(str, self.entries))


# The default, for one operator with one set of keys.
SERVES_ALL = Serves()


def serves_only(scope: Scope) -> Serves:
    """The scopes of a sidecar that is pinned to one."""
    return Serves((Served(scope.tenant_id, scope.project_id),), said=True)


def serves_listed(text: str) -> Serves:
    """The scopes of a list such as `acme/*, globex/shop`. `*` means all scopes; an empty text leaves the choice open.
    Raises ValueError, which names the invalid entry, as one of blanks alone."""
    if not text:
        return SERVES_ALL
    listed = {_entry(part.strip()) for part in text.split(",")}
    apart = [one for one in listed if not any(one != other and other.covers(one) for other in listed)]
    return Serves(tuple(sorted(apart, key=lambda one: (one.tenant_id or "", one.project_id or ""))), said=True)


def _entry(text: str) -> Served:
    if text == "*":
        return Served()
    tenant_id, slash, project_id = text.partition("/")
    if not (tenant_id and slash and project_id) or "*" in tenant_id or ("*" in project_id and project_id != "*"):
        raise ValueError(f"{text!r}: tenant/project, tenant/* or * is expected")
    return Served(tenant_id, None if project_id == "*" else project_id)
