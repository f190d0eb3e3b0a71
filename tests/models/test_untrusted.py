"""What came back is checked before it is used."""

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidemirror_server.models.answers import MidTurnAnswer
from sidemirror_server.models.language_model import Ask
from sidemirror_server.models.untrusted import ModelReply, NotJson, accepted, json_of, word
from sidemirror_server.vocabulary.errors import ModelFailed
from sidemirror_server.vocabulary.status import ResultStatus, Usage
from tests.conformance import language_model as suite

USAGE = Usage("p", "m", output_tokens=7)


class Unbounded(msgspec.Struct, frozen=True):
    """A number without a range of its own."""

    score: float


def heard(text: str, ending: str = "done") -> ModelReply:
    return ModelReply(text, ending, USAGE)


def failure(text: str, ending: str = "done") -> ModelFailed:
    with pytest.raises(ModelFailed) as failed:
        accepted(heard(text, ending), suite.ask())
    assert failed.value.usage == USAGE
    return failed.value


def test_an_answer() -> None:
    assert accepted(heard('{"reflection": "fine"}'), suite.ask()) == MidTurnAnswer("fine")


def test_texts_are_entered() -> None:
    text = '{"reflection": "a\\u0000b\\ud800c sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"}'
    said = accepted(heard(text), suite.ask()).reflection
    assert said.startswith("a�b�c ")
    assert "abcdefghijkl" not in said


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"reflection": 1}', "$.reflection"),
        ('{"reflection": "x", "confidence": 1.01}', "$.confidence"),
        ('{"reflection": "x", "cited_event_ids": [1]}', "$.cited_event_ids[0]"),
        ('["reflection"]', "$"),
        ("{}", "$"),
    ],
)
def test_another_schema(text: str, place: str) -> None:
    failed = failure(text)
    assert failed.status is ResultStatus.FAILED_PARSE
    assert failed.detail == f"the answer does not fit its schema at {place}"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_numbers_that_json_does_not_have(number: str) -> None:
    ask: Ask[Unbounded] = Ask(
        purpose=suite.ask().purpose,
        system="",
        prompt="",
        answer_type=Unbounded,
        evidence=suite.EVIDENCE,
        max_tokens=1,
    )
    assert accepted(heard('{"score": 1.5}'), ask) == Unbounded(1.5)
    with pytest.raises(ModelFailed) as failed:
        accepted(heard(f'{{"score": {number}}}'), ask)
    assert failed.value.detail == "the answer is not JSON"


@pytest.mark.parametrize(
    ("ending", "status", "detail"),
    [
        ("refused", ResultStatus.REFUSED, "the model refused to answer"),
        ("cut", ResultStatus.TRUNCATED, "the answer was cut off at its limit of tokens"),
        ("", ResultStatus.FAILED_MODEL, "the answer has no stop reason"),
        ("tool_use", ResultStatus.FAILED_MODEL, "the answer ended with tool_use"),
        ("Where is W17?", ResultStatus.FAILED_MODEL, "the answer ended with (unreadable)"),
    ],
)
def test_endings(ending: str, status: ResultStatus, detail: str) -> None:
    failed = failure('{"reflection": "whole"}', ending)
    assert (failed.status, failed.detail) == (status, detail)


def test_the_prompt_come_back() -> None:
    prompt = "Pause and look at the work so far. 1. What has been accomplished so far? And then?"
    ask = msgspec.structs.replace(suite.ask(), prompt=prompt)
    with pytest.raises(ModelFailed) as failed:
        accepted(heard(msgspec.json.encode(MidTurnAnswer(f"You said: {prompt}")).decode()), ask)
    assert failed.value.detail == "the answer repeats what the model was told"
    quoting = MidTurnAnswer("What has been accomplished so far? Nothing.")
    assert accepted(heard(msgspec.json.encode(quoting).decode()), ask) == quoting


@pytest.mark.parametrize("text", ["sk-ant-api03", "AKIA", "two words", "canary-5f2c", "", None, 7, "x" * 49])
def test_only_names_are_repeated(text: object) -> None:
    assert word(text) == "(unreadable)"


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_whatever_comes_is_json_or_is_not(text: bytes | str) -> None:
    try:
        json_of(text)
    except NotJson:
        return


@given(st.text(max_size=100), st.booleans())
def test_whatever_is_said_is_an_answer_or_a_failure(text: str, lenient: bool) -> None:
    # Anything else than an answer or a ModelFailed ends the test.
    with contextlib.suppress(ModelFailed):
        assert isinstance(accepted(heard(text), suite.ask(), lenient=lenient), MidTurnAnswer)
