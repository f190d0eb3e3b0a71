"""Metrics of a real `serve`, scraped and sent: every promise has its figure, the dashboard and the alerts speak of
figures that exist, and no contents are in any of them."""

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import grpc
import pytest
import yaml
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc

from sidemirror.v1 import (
    critique_pb2,
    critique_pb2_grpc,
    goal_reflection_pb2,
    goal_reflection_pb2_grpc,
    reflective_memory_pb2,
    reflective_memory_pb2_grpc,
)
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1 import thinking_pb2_grpc as pb_grpc
from sidemirror.v1.reflective_memory_pb2_grpc import ReflectiveMemoryServiceStub
from sidemirror_server.observing import NOT_SUMMED, gauges, memory_limit_bytes
from sidemirror_server.thinking.record import Directive, Reflection
from sidemirror_server.turns import counting
from sidemirror_server.turns.counting import GIVEN_UP
from sidemirror_server.vocabulary.ids import DirectiveId
from sidemirror_server.vocabulary.status import ResultStatus
from sidemirror_server.vocabulary.store_clock import StoreClock
from tests.acceptance.product import Serving, serving
from tests.architecture.repository import ROOT
from tests.faults.clocks import SetClock
from tests.faults.process import Process
from tests.memory import told
from tests.operations.scrape import labelled, metrics_address, scraped, text_of
from tests.wire.calls import MEDIUM, called, failed
from tests.wire.waiting import until

CANARY = "canary-51c0"
DEPLOY = ROOT / "deploy"


def used(server: Serving | Process) -> None:
    """Calls that make something of everything that is counted, with a canary in every text."""
    with grpc.insecure_channel(server.address) as channel:
        stub = pb_grpc.ThinkingServiceStub(channel)
        start = pb.StartTurnRequest(
            tenant_id=CANARY, session_id=CANARY, turn_id=CANARY, task=CANARY, user_message=CANARY, config=MEDIUM
        )
        stub.StartTurn(start, timeout=60)
        events = [event for _ in range(3) for event in (called(CANARY, CANARY), failed(CANARY))]
        stub.ReportEvents(pb.ReportEventsRequest(tenant_id=CANARY, turn_id=CANARY, events=events), timeout=60)
        stub.Reflect(pb.ReflectRequest(tenant_id=CANARY, turn_id=CANARY), timeout=60)
        stub.FinishTurn(pb.FinishTurnRequest(tenant_id=CANARY, turn_id=CANARY), timeout=60)
        critique = critique_pb2.CritiqueRequest(tenant_id=CANARY, user_message=CANARY, response=CANARY)
        critique_pb2_grpc.CritiqueServiceStub(channel).Critique(critique, timeout=60)
        goal = goal_reflection_pb2.ReportGoalRequest(
            tenant_id=CANARY, goal_id=CANARY, objective=CANARY, state=goal_reflection_pb2.GOAL_STATE_FAILED
        )
        goal_reflection_pb2_grpc.GoalReflectionServiceStub(channel).ReportGoal(goal, timeout=60)
        memory = reflective_memory_pb2_grpc.ReflectiveMemoryServiceStub(channel)
        lesson = reflective_memory_pb2.StoreReflectionRequest(tenant_id=CANARY, result={"reflection_text": CANARY})
        memory.StoreReflection(lesson, timeout=60)
        asked = reflective_memory_pb2.BuildMemoryContextRequest(tenant_id=CANARY, task=CANARY)
        memory.BuildMemoryContext(asked, timeout=60)
        # Its log lines name the tenant (decision 017).
        assert CANARY in told.tell(ReflectiveMemoryServiceStub(channel), CANARY)
        with pytest.raises(grpc.RpcError):
            stub.GetTurn(pb.GetTurnRequest(turn_id=CANARY), timeout=60)


