"""`run.py URL PROMPT...`: an agent of OpenHands' SDK with a shell, whose model answers at URL, works on each prompt.

Its hooks are those that OpenHands finds for this folder and this home. It prints what happened, hooks aside; it runs in
the environment of `pyproject.toml` beside it.
"""

import sys
from pathlib import Path

from openhands.sdk import LLM, Agent, Conversation, Tool
from openhands.sdk.event import ActionEvent, Event, MessageEvent, ObservationEvent
from openhands.sdk.hooks import HookConfig
from openhands.tools.terminal import TerminalTool


def show(event: Event) -> None:
    """Prints an event's words, without its id and time."""
    if isinstance(event, MessageEvent | ActionEvent | ObservationEvent):
        sys.stdout.write(f"{type(event).__name__} {event.source} {event.to_llm_message().model_dump_json()}\n")


def main(url: str, prompts: list[str]) -> None:
    agent = Agent(
        llm=LLM(model="openai/scripted", base_url=url, api_key="none", usage_id="agent", num_retries=0),
        tools=[Tool(name=TerminalTool.name, params={"terminal_type": "subprocess"})],
    )
    conversation = Conversation(
        agent=agent,
        workspace=str(Path.cwd()),
        hook_config=HookConfig.load(working_dir=Path.cwd()),
        callbacks=[show],
        visualizer=None,
    )
    for prompt in prompts:
        conversation.send_message(prompt)
        conversation.run()
    conversation.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
