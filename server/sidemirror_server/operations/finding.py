"""What `sidemirror doctor` says of one thing that it has looked at."""

import msgspec

from sidemirror_server.settings import Source


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that was looked at: whether it is well, what was found, and what to change if it is not. With `ok` and
    an advice, a server starts all the same."""

    subject: str
    ok: bool
    found: str
    advice: str = ""


class Examination(msgspec.Struct, frozen=True):
    """Everything that was found; `settings` is empty when they cannot be read."""

    ok: bool
    settings: tuple[Source, ...]
    findings: tuple[Finding, ...]
