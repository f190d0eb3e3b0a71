"""Whether a user's message corrects the agent. Pure.

The wordings are written for this project, in English. They stand at the beginning of a message, where people put a
correction; further on they may be about anything. Called when a turn ends, and by the model `rules`.
"""

import re

# In code points: how much of a message is read, and how far behind a `no` its reason may stand. Chosen here: a
# correction is said in the first sentences.
_READ_CHARS, _REASON_CHARS = 300, 160

_BEFORE = r"(?:(?:hi|hm+|sorry|but|oh|ok(?:ay)?|well|wait|actually|please|thanks)\b[,.! ]{1,3}){0,3}"
_WRONG = (
    r"(?:th(?:at|is)(?:'s| is| was| isn't| is not| wasn't| was not| looks| seems)? "
    r"(?:(?:still |just |simply )?(?:wrong|incorrect|false|not (?:right|correct|true|what))|(?:right|correct|what i)\b)"
    r"|(?:wrong|incorrect)\b"
    r"|you (?:got|have|had) (?:it|that|this|them) wrong"
    r"|you (?:forgot|missed|misunderstood|misread|ignored|overlooked|mixed up)\b"
    r"|you (?:should(?:n't| not)? have|were (?:not )?supposed to|weren't supposed to)\b"
    r"|i (?:said|meant|asked (?:for|you)|told you)\b"
    r"|i (?:didn't|did not|never) (?:ask|mean|say|want)\b"
    r"|not (?:that|this) (?:one|file|order|way)\b)"
)
_CORRECTS = re.compile(_BEFORE + _WRONG)
# "That's right" praises; "that isn't right" corrects.
_PRAISES = re.compile(_BEFORE + r"th(?:at|is)(?:'s| is| was| looks| seems) (?:right|correct|what i)\b")
_DENIES = re.compile(_BEFORE + r"(?:no|nope)\b[,.!;: ]")
_REASON = re.compile(
    r"\b(?:wrong|incorrect|not (?:right|correct|what|the|that|this)|isn't (?:right|correct|what|the)"
    r"|i (?:said|meant|asked)|instead|should (?:be|have)|you (?:forgot|missed|misunderstood|misread|ignored))\b"
)


def corrects(message: str) -> bool:
    """Whether a user's message says that what the agent did or said was wrong."""
    said = " ".join(message[:_READ_CHARS].lower().replace("’", "'").split())
    if _CORRECTS.match(said):
        return not _PRAISES.match(said)
    denied = _DENIES.match(said)
    return denied is not None and _REASON.search(said, denied.end(), denied.end() + _REASON_CHARS) is not None
