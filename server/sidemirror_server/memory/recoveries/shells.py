"""The shells of coding agents: one tool, which each host names in its own way; and by which ids a policy silences a
move. Pure."""

import msgspec

from sidemirror_server.memory.kin.signature import tool_of
from sidemirror_server.memory.recoveries.observation import Move, recovery_id

# Claude Code and Codex, Cursor, Gemini CLI, OpenHands.
SHELLS = frozenset(("Bash", "Shell", "run_shell_command", "terminal"))


def silencing_ids(signature: str, move: Move) -> tuple[str, ...]:
    """The ids of which each silences a move as advice for a signature: its own, and that of the move without its form,
    which it had before forms were told; of a failure in a shell those in the shell of each host, whichever of them runs
    the command."""
    tool = tool_of(signature)
    shells = SHELLS if tool in SHELLS else (tool,)
    moves = dict.fromkeys((move, msgspec.structs.replace(move, form=())))
    return tuple(recovery_id(f"{shell}{signature.removeprefix(tool)}", of) for shell in shells for of in moves)
