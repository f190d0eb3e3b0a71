"""Something at the sidecar's place that fails with turns, each in the way that its id begins with."""

import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2

from sidemirror.v1 import common_pb2, critique_pb2, goal_reflection_pb2, reflective_memory_pb2, sidecar_pb2
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.boundary.status import call_status_of
from sidemirror_server.vocabulary.errors import Draining, ModelUnavailable, StoreFull, StoreUnavailable

# Streams of a turn of the kind "later" that there is no room for.
REFUSED = 2
# Reports of outcomes, and as many of goals, that find the store away: as often as a client's calls try by themselves.
AWAY = 4
# What the sidecar's RetryInfo says.
RETRY_AFTER_S = 1.0
# A health check for which "busy" has waited is answered so late: a client gives it up after a second.
HEALTHY_S = 4.0
# "busy" waits no longer for it: the check of a client beside a busy machine may be on its way.
ASKED_S = 1.5
# Lessons come so late, and the verdict on "late": by then a client has asked whether the sidecar is there.
LATE_S = 2.5
# Statuses without details, by the names of what always ends with them: turns, goals and verdicts.
STATUSES = {
    "cancelled": grpc.StatusCode.CANCELLED,
    "unknown": grpc.StatusCode.UNKNOWN,
    "aborted": grpc.StatusCode.ABORTED,
    "exhausted": grpc.StatusCode.RESOURCE_EXHAUSTED,
}
# So late "busy" ends: by then the client has given the check up.
ENDS_S = 1.5


