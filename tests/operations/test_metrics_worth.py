"""Every metric of the dashboard and the alerts, in what one server tells, with a value that its work has made."""

import asyncio
import contextlib
import json
import signal
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml

from sidemirror.v1 import goal_reflection_pb2 as goal_pb
from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.goal_reflection_pb2_grpc import GoalReflectionServiceStub
from sidemirror.v1.thinking_pb2_grpc import ThinkingServiceStub
from tests.faults.process import Process
from tests.faults.sidecars import connected
from tests.faults.talk import Talk
from tests.faults.test_readers import streaks
from tests.faults.waiting import until
from tests.models.endpoint import KEY, LOCAL, Endpoint
from tests.operations.scrape import labelled, metrics_address, scraped
from tests.operations.test_metrics import DEPLOY, OF_A_LIMITED_PROCESS, OF_A_SHARED_STORE, names_in, used
from tests.postgres.databases import Databases
from tests.telemetry_in.made import request_of, span
from tests.telemetry_in.received import export
from tests.wire.access import ACME, bearer, write_access
from tests.wire.calls import MEDIUM, called, failed, said, started

# USD for a million tokens, in and out.
PRICE = (2.0, 8.0)


def spoken_of() -> set[str]:
    """Every name in the dashboard and in the alerts."""
    dashboard = json.loads((DEPLOY / "grafana" / "sidemirror.json").read_text())
    rules = yaml.safe_load((DEPLOY / "prometheus-rules.yaml").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    expressions += [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    return set().union(*map(names_in, expressions))


@pytest.mark.timeout(300)
async def test_each_of_them_is_told_with_a_value(databases: Databases, tmp_path: Path) -> None:
    """Spend and gaps too. Seen to fail when `Spending.settle` adds no cost, when `compose` counts no gap, and when
    the dashboard has a metric of another name."""
    async with Endpoint() as endpoint:
        settings = {
            "metrics_address": "127.0.0.1:0",
            "telemetry--receive": "true",
            "limits--events_per_turn": "20000",
            "model--provider": "openai_compatible",
            "model--name": LOCAL,
            "model--base_url": endpoint.openai_url,
            "model--input_usd_per_mtok": str(PRICE[0]),
            "model--output_usd_per_mtok": str(PRICE[1]),
        }
        key = {"SIDEMIRROR_MODEL__API_KEY": KEY}
        async with Process(tmp_path, settings, arguments=("--switch",), secrets=key) as process:
            address = metrics_address(process.text())
            await asyncio.to_thread(used, process)
            await asyncio.to_thread(export, process.address, request_of([span("t", "chat", gen_ai__system="x")]))
            # At once: jobs are counted once a minute, and on a slow machine this one is counted when it is done.
            found = {name: value for name, value in scraped(address).items() if value}
            await _spends(process, endpoint, address)
            await _gap(process, address)
            found |= await _without_store(process, address)
            await until(lambda: scraped(address)["sidemirror_backlog_bytes"] == 0, within_s=60)
            found |= {name: value for name, value in scraped(address).items() if value}
    found |= await _with_a_wrong_clock(databases, tmp_path / "wrong")
    (tmp_path / "shared").mkdir()
    found |= await _with_shares(tmp_path / "shared")
    # Whether anything limits the memory is the machine's matter.
    assert {name for name in spoken_of() if not found.get(name)} - OF_A_LIMITED_PROCESS == set()


async def _with_a_wrong_clock(databases: Databases, folder: Path) -> dict[str, float]:
    """What a sidecar tells whose machine is two days ahead of its shared store."""
    async with databases.fresh() as name:
        settings = {"metrics_address": "127.0.0.1:0", "database_url": databases.cluster.url("sidecar", name)}
        async with Process(folder, settings, arguments=("--days-ahead", "2")) as process:
            address, found = metrics_address(process.text()), dict[str, float]()

            def told() -> bool:
                found.update(scraped(address))
                return found.keys() >= OF_A_SHARED_STORE

            await until(told)
    assert found["sidemirror_store_clock_ahead_seconds"] == pytest.approx(2 * 24 * 3600, abs=60)
    assert found["sidemirror_retention_stopped"] == 1
    return {name: found[name] for name in OF_A_SHARED_STORE}


async def _with_shares(folder: Path) -> dict[str, float]:
    """What a sidecar tells of an agent that sends more than its share, on all its streams; and of a goal report whose
    model never answers."""
    settings = {
        "metrics_address": "127.0.0.1:0",
        "access_file": str(write_access(folder / "access.json")),
        "limits--agent_bytes_per_second": "163840",
    }
    process = Process(folder, settings, arguments=("--model", "never"))
    async with process, grpc.aio.insecure_channel(process.address) as channel:
        address = metrics_address(process.text())
        goal = goal_pb.ReportGoalRequest(tenant_id="acme", goal_id="g", objective="o", state=goal_pb.GOAL_STATE_FAILED)
        reports: Any = GoalReflectionServiceStub(channel)
        await reports.ReportGoal(goal, metadata=bearer(ACME))
        streams = [ThinkingServiceStub(channel).RunTurn(metadata=bearer(ACME)) for _ in range(30)]
        for stream in streams:
            await stream.write(pb.RunTurnRequest(tenant_id="acme", events=[started()]))
            for _ in range(4):
                await stream.write(pb.RunTurnRequest(events=[said("again")]))
        names = ("sidemirror_share_wait_seconds_sum", "sidemirror_agents_held_back", "sidemirror_jobs_running")
        found: dict[str, float] = {}

        def told() -> bool:
            found.update({name: value for name, value in scraped(address).items() if name in names and value})
            return found.keys() >= set(names)

        await until(told, every_s=0.1)
        for stream in streams:
            stream.cancel()
    assert found["sidemirror_agents_held_back"] == 1
    return found


async def _spends(process: Process, endpoint: Endpoint, address: str) -> None:
    """What models took is what the provider has counted."""
    async with connected(process.address) as stub:
        await stub.StartTurn(pb.StartTurnRequest(turn_id="paid", config=MEDIUM))
        events = [called("look"), failed()]
        await stub.ReportEvents(pb.ReportEventsRequest(turn_id="paid", events=events))
        await stub.Reflect(pb.ReflectRequest(turn_id="paid"), timeout=60)

    # A goal report's reflection is made behind the answer to it.
    await until(lambda: labelled(address, "sidemirror_jobs_total", kind="goal_report", result="done") == 1, every_s=0.1)
    taken = endpoint.tokens()
    # The endpoint knows one purpose by its answer's form, and calls the others unknown.
    assert set(taken) == {"mid_turn_reflection", "unknown"}
    for purpose, (calls, given, made) in (
        ("mid_turn_reflection", taken["mid_turn_reflection"]),
        ("", tuple(map(sum, zip(*taken.values(), strict=True)))),
    ):
        of = {"purpose": purpose} if purpose else {}
        assert labelled(address, "sidemirror_model_calls_total", **of) == calls
        assert labelled(address, "sidemirror_model_tokens_total", **of) == given + made > 0
        cost_usd = (given * PRICE[0] + made * PRICE[1]) / 1e6
        assert labelled(address, "sidemirror_model_cost_USD_total", **of) == pytest.approx(cost_usd)


async def _gap(process: Process, address: str) -> None:
    """An agent that comes back after more nudges than a turn keeps at hand."""
    async with connected(process.address) as stub:
        talk = Talk(stub)
        await talk.say(started())
        for first in range(0, 11_000, 1_000):
            await talk.say(*streaks(first, 1_000))
        await until(lambda: talk.durable() == 11_001, within_s=60)
        turn_id = talk.heard[0].turn_id
        talk.stream.cancel()
        again = Talk(stub)
        await again.say(resume=pb.TurnResume(turn_id=turn_id))
        await until(lambda: bool(again.said("gap")), within_s=60)
        again.stream.cancel()
    assert scraped(address)["sidemirror_stream_gaps_total"] == 1


async def _without_store(process: Process, address: str) -> dict[str, float]:
    """What is told while the store is away and a call waits for it: the gauges that are 0 on a good day."""
    async with connected(process.address) as stub:
        talk = Talk(stub)
        await talk.say(started(), said("hello"))
        await until(lambda: talk.durable() == 2)
        process.signal(signal.SIGUSR1)
        await talk.say(said("is anybody there"))

        async def waits() -> None:
            # Again and again: a call may have its answer before anybody has looked.
            request = pb.ReportEventsRequest(turn_id=talk.heard[0].turn_id, events=[said("wait")])
            while True:
                with contextlib.suppress(grpc.aio.AioRpcError):
                    await stub.ReportEvents(request, timeout=60)

        waiting = asyncio.ensure_future(waits())
        found: dict[str, float] = {}

        def away() -> bool:
            found.update(scraped(address))
            lag_s, backlog = found["sidemirror_durable_lag_seconds"], found["sidemirror_backlog_bytes"]
            has_looked = found["sidemirror_loop_busy"] > 0
            return lag_s > 0 and backlog > 0 and found["sidemirror_calls_running"] > 0 and has_looked

        await until(away, within_s=60, every_s=0.1)
        assert found["sidemirror_streams_open"] == 1
        process.signal(signal.SIGUSR2)
        waiting.cancel()
        talk.stream.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    # A name without a value is none; a store that is there is 1, and that is seen at other times.
    return {name: value for name, value in found.items() if value}
