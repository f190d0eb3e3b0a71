"""Sidemirror as `sidemirror serve` starts it, by gRPC and with the defaults: a user is a tenant.

Texts are kept by StoreReflection, episodes are turns, and what an agent is told comes from BuildMemoryContext and
FindRecoveries. What is held back by chance is drawn from ids: they are counted, so that each
run draws the same. `with_sidemirror_vectors.py` adds the sentence model.
"""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import grpc
from serving import Embedding, K, serve
from settling import PATIENCE_S, settled

from bench.processes import free_port
from sidemirror.v1 import common_pb2, sidecar_pb2, sidecar_pb2_grpc, thinking_pb2_grpc
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror.v1 import reflective_memory_pb2_grpc as pb_grpc
from sidemirror.v1 import thinking_pb2 as turn_pb

_AT_ONCE, _SUBJECT = 16, "person"


class Sidemirror:
    def __init__(self, folder: Path, _embedding: Embedding | None, *flags: str) -> None:
        # A store that is opened again has the first ids already.
        again = f"{time.time_ns()}-" if folder.exists() and any(folder.iterdir()) else ""
        self._ids = (f"{again}{number}" for number in count(1))
        address = f"127.0.0.1:{free_port()}"
        command = [str(Path(sys.executable).with_name("sidemirror")), "serve", "--address", address]
        self._server = subprocess.Popen([*command, "--data-dir", str(folder), "--log-level", "warning", *flags])
        channel = grpc.insecure_channel(address)
        self._memory: Any = pb_grpc.ReflectiveMemoryServiceStub(channel)
        self._turns: Any = thinking_pb2_grpc.ThinkingServiceStub(channel)
        self._sidecar: Any = sidecar_pb2_grpc.SidecarServiceStub(channel)
        self._sidecar.GetServerInfo(sidecar_pb2.GetServerInfoRequest(), timeout=PATIENCE_S, wait_for_ready=True)

    def keep(self, user: str, texts: list[str]) -> list[str]:
        def one(text: str, request_id: str) -> str:
            result = pb.ReflectionResult(reflection_text=text)
            asked = pb.StoreReflectionRequest(
                tenant_id=user, request_id=request_id, result=result, subject_ids=[_SUBJECT]
            )
            return str(self._memory.StoreReflection(asked, timeout=PATIENCE_S).reflection_id)

        with ThreadPoolExecutor(min(_AT_ONCE, len(texts))) as callers:
            return list(callers.map(one, texts, self._ids))

    def find(self, user: str, text: str, k: int) -> list[list[str]]:
        asked = pb.QueryReflectionsRequest(tenant_id=user, query_text=text, k=k, min_importance=0.0)
        hits = self._memory.QueryReflections(asked, timeout=PATIENCE_S).hits
        return [[hit.memory.id, hit.memory.content] for hit in hits]

    def kept(self, user: str) -> list[str]:
        found, token = list[str](), ""
        while True:
            asked = pb.ListReflectionsRequest(tenant_id=user, page_size=1000, page_token=token)
            page = self._memory.ListReflections(asked, timeout=PATIENCE_S)
            found += [memory.id for memory in page.memories]
            if not (token := page.next_page_token):
                return found

    def read(self, user: str, memory: str) -> str | None:
        try:
            asked = pb.GetReflectionRequest(tenant_id=user, reflection_id=memory)
            return str(self._memory.GetReflection(asked, timeout=PATIENCE_S).memory.content)
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.NOT_FOUND:  # type: ignore[attr-defined]  # it is a Call too
                return None
            raise

    def forget(self, user: str) -> None:
        self._sidecar.Erase(sidecar_pb2.EraseRequest(tenant_id=user, subject_id=_SUBJECT), timeout=PATIENCE_S)

    def told(self, user: str, task: str) -> str:
        return self._block(user, task, 0.0)[0]

    def _block(self, user: str, task: str, held_back: float) -> tuple[str, str]:
        asked = pb.BuildMemoryContextRequest(
            tenant_id=user, request_id=next(self._ids), task=task, max_items=K, holdout_fraction=held_back
        )
        block = self._memory.BuildMemoryContext(asked, timeout=PATIENCE_S).block
        return block.text, block.receipt_id

    def live(self, user: str, task: str, steps: list[dict[str, Any]], outcome: str) -> None:
        started = turn_pb.StartTurnRequest(tenant_id=user, turn_id=next(self._ids), task=task)
        turn = self._turns.StartTurn(started, timeout=PATIENCE_S).plan.turn_id
        events = [event for at, step in enumerate(steps) for event in _events(str(at), step)]
        self._turns.ReportEvents(
            turn_pb.ReportEventsRequest(tenant_id=user, turn_id=turn, events=events), timeout=PATIENCE_S
        )
        ended = common_pb2.TaskOutcome.Value(f"TASK_OUTCOME_{outcome.upper()}")
        finished = turn_pb.FinishTurnRequest(tenant_id=user, turn_id=turn, outcome=ended)
        self._turns.FinishTurn(finished, timeout=PATIENCE_S)

    def repair(self, user: str, step: dict[str, Any], **_asked: Any) -> str:
        asked = pb.FindRecoveriesRequest(
            tenant_id=user,
            request_id=next(self._ids),
            tool=step["tool"],
            arguments=step["arguments"],
            error_text=step["result"],
        )
        return str(self._memory.FindRecoveries(asked, timeout=PATIENCE_S).block.text)

    def settle(self, user: str) -> str:
        return settled(self._sidecar, self._memory, user)

    def advised(self, user: str, task: str) -> list[str]:
        """A task's block with a holdout of a half, and its receipt."""
        return list(self._block(user, task, 0.5))

    def report(self, user: str, receipt: str, *, succeeded: bool) -> None:
        outcome = common_pb2.TASK_OUTCOME_SUCCESS if succeeded else common_pb2.TASK_OUTCOME_FAILURE
        asked = pb.ReportOutcomeRequest(tenant_id=user, receipt_id=receipt, outcome=outcome)
        self._memory.ReportOutcome(asked, timeout=PATIENCE_S)

    def close(self) -> None:
        self._server.terminate()
        self._server.wait()


def _events(call: str, step: dict[str, Any]) -> list[turn_pb.TurnEvent]:
    called = turn_pb.ToolCalled(call_id=call, name=step["tool"], arguments=step["arguments"])
    if step["failed"]:
        answer = turn_pb.TurnEvent(tool_failed=turn_pb.ToolFailed(call_id=call, error=step["result"]))
    else:
        answer = turn_pb.TurnEvent(tool_returned=turn_pb.ToolReturned(call_id=call, content=step["result"]))
    return [turn_pb.TurnEvent(tool_called=called), answer]


if __name__ == "__main__":
    serve(Sidemirror)
