"""What an operator sets for a purpose reaches the provider's request, and its caps hold."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sidemirror_server.assembly import routes_of
from sidemirror_server.assembly.models import ASKED_FOR, caps_of, embedder_of, templates_of
from sidemirror_server.models.answers import MidTurnAnswer
from sidemirror_server.models.gateway import Gateway
from sidemirror_server.models.language_model import Ask, Purpose
from sidemirror_server.models.spending import Spending
from sidemirror_server.models.telemetry import Questions
from sidemirror_server.models.templates import PurposePrompts
from sidemirror_server.settings import load
from sidemirror_server.storage.sqlite.ledger import SqliteLedger
from sidemirror_server.vocabulary.clock import SystemClock
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.scope import SERVES_ALL
from sidemirror_server.vocabulary.status import ResultStatus
from tests.adapters.sqlite_store import sqlite_database
from tests.conformance.language_model import ask
from tests.models.endpoint import EMBEDDING, GPT, KEY, LOCAL, Call, Endpoint
from tests.models.gateways import SCOPE

# The first call loads the provider's SDK.
TIMEOUT_S = 60.0
# Purposes whose texts are the gateway's to replace.
WITH_TEXTS = ("critique", "revision", "comparison", "trace_evaluation", "debate", "goal_reflection")


@asynccontextmanager
async def asked_at(folder: Path, endpoint: Endpoint, **more: str) -> AsyncIterator[tuple[Gateway, Spending]]:
    """The gateway as a sidecar with these settings has it. `more`: by the setting's name."""
    model = {"BASE_URL": endpoint.openai_url, "NAME": LOCAL, "API_KEY": KEY}
    # A model without a known price may not be asked much.
    model |= {"INPUT_USD_PER_MTOK": "1", "OUTPUT_USD_PER_MTOK": "5"}
    told = {f"SIDEMIRROR_MODEL__{name}": value for name, value in model.items()}
    told |= {f"SIDEMIRROR_{name}": value for name, value in more.items()}
    settings, clock = load({}, told), SystemClock()
    async with sqlite_database(folder) as database:
        spending = Spending(SqliteLedger(database), caps_of(settings, SERVES_ALL), clock)
        gateway = Gateway(routes_of(settings, clock), spending, clock, prompts=PurposePrompts(templates_of(settings)))
        try:
            yield gateway, spending
        finally:
            await gateway.close()


def of_openai(call: Call) -> dict[str, Any]:
    body = call.body
    system, prompt = (message["content"] for message in body["messages"])
    return {
        "model": body["model"],
        "effort": body["reasoning_effort"],
        "max_tokens": body["max_tokens"],
        "temperature": body["temperature"],
        "system": system,
        "prompt": prompt,
    }


def asked_for(purpose: Purpose) -> Ask[MidTurnAnswer]:
    return msgspec.structs.replace(ask(), purpose=purpose, effort="high")


def settings_of(values: dict[Purpose, dict[str, str]]) -> dict[str, str]:
    """As names of variables, without the prefix."""
    return {
        f"PURPOSES__{purpose.value.upper()}__{name}": value
        for purpose, own in values.items()
        for name, value in own.items()
    }


async def test_each_purpose_has_its_own_settings(tmp_path: Path) -> None:
    """Beside one without any, which keeps the question's own. Seen to fail when a question's own temperature goes
    before the operator's."""
    bare = Purpose.MID_TURN_REFLECTION
    values: dict[Purpose, dict[str, str]] = {
        purpose: {
            "MODEL": GPT if place % 2 else LOCAL,
            "EFFORT": ("low", "medium")[place % 2],
            "TEMPERATURE": f"{0.2 + place / 10:.1f}",
            "MAX_TOKENS": f"{300 + place}",
        }
        for place, purpose in enumerate(ASKED_FOR)
        if purpose is not bare
    }
    async with Endpoint() as endpoint, asked_at(tmp_path, endpoint, **settings_of(values)) as (gateway, _):
        for purpose in ASKED_FOR:
            await gateway.ask(SCOPE, asked_for(purpose), TIMEOUT_S)
        found = dict(zip(ASKED_FOR, map(of_openai, endpoint.calls), strict=True))
    for purpose, own in values.items():
        told = {name: str(found[purpose][name.lower()]) for name in own}
        assert (purpose, told) == (purpose, own)
    assert {name: found[bare][name] for name in ("model", "effort", "temperature", "max_tokens")} == {
        "model": LOCAL,
        "effort": "high",
        "temperature": 0.1,
        "max_tokens": 500,
    }


