"""The tools that MCP offers: each an RPC of the contract, with arguments and an answer that a model reads. Pure.

Hosts of MCP run commands, so an answer holds what such a host may be told (decision 064): fixed sentences with typed
slots, and lessons that a person reviewed. No tool writes lessons.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin
from urllib.parse import parse_qs

import msgspec
from google.protobuf.message import Message
from msgspec import Meta

from sidemirror.v1 import common_pb2, critique_pb2
from sidemirror.v1 import reflective_memory_pb2 as pb
from sidemirror_server.critique.record import IssueKind
from sidemirror_server.trace.receipts import NAMED
from sidemirror_server.turns.shell import REVISE, SENTENCES

_MEMORY = "/sidemirror.v1.ReflectiveMemoryService"
_CRITIQUE = "/sidemirror.v1.CritiqueService"

NO_LESSONS = "There are no lessons for this task."
# The same whether nothing is known or something is held back: of that a trial's agent must not hear.
NOTHING_WORKED = (
    "Nothing is told of such a failure: no repair is known, or this was one of the questions, one in ten, that get no "
    "answer. What is known may depend on the arguments of the call: give them."
)
NO_ISSUES = "No contradiction between the answer and what it rests on was found."
NOT_JUDGED = "The answer was not judged."
# The same each time: whether there was an earlier one, the RPC does not say.
NOTED = "The outcome is noted; it takes the place of any that was reported for this receipt before."
# Of wrong arguments: how many are told, and how long what is said of each may be. Chosen here: what a model reads.
_MOST_WRONG, _SHOWN_CHARS = 20, 200


class Whose(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whose data a host's calls are about, as the address in its configuration says; empty: the token's own."""

    tenant_id: str = ""
    project_id: str = ""
    session_id: str = ""


def whose_of(query: bytes) -> Whose:
    """Whose data an address names: `?project_id=shop`. Raises ValueError, which says what is wrong."""
    given = parse_qs(query.decode("ascii", "replace"), keep_blank_values=True, max_num_fields=10)
    if twice := [name for name, values in given.items() if len(values) > 1]:
        raise ValueError(f"{twice[0]} stands there twice")
    if unknown := [name for name in given if name not in Whose.__struct_fields__]:
        raise ValueError(f"{unknown[0]!r} is not known; {', '.join(Whose.__struct_fields__)} are")
    return Whose(**{name: values[0] for name, values in given.items()})


class _Recall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    task: Annotated[str, Meta(min_length=1, description="The task, as the user gave it.")]
    tools: Annotated[tuple[str, ...], Meta(description="The names of the tools that it may need.")] = ()


class _Worked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tool: Annotated[str, Meta(min_length=1, description="The name of the tool whose call failed.")]
    error_text: Annotated[str, Meta(min_length=1, description="The error, or the output that reports the failure.")]
    arguments: Annotated[str, Meta(description="The arguments of the call, or its command.")] = ""


