"""A store that is away is one warning for whoever reads the log, however many agents go on meanwhile."""

import asyncio
import logging
from pathlib import Path

import pytest

from tests.faults.sidecars import running
from tests.faults.stores import Fault, Switch
from tests.faults.talk import Talk
from tests.faults.waiting import until
from tests.wire.calls import MEDIUM, called, failed, said, started

AGENTS = 8


async def test_an_outage_is_few_warnings(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Eight agents fail and reflect while nothing can be stored. Each kind of line is there once. Seen to fail
    when the recorder warns of every append, and when what agents do without has an info for each turn."""
    caplog.set_level(logging.DEBUG, "sidemirror_server")
    switch = Switch()
    async with running(tmp_path, switch=switch) as served:
        talks = [Talk(served.stub) for _ in range(AGENTS)]
        for talk in talks:
            await talk.say(started(config=MEDIUM))
        await until(lambda: all(talk.durable() for talk in talks))
        caplog.clear()
        switch.turn(Fault.AWAY)
        tries = switch.writes
        for _ in range(3):
            for talk in talks:
                await talk.say(called("look"), failed("no such table"), said("again"))
            await asyncio.sleep(0)
        await until(lambda: switch.writes - tries > 6)
        switch.turn(Fault.NONE)
        await until(lambda: all(talk.durable() >= 10 for talk in talks))
        for talk in talks:
            talk.stream.cancel()
    # grpc has a line of its own for a stream that is cancelled while something is said on it.
    ours = [one for one in caplog.records if one.name.startswith("sidemirror")]
    told = [one.message for one in ours if one.levelno >= logging.WARNING]
    missed = [one.levelname for one in caplog.records if one.message in ("repeats_not_counted", "recovery_not_found")]
    assert set(missed) == {"DEBUG"}
    assert sorted(told) == sorted(set(told))
    assert "turns_not_recorded" in told
    assert "turns_recorded_again" in [one.message for one in caplog.records]
