"""Who is calling, and so in whose scope: today from the settings, with tokens from the token that the call carries."""

from sidemirror_server.vocabulary.errors import NotPermitted
from sidemirror_server.vocabulary.scope import DEFAULT_SCOPE, Scope


class Identity:
    """Supplies the scope of every call. Empty fields of a request mean the sidecar's own scope (design section 2)."""

    def __init__(self, own: Scope = DEFAULT_SCOPE, *, pinned: bool = False) -> None:
        """`pinned`: no other scope than `own` is served."""
        self.own = own
        self._pinned = pinned

    def scope_of(self, tenant_id: str, project_id: str) -> Scope:
        """The scope that a request asks for. Raises NotPermitted when this server does not serve it."""
        if not tenant_id and not project_id:
            return self.own
        asked = Scope(tenant_id or self.own.tenant_id, project_id or self.own.project_id)
        if self._pinned and asked != self.own:
            raise NotPermitted(reason="this sidecar serves its own tenant and project only")
        return asked