class Troubled(grpc.GenericRpcHandler):
    """`internal` and `bare`: each stream ends with INTERNAL, the second kind without details. `slow`: with
    DEADLINE_EXCEEDED. `later`: the first ones
    with RESOURCE_EXHAUSTED and when to come again. `slowly`: each stream takes one event and ends with INTERNAL.
    `behind`: it is told two blocks, and the stream ends with INTERNAL behind the summary, without details.
    `busy`: the first answer waits until a health check has come, which is answered later still. The first reports of
    outcomes, and of goals, find the store away, and each critique of "no model" the model. One of "the end" finds the
    sidecar about to end. Streams, goals and critiques of each of STATUSES end with it."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "troubled.sock"
        # When the streams of each kind came, in seconds.
        self.streams_s: defaultdict[str, list[float]] = defaultdict(list)
        # When they ended, in seconds.
        self.ends_s: defaultdict[str, list[float]] = defaultdict(list)
        # The ids of the events of each kind that are durable.
        self.durable: defaultdict[str, list[str]] = defaultdict(list)
        # Both of the kind "busy": it waits for a health check; one has come.
        self._busy = threading.Event()
        self._asked = threading.Event()
        # The receipts whose outcome was reported.
        self.outcomes: list[str] = []
        # When reports of outcomes and of goals came, in seconds.
        self.reports_s: defaultdict[str, list[float]] = defaultdict(list)
        self._lock = threading.Lock()
        self._server = grpc.server(futures.ThreadPoolExecutor(16))
        self._server.add_generic_rpc_handlers((self,))
        port = self._server.add_insecure_port("127.0.0.1:0")
        # As tests.clients.harness.Sidecar has them.
        self.address = f"127.0.0.1:{port}"
        self.variables: dict[str, str] = {}
        self.complaints = ""
        self._server.start()

    def do(self, what: str) -> None:
        """Its trouble is fixed beforehand: a scenario that asks for more is wrong."""
        raise AssertionError(what)

    def __enter__(self) -> "Troubled":
        return self

    def __exit__(self, *_: object) -> None:
        """Returns when no call goes on."""
        self._server.stop(None).wait()

    def service(self, details: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[bytes, bytes] | None":
        if details.method.endswith("/GetServerInfo"):
            answer = sidecar_pb2.GetServerInfoResponse().SerializeToString()
            return grpc.unary_unary_rpc_method_handler(lambda _request, _context: answer)
        if details.method == "/grpc.health.v1.Health/Check":
            return grpc.unary_unary_rpc_method_handler(self._healthy)
        if details.method.endswith("/Critique"):
            return grpc.unary_unary_rpc_method_handler(_judged)
        if details.method.endswith("/BuildMemoryContext"):
            return grpc.unary_unary_rpc_method_handler(_recalled)
        if details.method.endswith("/ReportOutcome"):
            return grpc.unary_unary_rpc_method_handler(self._report_outcome)
        if details.method.endswith("/ReportGoal"):
            return grpc.unary_unary_rpc_method_handler(self._report_goal)
        if details.method.endswith("/RunTurn"):
            return grpc.stream_stream_rpc_method_handler(
                self._run_turn,
                request_deserializer=pb.RunTurnRequest.FromString,  # type: ignore[arg-type]  # a handler of bytes
                response_serializer=pb.RunTurnResponse.SerializeToString,  # type: ignore[arg-type]
            )
        return None

    def _healthy(self, _request: bytes, _context: grpc.ServicerContext) -> bytes:
        if self._busy.is_set():
            self._asked.set()
            time.sleep(HEALTHY_S)
        return health_pb2.HealthCheckResponse(status="SERVING").SerializeToString()

    def _report_outcome(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        self._report("outcome", context)
        self.outcomes.append(reflective_memory_pb2.ReportOutcomeRequest.FromString(request).receipt_id)
        return reflective_memory_pb2.ReportOutcomeResponse().SerializeToString()

    def _report_goal(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        kind = goal_reflection_pb2.ReportGoalRequest.FromString(request).goal_id.partition("-")[0]
        if kind in STATUSES:
            self.reports_s[kind].append(time.monotonic())
            context.abort(STATUSES[kind], "something between")
        self._report("goal", context)
        return goal_reflection_pb2.ReportGoalResponse().SerializeToString()

    def _report(self, kind: str, context: grpc.ServicerContext) -> None:
        self.reports_s[kind].append(time.monotonic())
        if len(self.reports_s[kind]) <= AWAY:
            context.abort_with_status(call_status_of(StoreUnavailable()))

    def _run_turn(
        self, requests: Iterator[pb.RunTurnRequest], context: grpc.ServicerContext
    ) -> Iterator[pb.RunTurnResponse]:
        first = next(requests)
        turn_id = first.resume.turn_id or first.events[0].turn_id
        kind = turn_id.partition("-")[0]
        with self._lock:
            self.streams_s[kind].append(time.monotonic())
            place = len(self.streams_s[kind])
        try:
            if kind in STATUSES:
                context.abort(STATUSES[kind], "something between")
            if kind == "bare":
                context.abort(grpc.StatusCode.INTERNAL, "something between")
            if kind in ("internal", "slow"):
                context.abort_with_status(call_status_of(RuntimeError() if kind == "internal" else TimeoutError()))
            if kind == "later" and place <= REFUSED:
                context.abort_with_status(call_status_of(StoreFull()))
            if kind == "busy":
                self._busy.set()
                self._asked.wait(ASKED_S)
                self._busy.clear()
            yield from self._served(kind, turn_id, first, requests, context)
        finally:
            self.ends_s[kind].append(time.monotonic())

    def _served(
        self,
        kind: str,
        turn_id: str,
        request: pb.RunTurnRequest,
        requests: Iterator[pb.RunTurnRequest],
        context: grpc.ServicerContext,
    ) -> Iterator[pb.RunTurnResponse]:
        taken = 0
        while True:
            for event in request.events:
                taken += 1
                self.durable[kind].append(event.event_id)
                yield _said(pb.TurnDirective(ack=pb.TurnAck(received=taken, durable=taken)))
                if event.HasField("turn_started"):
                    plan = pb.TurnPlan(turn_id=turn_id)
                    if kind == "behind":
                        plan.context.receipt_id = "first"
                    yield _said(pb.TurnDirective(directive_id="plan", turn_plan=plan))
                if event.HasField("turn_finished") and kind == "behind":
                    reflection = pb.MidTurnReflection(lessons=common_pb2.ContextBlock(receipt_id="second"))
                    yield _said(pb.TurnDirective(directive_id="lessons", reflection=reflection))
                if event.HasField("turn_finished"):
                    time.sleep(ENDS_S if kind == "busy" else 0)
                    count = len(self.durable[kind])
                    yield _said(pb.TurnDirective(directive_id="end", turn_summary=pb.TurnSummary(event_count=count)))
                    if kind == "behind":
                        context.abort(grpc.StatusCode.INTERNAL, "something between")
                    return
                if kind == "slowly":
                    context.abort_with_status(call_status_of(RuntimeError()))
            request = next(requests)


def _judged(request: bytes, context: grpc.ServicerContext) -> bytes:
    response = critique_pb2.CritiqueRequest.FromString(request).response
    if response == "no model":
        context.abort_with_status(call_status_of(ModelUnavailable()))
    if response in STATUSES:
        context.abort(STATUSES[response], "something between")
    if response == "the end":
        context.abort_with_status(call_status_of(Draining()))
    time.sleep(LATE_S if response == "late" else 0)
    verdict = common_pb2.CritiqueResult(critique_id="verdict", status=common_pb2.RESULT_STATUS_OK)
    return critique_pb2.CritiqueResponse(critique=verdict).SerializeToString()


def _recalled(_request: bytes, _context: grpc.ServicerContext) -> bytes:
    time.sleep(LATE_S)
    return reflective_memory_pb2.BuildMemoryContextResponse().SerializeToString()


def _said(directive: pb.TurnDirective) -> pb.RunTurnResponse:
    return pb.RunTurnResponse(directives=[directive])
