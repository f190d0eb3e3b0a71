"""Asking a model from this room."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

import msgspec

from sidemirror_server.models.language_model import AnswerT, Ask, Completion
from sidemirror_server.models.profiles import Within
from sidemirror_server.vocabulary.scope import Scope
from sidemirror_server.vocabulary.status import Usage

_T = TypeVar("_T")


NO_CAPS = Within()


class Asking(Protocol):
    """What answers, with the scope that pays for it: the gateway."""

    async def ask(
        self, scope: Scope, ask: Ask[AnswerT], deadline_s: float, within: Within = NO_CAPS
    ) -> Completion[AnswerT]:
        """The answer within `deadline_s` seconds and what may be spent. Raises ModelFailed."""
        ...


def added(one: Usage | None, other: Usage | None) -> Usage | None:
    """What two calls took together, under the first one's names; a cost that is not known stays not known."""
    if one is None or other is None:
        return one or other
    cost = None if one.cost_usd is None or other.cost_usd is None else one.cost_usd + other.cost_usd
    return msgspec.structs.replace(
        one,
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        cache_read_tokens=one.cache_read_tokens + other.cache_read_tokens,
        cache_write_tokens=one.cache_write_tokens + other.cache_write_tokens,
        cost_usd=cost,
        latency_us=one.latency_us + other.latency_us,
    )


async def both(one: Coroutine[Any, Any, _T], other: Coroutine[Any, Any, _T]) -> tuple[_T, _T]:
    """Both answers, asked at once. The first failure, or cancellation, ends both."""
    tasks = (asyncio.create_task(one), asyncio.create_task(other))
    try:
        return await tasks[0], await tasks[1]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
