"""The scope of a call whose messages cannot name one: its headers may."""

import msgspec

from sidemirror_server.rpc.boundary.call import Context
from sidemirror_server.vocabulary.errors import BadInput

TENANT_HEADER, PROJECT_HEADER = "sidemirror-tenant", "sidemirror-project"
_LONGEST_NAME = 128


class NamedScope(msgspec.Struct, frozen=True):
    """Stands in for a request whose messages name no scope: what its headers name, or nothing."""

    tenant_id: str = ""
    project_id: str = ""


def named_scope(context: Context) -> NamedScope:
    """What the call's headers name. Raises BadInput for a name that is none."""
    given = {key: value for key, value in context.invocation_metadata() or () if key in (TENANT_HEADER, PROJECT_HEADER)}
    for key, value in given.items():
        if not (isinstance(value, str) and value.isprintable() and len(value) <= _LONGEST_NAME):
            raise BadInput([(key, f"1 to {_LONGEST_NAME} printable characters are expected")])
    return NamedScope(str(given.get(TENANT_HEADER, "")), str(given.get(PROJECT_HEADER, "")))
