"""When what agents are told was changed, and by whom. Used by `turns_why.py` and `memory.py`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import grpc

from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror.v1.sidecar_pb2_grpc import SidecarServiceStub
from sidemirror_server.operations.shown import clock_time, in_short, words_of

_TIMEOUT_S = 30.0
_SHADOW = "shadow"


def advice_changes(channel: grpc.Channel, scope: dict[str, Any]) -> Sequence[pb.AdviceChange]:
    """The changes on record, the newest first. Raises grpc.RpcError."""
    request = pb.GetServerInfoRequest(with_advice_changes=True, **scope)
    return SidecarServiceStub(channel).GetServerInfo(request, timeout=_TIMEOUT_S).advice_changes


def shadow_around(changes: Sequence[pb.AdviceChange], at_us: int) -> str:
    """In words, from when to when the shadow mode of a turn held that began then, and what set it; empty where that is
    not on record."""
    modes = [one for one in reversed(changes) if one.mode]
    since = next((one for one in reversed(modes) if one.time.ToMicroseconds() <= at_us and one.mode == _SHADOW), None)
    if since is None:
        return ""
    until = next((one for one in modes if one.time.ToMicroseconds() > at_us and one.mode != _SHADOW), None)
    begun = f"from {clock_time(since.time)}, when a sidecar started whose advice__mode was shadow"
    if until is None:
        return f"in shadow mode {begun}; it still is"
    return f"in shadow mode {begun}, until {clock_time(until.time)}, when one started whose advice__mode was not"


def shadow_then(changes: Sequence[pb.AdviceChange], at_us: int) -> bool:
    """Whether the last mode on record was shadow mode then."""
    return next((one.mode == _SHADOW for one in changes if one.mode and one.time.ToMicroseconds() <= at_us), False)


def all_of(changes: Sequence[pb.AdviceChange]) -> Iterator[str]:
    """A line for what each change turned off, and for what it turned on, the oldest first."""
    for change in reversed(changes):
        if change.mode:
            yield f"{clock_time(change.time)}  {_mode(change)}"
            continue
        before, after = _off(change.before), _off(change.after)
        for done, what in (("off", [*after - before]), ("on", [*before - after])):
            if what:
                told = f"turned {done}{_by(change)} {_whose(change)}: {', '.join(sorted(what))}"
                yield f"{clock_time(change.time)}  {told}"


def _off(policy: pb.AdvicePolicy) -> set[str]:
    return {*(words_of(pb.AdviceKind, kind) for kind in policy.off), *map(in_short, policy.silenced_ids)}


def about(
    changes: Sequence[pb.AdviceChange], lesson_id: str, kind: int, name: str = "", rests_on: Sequence[str] = ()
) -> Iterator[str]:
    """A line for each change that silenced a lesson or recovery or told it again, the oldest first. `kind`: of advice
    that it belongs to. `name`: stands before what was done to it alone. `rests_on`: what silences it too."""
    names = {lesson_id: name, **{one: f"{one}, which it rests on," for one in rests_on}}
    for change in reversed(changes):
        told = _told(change, names, kind)
        if told:
            yield f"{clock_time(change.time)}  {told}"


def _told(change: pb.AdviceChange, names: Mapping[str, str], kind: int) -> str:
    if change.mode:
        return _mode(change)
    by, whose = _by(change), _whose(change)
    for lesson_id, name in names.items():
        was, now = (lesson_id in policy.silenced_ids for policy in (change.before, change.after))
        if was != now:
            done = "silenced" if now else "no longer silenced"
            return f"{f'{in_short(name)} ' if name else ''}{done}{by} {whose}"
    was, now = (bool({kind, pb.ADVICE_KIND_ALL} & set(policy.off)) for policy in (change.before, change.after))
    if was != now:
        return f"all {words_of(pb.AdviceKind, kind)} turned {'off' if now else 'on'}{by} {whose}"
    return ""


def _mode(change: pb.AdviceChange) -> str:
    return f"the mode is {in_short(change.mode)} from here on, by the sidecar's setting"


def _by(change: pb.AdviceChange) -> str:
    return f" by {in_short(change.changed_by) or 'a caller without a name'}"


def _whose(change: pb.AdviceChange) -> str:
    why = f" ({in_short(change.reason)})" if change.reason else ""
    return f"in the policy of the {words_of(pb.PolicyLevel, change.level)}{why}"
