"""A whole agent, whose model is a list of steps: it recalls what was learned, asks a database, fails, listens to what
the sidecar makes of it, has its answer judged, and says how it went. It does the same when no sidecar is there."""

import asyncio
import sys

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.common_pb2 import TASK_OUTCOME_SUCCESS
from sidemirror_client import Goal, advice_text, connect, lessons_text

TASK = "How many orders are open?"
QUERIES = ("SELECT count(*) FROM orders WHERE status = 'open'", "SELECT count(*) FROM open_orders")
GOAL: Goal = {"goal_id": "open-orders", "objective": "Know how many orders are open"}


async def main() -> None:
    """The agent's loop."""
    async with connect() as sidemirror:
        config = pb.ThinkingConfig(level=pb.THINK_LEVEL_MEDIUM)
        async with sidemirror.begin_turn(task=TASK, base_prompt="You are helpful.", config=config) as turn:
            plan = await turn.plan(5.0)
            lessons = lessons_text(await turn.recall(tools=["run_sql"]))
            messages = [plan.system_prompt if plan else "You are helpful.", lessons, TASK]
            for query in QUERIES:
                turn.tool_called("run_sql", query)
                result = run_sql(query)
                turn.tool_returned(result, is_error=result.startswith("error"))
                messages += [result, advice_text(await turn.advice())]
            # With a reason to revise a real agent would ask its model again.
            answer = await turn.revised("12 orders are open.", lambda prompt: f"I am not sure. {prompt}")
            messages.append(answer)
            turn.report(response_drafted=pb.ResponseDrafted(text=answer))
            turn.finish(TASK_OUTCOME_SUCCESS, 1.0, goal=GOAL)
            summary = await turn.summary(5.0)
    if summary:
        messages.append(f"{summary.tool_error_count} of the tool calls failed")
    sys.stdout.write("\n".join(message for message in messages if message) + "\n")


def run_sql(query: str) -> str:
    """The agent's only tool."""
    return "error: no such column: status" if "status" in query else "12"


asyncio.run(main())
