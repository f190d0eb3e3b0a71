"""Sidemirror for Python: an agent's turns reported without waiting, and typed stubs for everything else.

    async with connect() as sidemirror:
        turn = sidemirror.begin_turn(task="find the cheapest flight")
        turn.report(tool_called=ToolCalled(name="search", arguments='{"to": "LIS"}'))
        for directive in turn.take():
            ...
        turn.finish(TASK_OUTCOME_SUCCESS)

Messages are in `sidemirror.v1` (the package sidemirror-api).
"""

from sidemirror_client.client import Sidemirror, connect
from sidemirror_client.problem import Problem, problem_of
from sidemirror_client.turn import Turn

__all__ = ["Problem", "Sidemirror", "Turn", "connect", "problem_of"]