async def test_each_purpose_has_its_own_texts(tmp_path: Path) -> None:
    (folder := tmp_path / "prompts").mkdir()
    for purpose in WITH_TEXTS:
        (folder / f"{purpose}.system.jinja").write_text(f"{{{{ system }}}} As the house has it for {purpose}.")
        (folder / f"{purpose}.prompt.jinja").write_text(f"Briefly for {purpose}. {{{{ prompt }}}}")
    async with Endpoint() as endpoint, asked_at(tmp_path, endpoint, PROMPTS_DIR=str(folder)) as (gateway, _):
        question = msgspec.structs.replace(ask(), prompt="{{ 7 * 7 }}")
        for asked in (*WITH_TEXTS, "mid_turn_reflection"):
            await gateway.ask(SCOPE, msgspec.structs.replace(question, purpose=Purpose(asked)), TIMEOUT_S)
        *found, beside = map(of_openai, endpoint.calls)
    for purpose, texts in zip(WITH_TEXTS, found, strict=True):
        assert texts["system"].startswith(f"{question.system} As the house has it for {purpose}.")
        assert texts["prompt"] == f"Briefly for {purpose}. {{{{ 7 * 7 }}}}", "what was recorded is never a template"
    assert (beside["system"].startswith(question.system), beside["prompt"]) == (True, question.prompt)
    assert "house" not in beside["system"]


async def test_a_template_that_fails_is_a_failure_of_the_call(tmp_path: Path) -> None:
    (folder := tmp_path / "prompts").mkdir()
    (folder / "critique.prompt.jinja").write_text("{{ 1 / (prompt | length - 13) }}")
    async with Endpoint() as endpoint, asked_at(tmp_path, endpoint, PROMPTS_DIR=str(folder)) as (gateway, _):
        question = msgspec.structs.replace(ask(), purpose=Purpose.CRITIQUE, prompt="thirteen long")
        with pytest.raises(ModelFailed, match=r"critique.*line 1") as caught:
            await gateway.ask(SCOPE, question, TIMEOUT_S)
        assert (caught.value.status, endpoint.calls) == (ResultStatus.FAILED_MODEL, [])


@pytest.mark.parametrize("unit", ["TOKENS", "USD"])
async def test_each_purpose_has_its_own_caps(unit: str, tmp_path: Path) -> None:
    """Half of them are capped, and then the other half. Seen to fail when a cap counts for every purpose."""
    for place, capped in enumerate((ASKED_FOR[::2], ASKED_FOR[1::2])):
        caps = settings_of({purpose: {f"{unit}_PER_DAY": "0"} for purpose in capped})
        (folder := tmp_path / str(place)).mkdir()
        async with Endpoint() as endpoint, asked_at(folder, endpoint, **caps) as (gateway, _):
            for purpose in ASKED_FOR:
                if purpose not in capped:
                    await gateway.ask(SCOPE, asked_for(purpose), TIMEOUT_S)
                    continue
                with pytest.raises(ModelFailed, match=f"for {purpose.value}") as caught:
                    await gateway.ask(SCOPE, asked_for(purpose), TIMEOUT_S)
                assert caught.value.status is ResultStatus.SKIPPED_SPEND
            assert len(endpoint.calls) == len(ASKED_FOR) - len(capped)


@pytest.mark.parametrize("unit", ["TOKENS", "USD"])
async def test_vectors_have_caps_of_their_own(unit: str, tmp_path: Path) -> None:
    async with Endpoint() as endpoint, sqlite_database(tmp_path) as database:
        told = {
            "SIDEMIRROR_EMBEDDING__NAME": EMBEDDING,
            "SIDEMIRROR_EMBEDDING__BASE_URL": endpoint.openai_url,
            f"SIDEMIRROR_PURPOSES__MEMORY_EMBEDDING__{unit}_PER_DAY": "0",
        }
        settings, clock = load({}, told), SystemClock()
        spending = Spending(SqliteLedger(database), caps_of(settings, SERVES_ALL), clock)
        embedder = embedder_of(settings, spending, clock, Questions(clock))
        assert embedder is not None
        with pytest.raises(ModelFailed, match="for memory_embedding") as caught:
            await embedder.embed(SCOPE, ("a question",), TIMEOUT_S)
        assert (caught.value.status, endpoint.calls) == (ResultStatus.SKIPPED_SPEND, [])
        await embedder.close()
