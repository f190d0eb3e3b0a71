"""The scope of a call whose messages cannot name one: its headers may."""

import msgspec

from sidemirror_server.rpc.boundary.call import Context
from sidemirror_server.rpc.boundary.identity import PROBE
from sidemirror_server.vocabulary.errors import BadInput

TENANT_HEADER, PROJECT_HEADER = "sidemirror-tenant", "sidemirror-project"
# What our headers begin with. Another one is misspelt: what it names would be taken for the sidecar's own.
_OURS = "sidemirror-"
_LONGEST_NAME = 128
# Chosen here: who misspells more corrects these first.
_MOST_UNKNOWN = 5


class NamedScope(msgspec.Struct, frozen=True):
    """Stands in for a request whose messages name no scope: what its headers name, or nothing."""

    tenant_id: str = ""
    project_id: str = ""


def named_scope(context: Context) -> NamedScope:
    """What the call's headers name. Raises BadInput for a name that is none, and for an unknown header of ours."""
    known = (TENANT_HEADER, PROJECT_HEADER, PROBE[0][0])
    keys = dict.fromkeys(key for key, _ in context.invocation_metadata() or () if key.startswith(_OURS))
    if unknown := [key for key in keys if key not in known]:
        there_are = f"there is no such header; there are {TENANT_HEADER}, {PROJECT_HEADER}"
        raise BadInput([(key[:_LONGEST_NAME], there_are) for key in unknown[:_MOST_UNKNOWN]])
    given = {key: value for key, value in context.invocation_metadata() or () if key in (TENANT_HEADER, PROJECT_HEADER)}
    for key, value in given.items():
        if not (isinstance(value, str) and value.isprintable() and len(value) <= _LONGEST_NAME):
            raise BadInput([(key, f"1 to {_LONGEST_NAME} printable characters are expected")])
    return NamedScope(str(given.get(TENANT_HEADER, "")), str(given.get(PROJECT_HEADER, "")))
