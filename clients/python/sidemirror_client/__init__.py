"""Sidemirror for Python: an agent's turns reported without waiting, and typed stubs for everything else.

    async with connect() as sidemirror, sidemirror.begin_turn(task="find the cheapest flight") as turn:
        known = lessons_text(await turn.recall())
        turn.tool_called("search", '{"to": "LIS"}')
        ...
        shown_to_the_model = advice_text(await turn.advice())
        answer = await turn.revised(draft, again)
        turn.finish(TASK_OUTCOME_SUCCESS)

`connect_sync` is the same for agents without a loop. Messages are in `sidemirror.v1` (the package sidemirror-api).
"""

import sidemirror_client.forking  # noqa: F401  # first, before anything imports gRPC
from sidemirror_client.address import TokenInTheClear
from sidemirror_client.advice import advice_text, lessons_text
from sidemirror_client.client import Sidemirror, SyncSidemirror, connect, connect_sync
from sidemirror_client.losses import Undelivered
from sidemirror_client.problem import Problem, problem_of
from sidemirror_client.turn import Goal, SyncTurn, Turn

__all__ = [
    "Goal",
    "Problem",
    "Sidemirror",
    "SyncSidemirror",
    "SyncTurn",
    "TokenInTheClear",
    "Turn",
    "Undelivered",
    "advice_text",
    "connect",
    "connect_sync",
    "lessons_text",
    "problem_of",
]
