"""Whether a result says that the call was refused and did not run: by a person, or by a rule in a person's place. Pure.

Such a call has no failure that something could repair, and sending it again is not advice: nothing is learned from it.
An answer that tells it as done is wrong. Known are the fixed texts of the AI SDK, Google ADK, LangChain, the OpenAI
Agents SDK, Pydantic AI, Claude Code, Codex and Gemini CLI, and texts like them. The error of a service that denies a
request is none of them: it names neither a tool call nor a user.
"""

import re

# In code points: a refusal is said first.
_READ_CHARS = 300

_NO = r"(?:not approved|denied|rejected|declined|refused)"
_BY_A_PERSON = r"by (?:the |a |an )?(?:user|human|person|reviewer|approver|operator)\b"
_CALL = r"(?:tool(?:[ -]?(?:call|use|execution))?|(?:function|mcp(?: tool)?) call|(?:exec )?command|patch|execution)"
_REFUSED = re.compile(
    # `{"error": "`, and what Gemini CLI begins with.
    r"\W{0,4}(?:(?:error|message|reason|result|output|content|type)['\"]?\s?:\s?['\"]?)?(?:operation cancelled\]\s?)?"
    r"(?:reason: )?(?:"
    rf"(?:the |this )?(?:tool(?:[ -]?(?:call|use|execution))|(?:function|mcp) call) (?:was |is |has been )?{_NO}\b"
    # By a schema it is refused as well, and can be mended.
    r"(?!\W{1,3}(?:invalid|validation|schema|unknown|malformed|missing|bad)\b)"
    rf"|(?:(?:the |this )?{_CALL} (?:was |is |has been )?)?(?:{_NO}|cancell?ed) {_BY_A_PERSON}"
    r"|(?:the )?user (?:has )?(?:(?:rejected|denied|declined|refused|cancell?ed|did not (?:approve|allow))|"
    rf"(?:does not|doesn['’]t) want to proceed with) (?:to (?:run|allow|approve) )?(?:the |this )?{_CALL}\b"
    r"|execution-denied\b"
    r")",
    re.IGNORECASE,
)


def is_refusal(text: str) -> bool:
    """Whether a result says that a person refused the call."""
    return _REFUSED.match(text[:_READ_CHARS].lstrip()) is not None
