"""`usage` against a sidecar that has asked a model."""

import argparse
import asyncio
import json
from pathlib import Path

import pytest

from sidemirror_server.assembly import ASKED_FOR
from sidemirror_server.cli import command_line
from sidemirror_server.operations.usage import usage
from tests.models.talk import talk


def asked(address: str, *, scope: str = "", as_json: bool = False) -> argparse.Namespace:
    given = [*(["--scope", scope] if scope else []), *(["--json"] if as_json else [])]
    return command_line().parse_args(["usage", "--address", address, *given])


async def test_what_was_spent_and_what_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = {"spend__tenant_tokens_per_day": "100000", "socket": str(tmp_path / "s")}
    address = f"unix:{tmp_path}/s"
    async with talk(tmp_path, "anthropic", **more) as made:
        await made.turn("t")
        result = await made.reflect()
        tokens = (await made.spend()).tokens
        assert await asyncio.to_thread(usage, asked(address, as_json=True)) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["models"] == [
            {
                "purpose": purpose.value,
                "provider": "anthropic",
                "model": "claude-haiku-5-5",
                "available": True,
            }
            for purpose in ASKED_FOR
        ]
        assert told["spend_unknown"] is False
        (spend,) = told["spend"]
        assert (spend["purpose"], spend["calls"], spend["tokens"]) == ("mid_turn_reflection", 1, tokens)
        assert spend["usd"] == pytest.approx(result.usage.cost_usd)
        caps = {cap["purpose"] or cap["level"]: cap for cap in told["spend_caps"]}
        assert list(caps) == ["SPEND_LEVEL_TOTAL", "SPEND_LEVEL_TENANT", "dreaming", "learning"]
        assert (caps["SPEND_LEVEL_TENANT"]["tokens_per_day"], caps["SPEND_LEVEL_TENANT"]["used_tokens"]) == (
            100_000,
            tokens,
        )
        assert (caps["dreaming"]["usd_per_day"], caps["dreaming"]["used_usd"]) == (0.5, 0.0)

        assert await asyncio.to_thread(usage, asked(address)) == 0
        shown = capsys.readouterr().out
        assert "mid_turn_reflection: anthropic claude-haiku-5-5\n" in shown
        assert f"{tokens:,}" in shown
        assert "5.00 USD" in shown
        assert "100,000 tokens" in shown

        assert await asyncio.to_thread(usage, asked(address, scope="other/default")) == 0
        assert "No model was asked in the last 7 days that costs anything." in capsys.readouterr().out


def test_nobody_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert usage(asked(f"unix:{tmp_path}/none", as_json=True)) == 69
    assert "nothing can be reached at unix:" in capsys.readouterr().err
