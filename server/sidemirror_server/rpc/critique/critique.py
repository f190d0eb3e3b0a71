"""The calls of CritiqueService about one response: the gate, a verdict, a revision, a debate."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any

import msgspec

from sidemirror.v1 import common_pb2
from sidemirror.v1 import critique_pb2 as pb
from sidemirror_server.critique import record
from sidemirror_server.critique.asking import Asking
from sidemirror_server.critique.debate import DEFAULT_CRITICS, FEWEST_CRITICS, MOST_ROUNDS, Argument, debate
from sidemirror_server.critique.gate import should_critique
from sidemirror_server.critique.keeping import About, Critic
from sidemirror_server.critique.material import Material, ToolEvidence, material_of
from sidemirror_server.critique.revise import DEFAULT_REVISIONS, Critiqued, revise
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.boundary.recorded_turns import TurnMaterial
from sidemirror_server.rpc.wire.critiques import (
    CRITIQUE_REASONS,
    argument_to_wire,
    critique_to_wire,
    step_to_wire,
)
from sidemirror_server.vocabulary.budget import model_timeout_s
from sidemirror_server.vocabulary.errors import BadInput, NotFound
from sidemirror_server.vocabulary.origin import Origin
from sidemirror_server.vocabulary.text import enter

# What an answer needs after the model's. Chosen here: the gateway's own grace and a write to the store, several times
# over.
ANSWER_S = 0.2
_OK = common_pb2.RESULT_STATUS_OK


def _revise_binds(response: pb.ReviseResponse) -> bool:
    match response.WhichOneof("step"):
        case "critique":
            return response.critique.critique.status == _OK
        case "revision":
            return response.revision.status == _OK
        case "comparison":
            return response.comparison.comparison.status == _OK
        case _:
            return True


def _debate_binds(response: pb.DebateResponse) -> bool:
    return response.WhichOneof("part") == "argument" or response.verdict.critique.status == _OK


class CritiqueCalls:
    """Judges responses."""

    # A try in which a model failed does not bind its request_id (design section 2).
    binds: Mapping[str, Callable[[Any], bool]] = {
        "Critique": lambda response: response.critique.status == _OK,
        "Revise": _revise_binds,
        "Debate": _debate_binds,
    }

    def __init__(self, model: Asking, critic: Critic, turns: TurnMaterial) -> None:
        self._model = model
        self._critic = critic
        self._turns = turns

    async def ShouldCritique(self, request: pb.ShouldCritiqueRequest, call: Call) -> pb.ShouldCritiqueResponse:
        length = len(request.response) if request.response else request.response_length
        decision = should_critique((_failed(result) for result in request.tool_results), length)
        return pb.ShouldCritiqueResponse(
            should_critique=decision.should_critique, reasons=[CRITIQUE_REASONS[reason] for reason in decision.reasons]
        )

    async def Critique(self, request: pb.CritiqueRequest, call: Call) -> pb.CritiqueResponse:
        material = await self._material(request, call, needs_response=False)
        about = About(request.turn_id, request.session_id)
        critique = await self._critic.judge(
            call.scope, call.make_id(), material, about, _remaining_s(call), compare_to=request.compare_to
        )
        return pb.CritiqueResponse(critique=critique_to_wire(critique))

    async def Revise(self, request: pb.ReviseRequest, call: Call) -> AsyncGenerator[pb.ReviseResponse, None]:
        material = await self._material(request, call, needs_response=True)
        revisions = request.max_revisions or DEFAULT_REVISIONS
        kept_id = ""
        # Closed as soon as the agent leaves: that ends the call to the model that is being made.
        async with aclosing(revise(self._model, call.scope, material, revisions, _remaining_s(call))) as steps:
            async for step in steps:
                if isinstance(step, Critiqued):
                    critique = await self._keep_step(step, material, request, call)
                    kept_id = critique.critique_id or kept_id
                    told = pb.ReviseCritique(number=step.number, critique=critique_to_wire(critique))
                    yield pb.ReviseResponse(critique=told)
                else:
                    yield step_to_wire(step, kept_id)

    async def _keep_step(
        self, step: Critiqued, material: Material, request: pb.ReviseRequest, call: Call
    ) -> record.Critique:
        judged = msgspec.structs.replace(material, response=step.response)
        about = About(request.turn_id, request.session_id)
        return await self._critic.keep(call.scope, call.make_id(part=f"/{step.number}"), judged, step.verdict, about)

    async def Debate(self, request: pb.DebateRequest, call: Call) -> AsyncGenerator[pb.DebateResponse, None]:
        material = await self._material(request, call, needs_response=True)
        critics, rounds = request.critics or DEFAULT_CRITICS, request.max_rounds or MOST_ROUNDS
        if critics < FEWEST_CRITICS:
            raise BadInput([("critics", "a number from 2 to 5, or 0 for 3")])
        async with aclosing(debate(self._model, call.scope, material, critics, rounds, _remaining_s(call))) as parts:
            async for part in parts:
                if isinstance(part, Argument):
                    yield argument_to_wire(part)
                    continue
                about = About(request.turn_id, request.session_id, made_by="debate")
                critique = await self._critic.keep(call.scope, call.make_id(), material, part.verdict, about)
                verdict = pb.DebateVerdict(critique=critique_to_wire(critique), rounds=part.rounds, agreed=part.agreed)
                yield pb.DebateResponse(verdict=verdict)

    async def _material(
        self, request: pb.CritiqueRequest | pb.ReviseRequest | pb.DebateRequest, call: Call, *, needs_response: bool
    ) -> Material:
        """What a request is about: what it says, and for what it leaves out the turn's. Raises BadInput, NotFound."""
        given = Material(
            question=enter(request.user_message),
            response=enter(request.response),
            results=tuple(
                ToolEvidence(enter(result.name), enter(result.error or result.content), _failed(result))
                for result in request.tool_results
            ),
            origin=Origin.TOOL if request.tool_results else Origin.AGENT,
        )
        if request.turn_id and not (given.question and given.response and given.results):
            given = await self._with_turn(given, request.turn_id, call)
        if not given.response and (needs_response or not given.question):
            raise BadInput([("response", "required, unless a turn has one")])
        return given

    async def _with_turn(self, given: Material, turn_id: str, call: Call) -> Material:
        events = await self._turns.events(call.scope, turn_id)
        if events is None:
            if given.question and given.response:
                return given  # a turn that was never reported here: its id is a label
            raise NotFound("turn", turn_id)
        known = material_of(events)
        return Material(
            question=given.question or known.question,
            response=given.response or known.response,
            results=given.results or known.results,
            task=known.task,
            origin=min(given.origin, known.origin),
        )


def _failed(result: common_pb2.ToolResult) -> bool:
    return result.is_error or bool(result.error)


def _remaining_s(call: Call) -> Callable[[], float]:
    """Seconds that a call to the model may take, each time it is asked."""

    def remaining_s() -> float:
        left_s = call.remaining_s()
        return model_timeout_s(None, None if left_s is None else max(0.0, left_s - ANSWER_S))

    return remaining_s
