"""Where the turns may be that somebody looks for in vain: other projects, and calls that were refused. Used by
`turns.py`."""

from collections.abc import Iterator, Sequence
from typing import Any

import grpc

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror_server.operations.shown import clock_time, plain
from sidemirror_server.operations.turn_entries import TIMEOUT_S

_MOST_NAMED = 3


def elsewhere_told(channel: grpc.Channel, scope: dict[str, Any]) -> Iterator[str]:
    """What project was looked in, which others have sent of late, and which calls were refused. Raises
    grpc.RpcError."""
    info = SidecarServiceStub(channel).GetServerInfo(pb.GetServerInfoRequest(**scope), timeout=TIMEOUT_S)
    here = (scope["tenant_id"] or info.tenant_id, scope["project_id"] or info.project_id)
    yield f"Looked in {plain('/'.join(here))}; --scope names another project."
    if others := others_who_sent(info.traffic, here):
        period_s = info.traffic.period.ToMicroseconds() / 1e6
        named = ", ".join(map(plain, others[:_MOST_NAMED]))
        yield f"In the last {period_s:.0f} s calls came for: {named}{_more(others)}"
    for one in info.refused_callers[:_MOST_NAMED]:
        calls = f"{one.call_count:,} call{'' if one.call_count == 1 else 's'}"
        who = f": {one.token or one.fingerprint}" if one.token or one.fingerprint else ""
        last = clock_time(one.last_time)
        yield plain(f"Refused: {calls} from {one.peer} ({one.reason}{who}), the last one at {last}")
    if len(info.refused_callers) > _MOST_NAMED:
        yield f"Refused too: {len(info.refused_callers) - _MOST_NAMED:,} more"
    if info.refused_callers:
        yield "`sidemirror doctor` says what to do about calls that are refused."


def _more(named: Sequence[object]) -> str:
    more = len(named) - _MOST_NAMED
    return f", and {more:,} more" if more > 0 else ""


def others_who_sent(traffic: pb.Traffic, here: tuple[str, str]) -> list[str]:
    """For which tenants and projects but this one calls came that do more than read, who sends most first. A command
    that looks for something somewhere has sent nothing there."""
    sent = ((one.tenant_id, one.project_id) for one in traffic.callers if one.sent_count > one.read_count)
    return list(dict.fromkeys("/".join(one) for one in sent if one != here))
