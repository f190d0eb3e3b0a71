"""Says which gate a move did not pass: what is needed, and what there was. Pure.

Used by `review.py` and the commands. The console has the same table, `console/src/silences.ts`.
"""

from sidemirror_server.memory.recoveries.moves import WINDOW
from sidemirror_server.vocabulary.silence import Gate, MissedGate

_LAST = f"by its last {WINDOW} tries"
# Counts, and shares as percent.
_OF_COUNTS: dict[str, str] = {
    Gate.TRIES: "{found:.0f} tries without advice; {needed:.0f} are needed",
    Gate.SESSIONS: "it worked, a look-up with a value that was used, in {found:.0f} sessions; {needed:.0f} are needed",
    Gate.CHANGES: "the changed argument worked {found:.0f} times; {needed:.0f} are needed",
    Gate.NONE_WORKED: "another tool is told only where nothing worked again, and {found:.0f} of the last tries did",
    Gate.RUNS: "nothing worked again in {found:.0f} runs; {needed:.0f} are needed",
    Gate.GONE_ON: "{found:.0f} runs went on with this tool; {needed:.0f} are needed",
    Gate.CONVERSATIONS: "{found:.0f} conversations show it; {needed:.0f} are needed",
    Gate.KIND: "such moves are counted and never told",
}
_OF_RATES: dict[str, str] = {
    Gate.RATE: f"{_LAST} it works in at least {{found:.1f}} %; {{needed:.0f}} % are needed",
    Gate.ADVISED_RATE: f"{_LAST}, those after advice too, it works in at least {{found:.1f}} %; {{needed:.0f}} % are "
    "needed",
    Gate.OTHER_MOVE: f"{_LAST} it works in at least {{found:.1f}} %, and another move worked in {{needed:.0f}} %",
    Gate.SENT_AGAIN_RATE: "sent again it worked in {found:.1f} %; {needed:.0f} % are needed",
}


def gate_told(missed: MissedGate) -> str:
    """The gate with its numbers, in words."""
    if (told := _OF_RATES.get(missed.gate)) is not None:
        return told.format(needed=100 * missed.needed, found=100 * missed.found)
    told = _OF_COUNTS.get(missed.gate, "gate {gate}, which this version does not know")
    return told.format(needed=missed.needed, found=missed.found, gate=missed.gate)
