"""The part of `sidemirror doctor` that says what a sidecar at the address tells of itself. Pure."""

from collections.abc import Iterator

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror_server.operations.finding import Finding
from sidemirror_server.operations.moments import second
from sidemirror_server.operations.shown import plain
from sidemirror_server.rpc.sidecar.findings import findings_of

# How far two clocks may differ. Synchronised ones differ by less. The console has it too: `console/src/now.tsx`.
_DIFFER_US = 5_000_000
_NOT_TOLD = (
    "refused callers, agents held back or refused, other tenants' caps and traffic (the token is not good for them)"
)
_ASK_WITH = "set SIDEMIRROR_TOKEN_FILE to a file with a token that is good for every tenant (`*`)"


def check_running(info: pb.GetServerInfoResponse, address: str, now_us: int, took_us: int = 0) -> Iterator[Finding]:
    """Findings about its stores, clocks, models and senders. `now_us`: this machine's time at the answer. `took_us`:
    how long the answer took."""
    yield from _clock(info, address, now_us, took_us)
    for one in findings_of(info, address):
        last = f", the last one at {second(one.last_us)}" if one.last_us else ""
        yield Finding(one.subject, ok=one.ok, found=plain(f"{one.found}{last}"), advice=one.advice, about=one.about)
    if info.HasField("traffic") and not info.traffic.HasField("message_count"):
        found = f"{address}: the token is not good for every tenant, and is told of its own alone"
        yield Finding("access", ok=True, found=found, advice=_ASK_WITH, not_asked=_NOT_TOLD)


def _clock(info: pb.GetServerInfoResponse, address: str, now_us: int, took_us: int) -> Iterator[Finding]:
    if info.HasField("server_time"):
        ahead_us = info.server_time.ToMicroseconds() - now_us
        if not -_DIFFER_US - took_us <= ahead_us <= _DIFFER_US:
            differs = f"{abs(ahead_us) / 1e6:,.0f} s {'ahead of' if ahead_us > 0 else 'behind'} this command's"
            advice = "set the clock that is wrong, and keep it in step"
            found = f"the clock of the sidecar at {address} is {differs}: it is {second(now_us + ahead_us)} there"
            yield Finding("clock", ok=False, found=found, advice=advice)
