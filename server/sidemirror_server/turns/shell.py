"""What an agent whose host has a shell may be told (decision 064). Pure.

Every directive of every turn passes `told` before it is recorded, and what Critique answers of a turn passes
`safe_critique`. Where the host can run commands, only fixed sentences
with typed slots are left, and lessons that a person reviewed. Words of tools, models, goals and imports are gone.
"""

import msgspec

from sidemirror_server.critique.record import (
    Critique,
    Dimension,
    Issue,
    IssueKind,
    critique_body,
    critique_in,
)
from sidemirror_server.thinking.record import Advised, Critiqued, Directive, Reflection, Said, TurnPlan
from sidemirror_server.vocabulary.block import ContextBlock
from sidemirror_server.vocabulary.status import ResultStatus

# What a critique says of each kind of issue.
SENTENCES = {
    IssueKind.WRONG_FACT: "The response contradicts what is on record.",
    IssueKind.MISSING_CRITICAL_INFORMATION: "The response leaves out something that the task needs.",
    IssueKind.POTENTIAL_HARM: "What the response does or advises may do harm.",
    IssueKind.MISSING_DETAIL: "The response leaves out a detail.",
    IssueKind.UNSUPPORTED_CLAIM: "The response claims something that nothing on record supports.",
    IssueKind.NOT_ACTIONABLE: "The response does not say what to do.",
    IssueKind.UNCLEAR: "The response is not clear.",
    IssueKind.STYLE: "The style of the response does not fit.",
    IssueKind.LENGTH: "The length of the response does not fit.",
}
REVISE = "Revise the response: compare it with the results of the tools and with the task."
# The names of dimensions, of seed response-critique.
DIMENSIONS = ("accuracy", "completeness", "actionability", "clarity")


def told(directive: Directive, *, has_shell: bool) -> Directive:
    """The directive as the agent gets it. `has_shell`: by the turn's configuration; a plan has its own."""
    match directive.what:
        case TurnPlan(config=config, context=context) as plan if config.has_shell:
            what: Said = msgspec.structs.replace(plan, context=safe_block(context))
        case Reflection() as reflection if has_shell:
            what = _reflection(reflection)
        case Critiqued(body=body) as critiqued if has_shell:
            safe = critique_body(safe_critique(critique_in(bytes(body))))
            what = msgspec.structs.replace(critiqued, body=msgspec.Raw(safe))
        case Advised(block=block) as advised if has_shell:
            what = msgspec.structs.replace(advised, block=safe_block(block) or ContextBlock())
        case _:
            return directive
    return msgspec.structs.replace(directive, what=what)


def safe_block(block: ContextBlock | None) -> ContextBlock | None:
    """The block, or None if it has an item that a host with a shell may not be told. Whoever makes a block leaves such
    lessons out before, so that the receipt names what is shown."""
    if block is None or not all(item.is_safe for item in block.items):
        return None
    return block


def _reflection(made: Reflection) -> Reflection:
    """The reflection without its words: what is left are its status and reviewed lessons."""
    lessons = safe_block(made.lessons)
    status = made.status
    if status in (ResultStatus.OK, ResultStatus.NOTHING):
        status = ResultStatus.NOTHING if lessons is None else ResultStatus.OK
    text = "" if status is ResultStatus.OK else None
    return Reflection(status, reflection=text, usage=made.usage, origin=made.origin, lessons=lessons)


def safe_critique(made: Critique) -> Critique:
    """The critique with fixed sentences in the place of its words."""
    verdict = made.verdict
    return msgspec.structs.replace(
        made,
        verdict=msgspec.structs.replace(
            verdict,
            detail="",
            issues=tuple(_issue(issue) for issue in verdict.issues),
            suggestions=(),
            dimensions=tuple(Dimension(one.name, one.score) for one in verdict.dimensions if one.name in DIMENSIONS),
            revision_prompt=REVISE if verdict.should_revise else "",
        ),
        question="",
        response="",
        comparison=None if made.comparison is None else msgspec.structs.replace(made.comparison, detail="", reason=""),
    )


def _issue(issue: Issue) -> Issue:
    return Issue(issue.kind, issue.severity, "", issue.quote_source, SENTENCES[issue.kind])
