"""Which lessons a policy turns off. Used by `memory.py` and `turns_why.py`."""

from collections.abc import Sequence
from typing import Any

import grpc

from sidemirror.v1 import reflective_memory_pb2 as memory_pb
from sidemirror.v1 import sidecar_pb2 as pb
from sidemirror_server.operations.advice_history import advice_changes
from sidemirror_server.operations.shown import plain, scope_option

_LESSONS = {pb.ADVICE_KIND_ALL, pb.ADVICE_KIND_LESSONS}


class TurnedOff:
    """Asks once, by the changes on record: the policy itself is for admins."""

    def __init__(self, channel: grpc.Channel, scope: dict[str, Any]) -> None:
        self._channel = channel
        self._scope = scope
        self._known: tuple[set[int], set[str]] | None = None
        self._option = scope_option(scope)

    def lesson(self, memory: memory_pb.Memory) -> str:
        """How a policy turns a lesson off, and what turns it on again; empty if none does. Raises grpc.RpcError."""
        if self._known is None:
            self._known = off_at(advice_changes(self._channel, self._scope))
        off, silenced_ids = self._known
        if _LESSONS & off:
            return f"a policy turned all lessons off: `sidemirror advice on{self._option}`"
        if memory.id in silenced_ids:
            return (
                f"a policy turned it off, no agent is told it: `sidemirror advice on {plain(memory.id)}{self._option}`"
            )
        silenced = next((one for one in rests_on(memory) if one in silenced_ids), "")
        if not silenced:
            return ""
        what = "its reflection" if silenced == memory.strategy_of else "what it was dreamt from"
        command = f"`sidemirror advice on {plain(silenced)}{self._option}`"
        return f"a policy turned off {what}, and it too is told no agent: {command}"


def off_at(changes: Sequence[pb.AdviceChange], at_us: int | None = None) -> tuple[set[int], set[str]]:
    """The kinds of advice and the ids that policies turned off then. `changes`: the newest first; None: now."""
    off, silenced = set[int](), set[str]()
    for level in (pb.POLICY_LEVEL_PROJECT, pb.POLICY_LEVEL_TENANT):
        of_level = (one for one in changes if one.level == level)
        last = next((one for one in of_level if at_us is None or one.time.ToMicroseconds() <= at_us), pb.AdviceChange())
        off |= set(last.after.off)
        silenced |= set(last.after.silenced_ids)
    return off, silenced


def is_off_at(changes: Sequence[pb.AdviceChange], memory: memory_pb.Memory, at_us: int) -> bool:
    """Whether a policy turned a lesson off then."""
    off, silenced_ids = off_at(changes, at_us)
    return bool(_LESSONS & off or {memory.id, *rests_on(memory)} & silenced_ids)


def rests_on(memory: memory_pb.Memory) -> list[str]:
    """The ids of the reflection that a lesson is the strategy of, and of what it was dreamt from: each silences it
    too (`policy/record.py`)."""
    return [one for one in dict.fromkeys((memory.strategy_of, *memory.derived_from)) if one]
