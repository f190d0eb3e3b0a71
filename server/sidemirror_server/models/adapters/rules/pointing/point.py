"""One contradiction that was found: what the answer says, and what the record has."""

import msgspec

from sidemirror_server.models.answers import IssueWord


class Point(msgspec.Struct, frozen=True):
    """`quote`: words of the answer; empty where it leaves something out. `against`: words of the record or the request;
    empty where the record has nothing. `reason`: one sentence, without the quotes."""

    kind: IssueWord
    quote: str
    against: str
    reason: str
    fix: str = ""
