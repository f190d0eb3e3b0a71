"""What the first caller of a model pays for: a call, and not the loading of an SDK."""

from pathlib import Path

import pytest

from sidemirror.v1 import critique_pb2, critique_pb2_grpc
from tests.faults.figures import show
from tests.faults.process import Process
from tests.faults.sidecars import Stub, channel
from tests.faults.waiting import until
from tests.models.endpoint import KEY, Endpoint
from tests.models.talk import PROVIDERS, settings_of

MOST_S = 0.05


def cpu_s(process: Process) -> float:
    """What the process has spent so far, on all its threads. Linux only."""
    threads = Path(f"/proc/{process.pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


@pytest.mark.long
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_first_request_leaves_within_50_ms_of_cpu(provider: str, tmp_path: Path) -> None:
    """From the call's beginning to its request's arrival; the best of up to three starts, as other work of a sidecar
    counts too. Seen to fail when no call is rehearsed, with OpenAI's SDK: 0.10 s."""
    took_s: list[float] = []
    async with Endpoint() as endpoint:
        while len(took_s) < 3 and min(took_s, default=1.0) > MOST_S:
            folder = tmp_path / str(len(took_s))
            settings = settings_of(provider, endpoint)
            async with (
                Process(folder, settings, secrets={"SIDEMIRROR_MODEL__API_KEY": KEY}) as process,
                channel(process.address) as connection,
            ):
                await until(lambda process=process: "model_ready" in process.text())  # type: ignore[misc]
                stub: Stub = critique_pb2_grpc.CritiqueServiceStub(connection)
                await stub.ShouldCritique(critique_pb2.ShouldCritiqueRequest(response_length=1))
                endpoint.arrived.clear()
                before_s = cpu_s(process)
                call = stub.Critique(critique_pb2.CritiqueRequest(user_message="Where?", response="Here."), timeout=60)
                await endpoint.arrived.wait()
                took_s.append(cpu_s(process) - before_s)
                await call
    show(f"{provider}: the first request left after {', '.join(f'{took:.3f}' for took in took_s)} s of CPU")
    assert min(took_s) <= MOST_S