@pytest.fixture(scope="module")
def scrape(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The metrics address of a server that was used."""
    with serving(tmp_path_factory.mktemp("measured"), "--metrics-address", "127.0.0.1:0") as server:
        used(server)
        yield metrics_address(server.log)


def test_every_promise_has_its_figure(scrape: str) -> None:
    found = scraped(scrape)
    assert found["sidemirror_turns_started_total"] == 1
    assert found["sidemirror_turns_ended_total"] == 1
    assert found["sidemirror_turn_events_total"] == 8
    assert labelled(scrape, "sidemirror_reflections_total", status="ok", provider="rules") == 1
    assert found["sidemirror_critiques_total"] == 1
    assert found["sidemirror_nudges_total"] >= 1
    asked = {"purpose": "mid_turn_reflection", "provider": "rules", "status": "ok"}
    assert labelled(scrape, "sidemirror_model_duration_seconds_count", **asked) == 1
    assert labelled(scrape, "sidemirror_calls_refused_total", code="NOT_FOUND", reason="NOT_FOUND") == 1
    assert labelled(scrape, "sidemirror_call_duration_seconds_count", rpc_method="Reflect", code="OK") == 1
    assert labelled(scrape, "sidemirror_store_duration_seconds_count", store="log", verb="append", failed="false") >= 1
    assert found["sidemirror_store_available"] == 1
    assert found["sidemirror_backlog_bytes"] == found["sidemirror_durable_lag_seconds"] == 0
    assert found["sidemirror_streams_open"] == 0
    assert found["sidemirror_clock_seconds"] == pytest.approx(time.time(), abs=60)
    assert labelled(scrape, "sidemirror_jobs_waiting", kind="goal_report") == 1
    assert labelled(scrape, "sidemirror_jobs_put_total", kind="goal_report") == 1
    until(lambda: labelled(scrape, "sidemirror_jobs_total", kind="goal_report", result="done") == 1)


def test_every_store_is_timed(scrape: str) -> None:
    """Those too that came after the first. Seen to fail when `PORTS` names some only."""
    kept = ("log", "sessions", "critiques", "work", "goal_reflections", "memories", "memory_search")
    for port in (*kept, "receipts", "journal"):
        until(lambda port=port: labelled(scrape, "sidemirror_store_duration_seconds_count", store=port) >= 1)  # type: ignore[misc]


def test_no_contents_are_in_them(scrape: str) -> None:
    assert CANARY not in text_of(scrape)


def names_in(expression: str) -> set[str]:
    return set(re.findall(r"\b(?:sidemirror|process)_\w+", expression))


# As the exporter names what there was no occasion for: a model that costs something, a reader that is too slow.
NAME_ALL = """
from opentelemetry import metrics
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import generate_latest
from sidemirror_server.vocabulary import telemetry

metrics.set_meter_provider(MeterProvider([PrometheusMetricReader()]))
for instrument in vars(telemetry).values():
    if hasattr(instrument, "add"):
        instrument.add(1)
    elif hasattr(instrument, "record"):
        instrument.record(1)
print(generate_latest().decode())
"""


# Told where the store has a clock of its own; `test_metrics_worth.py` has such a server.
OF_A_SHARED_STORE = {"sidemirror_store_clock_ahead_seconds", "sidemirror_retention_stopped"}
# Told where something limits the process's memory.
OF_A_LIMITED_PROCESS = {"sidemirror_memory_limit_bytes"}


def known(scrape: str) -> set[str]:
    """What a server tells, and what it would tell if there was an occasion."""
    named = subprocess.run([sys.executable, "-c", NAME_ALL], capture_output=True, text=True, check=True).stdout
    occasional = OF_A_SHARED_STORE | OF_A_LIMITED_PROCESS
    return set(scraped(scrape)) | occasional | set(re.findall(r"^(sidemirror_\w+)\{", named, re.MULTILINE))


def test_the_dashboard_shows_what_exists(scrape: str) -> None:
    dashboard = json.loads((DEPLOY / "grafana" / "sidemirror.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    shown = set().union(*map(names_in, expressions))
    assert len(expressions) > 18
    assert shown - known(scrape) == set()
    ours = {re.sub(r"_(bucket|sum|count)$", "", name) for name in scraped(scrape) if name.startswith("sidemirror_")}
    left_out = {name for name in ours if not any(one.startswith(name) for one in shown) and "_created" not in name}
    assert left_out == set()
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


def test_the_alerts_are_about_what_exists(scrape: str) -> None:
    rules = [
        rule
        for group in yaml.safe_load((DEPLOY / "prometheus-rules.yaml").read_text())["groups"]
        for rule in group["rules"]
    ]
    assert set().union(*(names_in(rule["expr"]) for rule in rules)) - known(scrape) == set()
    assert all(rule["annotations"]["summary"] and rule["labels"]["severity"] for rule in rules)


class Collector(metrics_service_pb2_grpc.MetricsServiceServicer):
    """Keeps what it is sent."""

    def __init__(self) -> None:
        self.raw = b""
        self.names: set[str] = set()
        self.lock = threading.Lock()

    def Export(self, request: Any, context: object) -> Any:  # noqa: N802  # the protocol's name
        with self.lock:
            self.raw += request.SerializeToString()
            for of_resource in request.resource_metrics:
                for of_scope in of_resource.scope_metrics:
                    self.names |= {metric.name for metric in of_scope.metrics}
        return metrics_service_pb2.ExportMetricsServiceResponse()


def test_they_are_sent_by_otlp_without_contents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, collector = Collector(), grpc.server(ThreadPoolExecutor(1))
    metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server(kept, collector)  # type: ignore[no-untyped-call]
    port = collector.add_insecure_port("127.0.0.1:0")
    collector.start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "200")
    wanted = {"sidemirror.turns.started", "sidemirror.reflections", "sidemirror.store.duration", "sidemirror.backlog"}
    try:
        with serving(tmp_path, "--metrics", "true") as server:
            used(server)
            until(lambda: wanted <= kept.names)
            assert server.stop() == 0
    finally:
        collector.stop(None).wait()
    assert CANARY.encode() not in kept.raw


def test_the_log_holds_no_contents_either(tmp_path: Path) -> None:
    """Of a server that tells as much as it can."""
    with serving(tmp_path, "--log-level", "debug", "--metrics-address", "127.0.0.1:0") as server:
        used(server)
        assert server.stop() == 0
    lines = [line for line in server.log.splitlines() if CANARY in line]
    # Ids are told: they are how a line is found. Texts are not.
    assert [line for line in lines if CANARY not in map(json.loads(line).get, ("turn_id", "tenant_id"))] == []


def test_off_there_is_nothing(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        assert "metrics_served" not in server.log


def test_an_address_that_is_taken_ends_the_start(scrape: str, tmp_path: Path) -> None:
    from tests.acceptance.product import run

    told = run("serve", "--address", "127.0.0.1:0", "--metrics-address", scrape, cwd=tmp_path)
    assert told.returncode == 1
    assert told.stderr == f"sidemirror: metrics_address '{scrape}': Address already in use\n"


def test_the_least_limit_on_memory_is_told(tmp_path: Path) -> None:
    """Of the process's own cgroup and those above it. Seen to fail when only the topmost is read, and when a limit that
    is none counts."""
    own = tmp_path / "cgroup"
    own.write_text("0::/pods/one\n")
    cgroups = tmp_path / "cgroups"
    (cgroups / "pods" / "one").mkdir(parents=True)
    assert memory_limit_bytes(cgroups, own) is None
    (cgroups / "memory.max").write_text("max\n")
    (cgroups / "pods" / "one" / "memory.max").write_text("1073741824\n")
    assert memory_limit_bytes(cgroups, own) == 2**30
    (cgroups / "pods" / "memory.max").write_text("402653184\n")
    assert memory_limit_bytes(cgroups, own) == 384 * 2**20
    own.write_text("5:cpu:/pods/one\n4:memory:/pods/one\n")
    (cgroups / "memory").mkdir()
    (cgroups / "memory" / "memory.limit_in_bytes").write_text(f"{2**63 - 4096}\n")
    assert memory_limit_bytes(cgroups, own) is None
    (cgroups / "memory" / "memory.limit_in_bytes").write_text("1000000\n")
    assert memory_limit_bytes(cgroups, own) == 1_000_000
    assert memory_limit_bytes(cgroups, tmp_path / "none") is None


# How Prometheus names the gauges that may not be summed.
NOT_SUMMED_THERE = {
    f"{name.replace('.', '_')}{'_seconds' if 'clock' in name or 'lag' in name else ''}" for name in NOT_SUMMED
}


def test_a_gauge_that_may_not_be_summed_says_so_and_is_not(scrape: str) -> None:
    """Neither by the dashboard nor by an alert. Seen to fail with `sum` in one panel, and with one gauge left out of
    `NOT_SUMMED`."""
    text = text_of(scrape)
    helped = set(re.findall(r"^# HELP (\w+) .*Not to be summed", text, re.MULTILINE))
    assert helped == NOT_SUMMED_THERE - OF_A_SHARED_STORE
    gauges_there = set(re.findall(r"^# TYPE (sidemirror_\w+) gauge", text, re.MULTILINE))
    # Each is an amount that this sidecar has.
    assert gauges_there - NOT_SUMMED_THERE - OF_A_LIMITED_PROCESS == {
        *("sidemirror_streams_open", "sidemirror_calls_running", "sidemirror_turns_memory", "sidemirror_tasks"),
        *("sidemirror_backlog_bytes", "sidemirror_jobs_running", "sidemirror_agents_held_back"),
    }
    dashboard = json.loads((DEPLOY / "grafana" / "sidemirror.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    groups = yaml.safe_load((DEPLOY / "prometheus-rules.yaml").read_text())["groups"]
    expressions += [rule["expr"] for group in groups for rule in group["rules"]]
    summed = {
        name
        for expression in expressions
        for inner in re.findall(r"\bsum\b(?: by \([^)]*\))? ?\(([^()]*)", expression)
        for name in names_in(inner)
    }
    assert "sidemirror_jobs_running" in summed
    assert summed & NOT_SUMMED_THERE == set()


async def test_a_clock_that_differs_from_the_database_has_its_figures() -> None:
    """None where there is no other clock, as in an embedded store."""
    machine, nothing = SetClock(), cast("Any", None)
    clock = StoreClock(machine)
    every = {
        name: read
        for name, _, _, read in gauges(nothing, nothing, nothing, nothing, (), clock, nothing, machine, nothing)
    }

    def told() -> list[list[float]]:
        names = ("sidemirror.store.clock.ahead", "sidemirror.retention.stopped")
        return [[value for value, _ in every[name]()] for name in names]

    assert told() == [[], []]
    clock.measured(machine.us - 2_500_000, machine.s)
    assert told() == [[2.5], [0]]
    clock.measured(machine.us + 100 * 24 * 3600 * 1_000_000, machine.s)
    assert told() == [[-100.0 * 24 * 3600], [1]]


def test_a_reflection_that_was_given_up_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a turn that ended first: an alert on failures would tell a defect. Seen to fail with status failed_model."""
    told: list[str] = []
    monkeypatch.setattr(counting, "REFLECTIONS", SimpleNamespace(add=lambda _, of: told.append(of["status"])))
    for reason in (f"{GIVEN_UP}: the turn ended first", "the server failed to make this reflection"):
        given_up = Reflection(ResultStatus.FAILED_MODEL, reason)
        counting.count(Directive(DirectiveId("d"), 1, given_up))
    assert told == ["given_up", "failed_model"]
