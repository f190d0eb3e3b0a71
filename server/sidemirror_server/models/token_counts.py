"""Which of a provider's token counts are believed, and what stands in for the others. Pure.

Providers are paid by their own counts, but a proxy may leave them out, or report nothing, less than nothing or too
much. A count that cannot be true of what was sent and received would switch the caps off, or use them up.
"""

from typing import TypeVar

import msgspec

from sidemirror_server.models.language_model import AnswerT, Ask
from sidemirror_server.models.profiles import most_input_tokens, most_output_tokens, sent_bytes
from sidemirror_server.vocabulary.status import Usage

RecordT = TypeVar("RecordT", bound=msgspec.Struct)

# More than any model takes; a larger number is not a count.
_MOST_COUNT = 100_000_000
# No text of some length has fewer tokens than a byte in so many. Chosen here: twice what tokenizers make of English,
# which they make most of.
_BYTES_A_TOKEN_AT_MOST = 8
# What is not said is estimated: more tokens than tokenizers make of English (4 bytes each), Chinese (3) or JSON (3).
_BYTES_A_TOKEN = 3


def told(usage: object, kind: type[RecordT]) -> RecordT:
    """What a provider says that a call took, as a `kind`; an empty one where it is none. No answer is lost to that."""
    try:
        return msgspec.convert(usage, kind)
    except msgspec.ValidationError:
        return kind()


def count_in(value: object) -> int:
    """A provider's count; 0 for whatever is none."""
    return value if type(value) is int and 0 < value <= _MOST_COUNT else 0


def with_reasoning(answer_tokens: int, reasoning_tokens: int) -> int:
    """All output tokens. Providers count reasoning as a part of the answer; a proxy that counts it beside the answer
    shows itself by more reasoning than answer."""
    return answer_tokens if reasoning_tokens <= answer_tokens else answer_tokens + reasoning_tokens


def believed(said: int, read_bytes: int, estimated: int, most: int) -> int:
    """`said`, where it can be the count of a text of `read_bytes`; else what is `estimated`. `most` at most."""
    return min(said if said > 0 and said >= read_bytes // _BYTES_A_TOKEN_AT_MOST else estimated, most)


def estimate(text_bytes: int) -> int:
    """The tokens of a text of so many bytes, rather too many than too few."""
    return 1 + text_bytes // _BYTES_A_TOKEN


def can_be_count(tokens: int, ask: Ask[AnswerT]) -> bool:
    """Whether these can be the input tokens of this question."""
    return tokens > 0 and tokens >= _told_bytes(ask) // _BYTES_A_TOKEN_AT_MOST


def credible(usage: Usage, ask: Ask[AnswerT], received: str) -> Usage:
    """The usage with counts that can be true of this question and of what was `received`: the answer and the reasoning
    that is seen. Where they are not the provider's, the parameter `tokens` says so.

    Reasoning that was asked for and is not counted is taken to have used up its budget.
    """
    # What comes from a provider may hold halves of characters.
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
    """What every provider counts; a schema may go another way."""
    return len(ask.system.encode()) + len(ask.prompt.encode())