class _Result(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tool: str
    content: str
    is_error: bool = False


class _Judged(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    question: Annotated[str, Meta(min_length=1, description="What the user asked for.")]
    answer: Annotated[str, Meta(min_length=1, description="The answer, before the user sees it.")]
    tool_results: Annotated[tuple[_Result, ...], Meta(description="What tools returned, oldest first.")] = ()


class _Ended(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    receipt_id: Annotated[str, Meta(min_length=1, description="From recall_lessons or what_worked.")]
    outcome: Annotated[
        Literal["success", "failure", "partial", "timeout", "error"], Meta(description="How the task ended.")
    ]


class ToolRefused(Exception):
    """The call that a tool makes was refused; the text says why."""


class Tool(msgspec.Struct, frozen=True):
    """A tool: the RPC that it calls, the request that its arguments make, and its answer in words."""

    name: str
    description: str
    arguments: type[msgspec.Struct]
    path: str
    answer: type[Message]
    request: Callable[[Any, Whose], Message]
    said: Callable[[Any], str]
    # Whether it leaves nothing but a receipt behind.
    reads: bool = True

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments, an object at its root."""
        (root,), others = msgspec.json.schema_components([self.arguments], ref_template="#/$defs/{name}")
        schema = others.pop(root["$ref"].rpartition("/")[2])
        # Names of ours tell a model nothing.
        for one in (schema, *others.values()):
            del one["title"]
        # As JSON has it, where a tuple is a list.
        whole: dict[str, Any] = msgspec.json.decode(
            msgspec.json.encode({**schema, **({"$defs": others} if others else {})})
        )
        return whole

    def asked(self, arguments: Mapping[str, Any] | None, whose: Whose) -> Message:
        """The request. Raises ValueError, which names each argument that is wrong, a line each."""
        given = arguments or {}
        if wrong := list(_wrong(given, self.arguments, "")):
            more = [f"and {len(wrong) - _MOST_WRONG} more"] if len(wrong) > _MOST_WRONG else []
            raise ValueError("\n".join([*wrong[:_MOST_WRONG], *more]))
        return self.request(msgspec.convert(given, self.arguments), whose)


# Makes the call of a tool: of its request, the answer as bytes. Raises ToolRefused.
Answering: TypeAlias = Callable[[Tool, bytes], Awaitable[bytes]]


async def called(name: str, arguments: Mapping[str, Any] | None, whose: Whose, ask: Answering) -> tuple[str, bool]:
    """What a tool answers, and whether that is an error."""
    tool = BY_NAME.get(name)
    if tool is None:
        return f"there is no such tool; there are {', '.join(BY_NAME)}", True
    try:
        answer = await ask(tool, tool.asked(arguments, whose).SerializeToString())
    except (ValueError, ToolRefused) as error:
        return str(error), True
    return tool.said(tool.answer.FromString(answer)), False


def _wrong(given: Any, kind: type[msgspec.Struct], place: str) -> Iterator[str]:
    """What is wrong with each argument, with its name first. `place`: what stands before the names."""
    if not isinstance(given, Mapping):
        yield f"{place.rstrip('.')}: an object is expected"
        return
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    for name in given:
        if name not in fields:
            yield f"{place}{str(name)[:_SHOWN_CHARS]}: there is no such argument; there are {', '.join(fields)}"
    for name, field in fields.items():
        if name not in given:
            if field.required:
                yield f"{place}{name}: it is missing"
        elif isinstance(given[name], list) and (inner := _items_of(field.type)) is not None:
            for number, one in enumerate(given[name]):
                yield from _wrong(one, inner, f"{place}{name}[{number}].")
        else:
            try:
                msgspec.convert(given[name], field.type)
            except msgspec.ValidationError as error:
                values = _values_of(field.type)
                wrong = f"one of {', '.join(values)} is expected" if values else str(error)[:_SHOWN_CHARS]
                yield f"{place}{name}: {wrong}"


def _values_of(kind: Any) -> tuple[str, ...]:
    """The values of an argument's annotated type, if there are only these."""
    return next((get_args(one) for one in get_args(kind)[:1] if get_origin(one) is Literal), ())


def _items_of(kind: Any) -> type[msgspec.Struct] | None:
    """What a list of objects holds, of an argument's annotated type; None for another argument."""
    held = [part for one in get_args(kind)[:1] for part in get_args(one)[:1]]
    return next((one for one in held if isinstance(one, type) and issubclass(one, msgspec.Struct)), None)


def _recall(given: _Recall, whose: Whose) -> Message:
    return pb.BuildMemoryContextRequest(
        tenant_id=whose.tenant_id,
        project_id=whose.project_id,
        session_id=whose.session_id,
        task=given.task,
        tools=given.tools,
        has_shell=True,
    )


def _worked(given: _Worked, whose: Whose) -> Message:
    return pb.FindRecoveriesRequest(
        tenant_id=whose.tenant_id,
        project_id=whose.project_id,
        session_id=whose.session_id,
        tool=given.tool,
        error_text=given.error_text,
        arguments=given.arguments,
        has_shell=True,
    )


def _judged(given: _Judged, whose: Whose) -> Message:
    return critique_pb2.CritiqueRequest(
        tenant_id=whose.tenant_id,
        project_id=whose.project_id,
        session_id=whose.session_id,
        user_message=given.question,
        response=given.answer,
        tool_results=[
            common_pb2.ToolResult(name=one.tool, content=one.content, is_error=one.is_error)
            for one in given.tool_results
        ],
    )


def _ended(given: _Ended, whose: Whose) -> Message:
    return pb.ReportOutcomeRequest(
        tenant_id=whose.tenant_id,
        project_id=whose.project_id,
        receipt_id=given.receipt_id,
        outcome=f"TASK_OUTCOME_{given.outcome.upper()}",
    )


def _block(block: common_pb2.ContextBlock, nothing: str) -> str:
    if not block.text:
        return nothing
    return f"{block.text}\n{NAMED.format(block.receipt_id)}"


def _critique(answer: critique_pb2.CritiqueResponse) -> str:
    verdict = answer.critique
    if verdict.status != common_pb2.RESULT_STATUS_OK:
        return NOT_JUDGED
    kinds = (common_pb2.IssueKind.Name(issue.kind).removeprefix("ISSUE_KIND_") for issue in verdict.issue_details)
    # In the order of the verdict, each once.
    lines = list(dict.fromkeys(SENTENCES[IssueKind[kind]] for kind in kinds if kind in IssueKind.__members__))
    return "\n".join([*lines, REVISE] if verdict.should_revise else lines or [NO_ISSUES])


TOOLS = (
    Tool(
        "recall_lessons",
        "What earlier work in this project has taught for a task like this one. Call it before a task begins.",
        _Recall,
        f"{_MEMORY}/BuildMemoryContext",
        pb.BuildMemoryContextResponse,
        _recall,
        lambda answer: _block(answer.block, NO_LESSONS),
    ),
    Tool(
        "what_worked",
        "What repaired a failing tool call like this one before. Call it when a call has failed.",
        _Worked,
        f"{_MEMORY}/FindRecoveries",
        pb.FindRecoveriesResponse,
        _worked,
        lambda answer: _block(answer.block, NOTHING_WORKED),
    ),
    Tool(
        "critique_answer",
        "Whether an answer contradicts the results of tools that it rests on. Call it before the user sees the answer.",
        _Judged,
        f"{_CRITIQUE}/Critique",
        critique_pb2.CritiqueResponse,
        _judged,
        _critique,
    ),
    Tool(
        "report_outcome",
        "How a task ended for which lessons were shown, so that those that do not help are not shown again.",
        _Ended,
        f"{_MEMORY}/ReportOutcome",
        pb.ReportOutcomeResponse,
        _ended,
        lambda _: NOTED,
        reads=False,
    ),
)
BY_NAME: Mapping[str, Tool] = {tool.name: tool for tool in TOOLS}
