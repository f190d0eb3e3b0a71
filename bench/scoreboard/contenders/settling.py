"""When a sidecar has done what goes on behind the answers to a caller: it learns from turns, and embeds memories."""

import time
from typing import Any

from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1 import sidecar_pb2

PATIENCE_S = 900.0
# So often in a row nothing must have changed.
_CALM = 10
# The sidecar weighs vectors from so many memories on.
_FEWEST_WEIGHED = 20


def settled(sidecar: Any, memory: Any, user: str) -> str:
    """Waits for that, and says how a question of the user is searched. `sidecar`, `memory`: stubs of the services."""
    until, calm, learned = time.monotonic() + PATIENCE_S, 0, -1
    while calm < _CALM and time.monotonic() < until:
        info = sidecar.GetServerInfo(sidecar_pb2.GetServerInfoRequest(tenant_id=user), timeout=PATIENCE_S)
        asked = pb.ListRecoveriesRequest(tenant_id=user, page_size=1000)
        signatures = memory.ListRecoveries(asked, timeout=PATIENCE_S).signatures
        before, learned = learned, sum(one.observation_count for one in signatures)
        is_busy = info.backlog or _is_embedding(memory, user, info)
        calm = 0 if is_busy or learned != before else calm + 1
        time.sleep(0.1)
    return "words and vectors" if _is_hybrid(memory, user) else "words"


def _is_embedding(memory: Any, user: str, info: sidecar_pb2.GetServerInfoResponse) -> bool:
    """Whether memories wait for vectors, or for the weight that vectors have among them."""
    asked = pb.ListReflectionsRequest(tenant_id=user, state=pb.MEMORY_STATE_ACTIVE, page_size=_FEWEST_WEIGHED)
    active = memory.ListReflections(asked, timeout=PATIENCE_S).memories
    if not info.HasField("memory_embedding") or len(active) < _FEWEST_WEIGHED:
        return False
    weighed = info.memory_embedding
    return weighed.memories == 0 or (weighed.weight > 0 and not _is_hybrid(memory, user))


def _is_hybrid(memory: Any, user: str) -> bool:
    asked = pb.QueryReflectionsRequest(tenant_id=user, query_text="anything", k=1)
    return bool(memory.QueryReflections(asked, timeout=PATIENCE_S).search_mode == pb.SEARCH_MODE_HYBRID)
