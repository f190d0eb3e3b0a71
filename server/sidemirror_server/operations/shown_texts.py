"""The texts of lessons as they were shown, of which receipts have the versions alone, and the first words of those
that were left out. Used by `turns.py`, `turns_why.py` and `turn_silences.py`."""

from collections.abc import Mapping
from typing import Any

import grpc

from sidemirror.v1 import common_pb2
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.operations.shown import in_short, plain, scope_option
from sidemirror_server.operations.turn_entries import TIMEOUT_S
from sidemirror_server.trace.receipts import GOAL_ITEM, RECOVERY_ITEM

# The most versions of a lesson that are looked through.
_MOST_VERSIONS = 1_000
# How much of a lesson that was left out is told, and of how many.
FIRST_CHARS, _MOST_FIRST = 100, 50


class ShownTexts:
    """Asks for texts, of each lesson once."""

    def __init__(self, stub: ReflectiveMemoryServiceStub, scope: dict[str, Any]) -> None:
        self._stub = stub
        self._scope = scope
        self._known: dict[str, dict[int, str]] = {}

    def of(self, item: pb.ReceiptItem) -> str:
        """The text of the version that was shown; in brackets why there is none. Raises grpc.RpcError."""
        if item.kind in (GOAL_ITEM, RECOVERY_ITEM):
            return "(its text is not kept with the turn)"
        if item.id not in self._known:
            self._known[item.id] = self._versions(item.id)
        return self._known[item.id].get(item.version, "(its text was removed since)")

    def _versions(self, lesson_id: str) -> dict[int, str]:
        request = pb.ListReflectionVersionsRequest(reflection_id=lesson_id, page_size=_MOST_VERSIONS, **self._scope)
        try:
            found = self._stub.ListReflectionVersions(request, timeout=TIMEOUT_S).versions
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.NOT_FOUND:
                raise
            return {}
        return {one.version: one.content for one in found}


class FirstWords:
    """Asks for the first words of lessons as they are today, of each lesson once."""

    def __init__(self, channel: grpc.Channel, scope: dict[str, Any]) -> None:
        self._stub = ReflectiveMemoryServiceStub(channel)
        self._scope = scope
        self._known: dict[str, pb.Memory] = {}

    def omitted(self, one: common_pb2.OmittedItem) -> str:
        """A lesson that was left out: its id, its first words if there are any, and why. Raises grpc.RpcError."""
        if one.id not in self._known and len(self._known) < _MOST_FIRST:
            self._known[one.id] = self._asked(one.id)
        memory = self._known.get(one.id, pb.Memory())
        words = in_short(memory.content, FIRST_CHARS)
        told = f"{in_short(one.id)}{f' “{words}”' if words else ''}: {in_short(one.reason)}"
        if memory.state != pb.MEMORY_STATE_QUARANTINED:
            return told
        command = review_command(memory, self._scope)
        return f"{told}; today it is in quarantine ({held_because(memory)}), to release it: {command}"

    def _asked(self, lesson_id: str) -> pb.Memory:
        request = pb.GetReflectionRequest(reflection_id=lesson_id, **self._scope)
        try:
            memory = self._stub.GetReflection(request, timeout=TIMEOUT_S).memory
        except grpc.RpcError as error:
            # A goal's reflection, a recovery, or one that was removed.
            if error.code() not in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT):
                raise
            return pb.Memory()
        return memory


def held_because(memory: pb.Memory) -> str:
    """Why a memory is in quarantine: its kind, and the reason if there is one."""
    return in_short(": ".join(filter(None, (memory.quarantine, memory.reason))))


def review_command(memory: pb.Memory, scope: Mapping[str, str]) -> str:
    """The command that makes a memory of this scope active."""
    return f"sidemirror memory review {plain(memory.id)} active --reason …{scope_option(scope)}"
