"""A whole agent, whose model is a list of steps: it asks a database, fails, listens to what the sidecar makes of it,
and answers. It does the same when no sidecar is there."""

import asyncio
import sys

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror.v1.common_pb2 import TASK_OUTCOME_SUCCESS
from sidemirror_client import Turn, connect

TASK = "How many orders are open?"
QUERIES = ("SELECT count(*) FROM orders WHERE status = 'open'", "SELECT count(*) FROM open_orders")


async def main() -> None:
    """The agent's loop."""
    async with connect() as sidemirror:
        config = pb.ThinkingConfig(level=pb.THINK_LEVEL_MEDIUM)
        turn = sidemirror.begin_turn(task=TASK, base_prompt="You are helpful.", config=config)
        plan = await turn.plan(5.0)
        messages = [plan.system_prompt if plan else "You are helpful.", TASK]
        for query in QUERIES:
            turn.report(tool_called=pb.ToolCalled(name="run_sql", arguments=query))
            result = run_sql(query)
            turn.report(tool_returned=pb.ToolReturned(content=result, is_error=result.startswith("error")))
            messages.append(result)
            # A real agent takes what is there before it asks its model again; this one has nothing else to do.
            await asyncio.sleep(0.5)
            messages += heard(turn)
        turn.report(response_drafted=pb.ResponseDrafted(text="12 orders are open."))
        turn.finish(TASK_OUTCOME_SUCCESS, 1.0)
        summary = await turn.summary(5.0)
    if summary:
        messages.append(f"{summary.tool_error_count} of the tool calls failed")
    sys.stdout.write("\n".join(messages) + "\n")


def heard(turn: Turn) -> list[str]:
    """What the agent's model should read of the directives that have come."""
    lines = []
    for directive in turn.take():
        if directive.HasField("reflection"):
            lines.append(f"[reflection] {directive.reflection.reflection}")
        elif directive.HasField("nudge"):
            lines.append(f"[nudge] {directive.nudge.message}")
    return lines


def run_sql(query: str) -> str:
    """The agent's only tool."""
    return "error: no such column: status" if "status" in query else "12"


asyncio.run(main())
