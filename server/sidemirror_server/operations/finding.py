"""The findings of `sidemirror doctor`."""

import msgspec

from sidemirror_server.rpc.sidecar.findings import OfModel, OfStore
from sidemirror_server.settings import Source


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """One checked thing: whether it is ok, what was found, and what to change. If `ok`, a server starts even without
    the change. `not_asked`: what could not be asked for, and so may be wrong. `about`: the model or the store of which
    it says whether it answers."""

    subject: str
    ok: bool
    found: str
    advice: str = ""
    not_asked: str = ""
    about: OfModel | OfStore | None = None


class Examination(msgspec.Struct, frozen=True):
    """All findings; `settings` is empty when they cannot be read."""

    ok: bool
    settings: tuple[Source, ...]
    findings: tuple[Finding, ...]
