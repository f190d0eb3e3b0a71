"""The shells of coding agents: one tool, which each host names in its own way. Pure."""

from sidemirror_server.memory.kin.signature import tool_of
from sidemirror_server.memory.recoveries.observation import Move, recovery_id

# Claude Code and Codex, Cursor, Gemini CLI, OpenHands.
SHELLS = frozenset(("Bash", "Shell", "run_shell_command", "terminal"))


def ids_in_shells(signature: str, move: Move) -> tuple[str, ...]:
    """The ids of a move as advice for the same failure in the shell of each host; none for other tools. Who silences
    one of them silences the advice, whichever host runs the command."""
    tool = tool_of(signature)
    if tool not in SHELLS:
        return ()
    return tuple(recovery_id(f"{shell}{signature.removeprefix(tool)}", move) for shell in SHELLS)
