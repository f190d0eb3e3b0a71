"""What hooks say in words of their own. The sentences are fixed; their only slots are counts."""

import re

# At the beginning of our prompts. A host that gives such a prompt to the agent as the user's tells it to us as one.
MARK = "[sidemirror]"

# Prompts that are switches, as the user types them.
OFF, ON, WRONG = "sidemirror advice off", "sidemirror advice on", "sidemirror advice was wrong"
# Changes nothing; `sidemirror doctor --attach` asks it too.
CHECK = "sidemirror check"

CHECKED = f"{MARK} The hooks reach the sidecar."
# What may follow it.
LATE = re.compile(r"Answered too late: \d+ of the last \d+ hooks\.")
# What else may follow it.
NOT_KEPT = "Its store takes nothing now: what the hooks report waits in memory."
NOT_RECORDED = f"{MARK} Nothing is recorded: the token of the hooks is not good for this project of their tenant."
SWITCHED_OFF = (
    f"{MARK} Advice is off for this project. Turns are still recorded. `sidemirror advice on` gives it again."
)
SWITCHED_ON = f"{MARK} Advice is on for this project."
SILENCED = f"{MARK} The last advice of this session will not be given again in this project."
NOTHING_TO_SILENCE = f"{MARK} No advice was given in this session."
NOT_CHANGED = f"{MARK} Nothing was changed: the token of the hooks may not change the policy of this project."


def checked(late: int, of: int, *, is_kept: bool = True) -> str:
    """That the hooks reach the sidecar; how many of the last `of` were answered too late, if any; and whether its
    store takes what they report."""
    too_late = f" Answered too late: {late} of the last {of} hooks." if late else ""
    return CHECKED + too_late + ("" if is_kept else f" {NOT_KEPT}")


def revision_prompt(issues: int) -> str:
    """What the agent is sent back with. `issues`: in how many places the answer contradicts the record or leaves out
    what it has to say, at least 1."""
    places = "In one place your answer does" if issues == 1 else f"In {issues} places your answer does"
    return (
        f"{MARK} {places} not agree with what the tools of this turn have returned, or does not say that a call has "
        "failed. Compare each name, number and claim of success in it with those results, correct what does not agree, "
        "say what failed, and answer again. If nothing is wrong, repeat your answer."
    )


def is_ours(prompt: str) -> bool:
    """Whether a prompt came from here."""
    return prompt.lstrip().startswith(MARK)


def switch_of(prompt: str) -> str:
    """The switch that a whole prompt is: OFF, ON, WRONG or CHECK; empty if it is none."""
    said = " ".join(prompt.split()).rstrip(".!").lower()
    return said if said in (OFF, ON, WRONG, CHECK) else ""
