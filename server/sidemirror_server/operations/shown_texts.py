"""The texts of lessons as they were shown, of which receipts have the versions alone. Used by `turns.py` and
`turns_why.py`."""

from typing import Any

import grpc

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.operations.turn_entries import TIMEOUT_S
from sidemirror_server.trace.receipts import GOAL_ITEM, RECOVERY_ITEM

# The most versions of a lesson that are looked through.
_MOST_VERSIONS = 1_000


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
