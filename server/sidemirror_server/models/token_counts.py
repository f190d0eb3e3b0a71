"""Decides which of a provider's token counts are credible, and estimates the others. Pure.

Providers bill by their own counts. A proxy may omit them, or report zero, a negative or a far too large number. An
impossible count would disable the caps or exhaust them.
"""

from typing import TypeVar

import msgspec

from sidemirror_server.models.language_model import AnswerT, Ask
from sidemirror_server.models.profiles import most_input_tokens, most_output_tokens, sent_bytes
from sidemirror_server.vocabulary.status import Usage

RecordT = TypeVar("RecordT", bound=msgspec.Struct)

# More than any model accepts; a larger number is not a count.
_MOST_COUNT = 100_000_000
# The most bytes per token. Chosen here: twice the ratio of English, the language with the highest one.
_BYTES_A_TOKEN_AT_MOST = 8
# The ratio for missing counts. It gives a high estimate: English has 4 bytes per token, Chinese 3, JSON 3.
_BYTES_A_TOKEN = 3


def told(usage: object, kind: type[RecordT]) -> RecordT:
    """The provider's report of a call's usage, as a `kind`. A malformed report is empty, so that the answer is kept."""
    try:
        return msgspec.convert(usage, kind)
    except msgspec.ValidationError:
        return kind()


def count_in(value: object) -> int:
    """A provider's count; 0 if the value is not a count."""
    return value if type(value) is int and 0 < value <= _MOST_COUNT else 0


def with_reasoning(answer_tokens: int, reasoning_tokens: int) -> int:
    """All output tokens. Providers include reasoning in the answer's count. A reasoning count above the answer's means
    that a proxy has counted them separately."""
    return answer_tokens if reasoning_tokens <= answer_tokens else answer_tokens + reasoning_tokens


def believed(said: int, read_bytes: int, estimated: int, most: int) -> int:
    """`said` if a text of `read_bytes` bytes can have that many tokens, else `estimated`; at most `most`."""
    return min(said if said > 0 and said >= read_bytes // _BYTES_A_TOKEN_AT_MOST else estimated, most)


def estimate(text_bytes: int) -> int:
    """An estimate of the tokens of a text of this length, high rather than low."""
    return 1 + text_bytes // _BYTES_A_TOKEN


def can_be_count(tokens: int, ask: Ask[AnswerT]) -> bool:
    """Whether the question can have this many input tokens."""
    return tokens > 0 and tokens >= _told_bytes(ask) // _BYTES_A_TOKEN_AT_MOST


def credible(usage: Usage, ask: Ask[AnswerT], received: str) -> Usage:
    """The usage, with counts that are possible for this question and for the `received` answer with its visible
    reasoning. The parameter `tokens` marks counts that are not the provider's.

    If reasoning was requested but not counted, its whole budget is charged.
    """
    # A provider's text may contain unpaired surrogates.
    received_bytes = len(received.encode("utf-8", "replace"))
    unseen = estimate(received_bytes) + ask.thinking_tokens
    input_tokens = believed(usage.input_tokens, _told_bytes(ask), estimate(sent_bytes(ask)), most_input_tokens(ask))
    output_tokens = believed(usage.output_tokens, received_bytes, unseen, most_output_tokens(ask))
    if (input_tokens, output_tokens) == (usage.input_tokens, usage.output_tokens):
        return usage
    read, written = usage.cache_read_tokens, usage.cache_write_tokens
    is_whole = input_tokens == usage.input_tokens
    return msgspec.structs.replace(
        usage,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cache_read_tokens=read if is_whole else 0,
        cache_write_tokens=written if is_whole else 0,
        parameters={**usage.parameters, "tokens": "estimated"},
    )


def _told_bytes(ask: Ask[AnswerT]) -> int:
    """The prompt's bytes without the schema, which some providers do not count."""
    return len(ask.system.encode()) + len(ask.prompt.encode())
