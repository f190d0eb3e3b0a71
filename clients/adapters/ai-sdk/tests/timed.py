"""The agent whose calls `scripted/times.py` times. It runs in Node.js, in the project that AI_SDK_PROJECT names."""

import asyncio
import os

from agents import Agents
from scripted.apart import Times
from scripted.endpoint import Endpoint
from scripted.record import Sidecar
from scripted.times import measured, printed


async def times() -> Times:
    """As `measured` has them."""
    sidecar = Sidecar(os.environ.get("SIDEMIRROR_ADDRESS", ""), "bench")
    with Agents() as agents:

        async def run(endpoint: Endpoint, model: str) -> None:
            tools, is_plain = ("works", "fails"), sidecar.address == ""
            end = agents.begin(endpoint, sidecar, "generateText", model, "Go.", *tools, plain=is_plain)
            ended = await asyncio.to_thread(end)
            assert ended.get("text") == "Done.", ended

        return await measured(run)


if __name__ == "__main__":
    printed(times)
