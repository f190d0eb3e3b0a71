"""The material of a verdict: taken from the request, with missing parts taken from the turn."""

from sidemirror.v1 import critique_pb2 as pb
from sidemirror_server.critique.material import ARGUMENTS_CHARS, CritiqueMaterial, ToolEvidence, material_of
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.recorded_turns import RecordedTurns
from sidemirror_server.rpc.wire.results import tool_result_of
from sidemirror_server.vocabulary.errors import BadInput, NotFound
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.text import clip, enter


async def given_material(
    turns: RecordedTurns,
    request: pb.CritiqueRequest | pb.ReviseRequest | pb.DebateRequest,
    call: Call,
    *,
    needs_response: bool,
) -> CritiqueMaterial:
    """The material of a request, completed by its turn. Raises BadInput, NotFound."""
    given = CritiqueMaterial(
        question=enter(request.user_message),
        response=enter(request.response),
        results=tuple(
            ToolEvidence(result.name, result.text, result.has_failed, clip(result.arguments, ARGUMENTS_CHARS))
            for result in map(tool_result_of, request.tool_results)
        ),
        origin=Origin.TOOL if request.tool_results else Origin.AGENT,
    )
    if request.turn_id and not (given.question and given.response and given.results):
        given = await _with_turn(turns, given, request.turn_id, call)
    if not given.response and (needs_response or not given.question):
        raise BadInput([("response", "required, unless a turn has one")])
    return given


async def _with_turn(turns: RecordedTurns, given: CritiqueMaterial, turn_id: str, call: Call) -> CritiqueMaterial:
    events = await turns.events(call.scope, turn_id)
    if events is None:
        if given.question and given.response:
            return given  # the turn was never reported here: its id is only a label
        raise NotFound("turn", turn_id)
    known = material_of(events)
    return CritiqueMaterial(
        question=given.question or known.question,
        response=given.response or known.response,
        results=given.results or known.results,
        task=known.task,
        origin=min(given.origin, known.origin),
        question_event=known.question_event if given.question in ("", known.question) else "",
        response_event=known.response_event if given.response in ("", known.response) else "",
        task_event=known.task_event,
    )
