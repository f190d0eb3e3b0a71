"""The calls of ThinkingService about one reflection, and about thinking as such."""

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.rpc.boundary.call import Call
from sidemirror_server.rpc.thinking.directives import REASONS, left_to_wire, reflection_to_wire, write_left
from sidemirror_server.rpc.wire.common import struct
from sidemirror_server.rpc.wire.events import LEVELS, messages_of
from sidemirror_server.thinking.levels import ThinkLevel, level_named
from sidemirror_server.thinking.prompts import ReflectionPrompts, ToolOutcome
from sidemirror_server.thinking.provider_parameters import plan_thinking
from sidemirror_server.thinking.record import Reflection
from sidemirror_server.thinking.reflect import Extra, material_of, prompt_of
from sidemirror_server.thinking.schedule import Decision, Facts, decide
from sidemirror_server.thinking.sessions import config_in
from sidemirror_server.thinking.store import Sessions
from sidemirror_server.thinking.turn import decision, left
from sidemirror_server.turns.conductor import Conductor
from sidemirror_server.turns.head import head_in
from sidemirror_server.turns.live import LiveTurn
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.vocabulary.errors import NotFound, WrongState
from sidemirror_server.vocabulary.ids import DirectiveId, SessionId, TurnId
from sidemirror_server.vocabulary.status import ResultStatus
from sidemirror_server.vocabulary.text import enter

_LEVELS = {number: level_named(name) for number, name in LEVELS.items()}
_LEVEL_NUMBERS = {level: number for number, level in _LEVELS.items()}


class ReflectionCalls:
    """How deep to think, whether to reflect, and one reflection."""

    def __init__(
        self, sessions: Sessions, conductor: Conductor, recorder: Recorder, prompts: ReflectionPrompts
    ) -> None:
        self._prompts = prompts
        self._sessions = sessions
        self._conductor = conductor
        self._recorder = recorder

    async def GetThinkingPrompt(self, request: pb.GetThinkingPromptRequest, call: Call) -> pb.GetThinkingPromptResponse:
        level = _LEVELS.get(request.level, ThinkLevel.OFF)
        plan = plan_thinking(request.base_prompt, level, request.provider, request.model)
        unknown = request.level not in _LEVELS and request.level != pb.THINK_LEVEL_UNSPECIFIED
        clamps = (f"level {request.level} is not known: OFF applies",) if unknown else ()
        # Field by field, which takes a third of what a constructor's names take.
        response = pb.GetThinkingPromptResponse()
        response.prompt = plan.prompt
        response.token_budget = plan.token_budget
        response.provider_parameters.SetInParent()
        if plan.provider_parameters:
            response.provider_parameters.CopyFrom(struct(plan.provider_parameters))
        if clamps or plan.clamps:
            response.clamps.extend((*clamps, *plan.clamps))
        response.requested_level = request.level
        response.applied_level = _LEVEL_NUMBERS[plan.level]
        return response

    async def ShouldReflect(self, request: pb.ShouldReflectRequest, call: Call) -> pb.ShouldReflectResponse:
        turn: LiveTurn | None
        if request.WhichOneof("target") == "turn_id":
            turn = await self._conductor.take_up(call.scope, TurnId(request.turn_id))
            if not turn.accepts:
                raise WrongState("turn", turn.state.turn_id, turn.state.standing.value)
        else:
            turn = await self._conductor.newest_open(call.scope, SessionId(request.session_id))
        if turn is None:
            return await self._between_turns(request.session_id, call)
        response = _decision_to_wire(decision(turn.state))
        response.budget_left.SetInParent()
        write_left(response.budget_left, left(turn.state, call.clock.now_us()))
        return response

    async def _between_turns(self, session_id: str, call: Call) -> pb.ShouldReflectResponse:
        """What is known of a session without a turn in memory: its configuration, its turn count, errors left over."""
        await self._conductor.settle_session(call.scope, SessionId(session_id))
        record = await self._sessions.get(call.scope, SessionId(session_id))
        if record is None:
            raise NotFound("session", session_id)
        left_over = head_in(record.newest_head).carried.tool_errors if record.newest_head else ()
        facts = Facts(turn_count=record.turn_count, tool_errors=len(left_over))
        return _decision_to_wire(decide(config_in(record.body), facts))

    async def Reflect(self, request: pb.ReflectRequest, call: Call) -> pb.ReflectResponse:
        turn = await self._conductor.take_up(call.scope, TurnId(request.turn_id))
        directive_id = DirectiveId(call.make_id())
        if _said(turn, directive_id) is None and directive_id not in turn.state.claims:
            claimed = self._conductor.reflect(turn, directive_id, _extra_of(request), call.remaining_s())
            if claimed.status is not ResultStatus.OK:
                return pb.ReflectResponse(
                    result=reflection_to_wire(Reflection(claimed.status, claimed.detail)),
                    budget_left=left_to_wire(left(turn.state, call.clock.now_us())),
                )
        reflection, sequence = await _made(turn, directive_id)
        await self._recorder.wait_durable(turn, sequence)
        return pb.ReflectResponse(
            result=reflection_to_wire(reflection),
            directive_id=directive_id,
            budget_left=left_to_wire(left(turn.state, call.clock.now_us())),
        )

    async def GetReflectionPrompt(
        self, request: pb.GetReflectionPromptRequest, call: Call
    ) -> pb.GetReflectionPromptResponse:
        turn = await self._conductor.take_up(call.scope, TurnId(request.turn_id))
        material = material_of(turn.state, _extra_of(request))
        return pb.GetReflectionPromptResponse(system=self._prompts.system(), prompt=prompt_of(material, self._prompts))


def _extra_of(request: pb.ReflectRequest | pb.GetReflectionPromptRequest) -> Extra:
    """What the agent adds to what the turn knows."""
    results = tuple(
        ToolOutcome(enter(result.name), enter(result.error or result.content), result.is_error or bool(result.error))
        for result in request.tool_results
    )
    return Extra(messages_of(request.messages), results)


def _said(turn: LiveTurn, directive_id: DirectiveId) -> tuple[Reflection, int] | None:
    """The reflection of that id and its place in the turn's record, once it is made."""
    for item in reversed(turn.said):
        if item.directive.directive_id == directive_id and isinstance(item.directive.what, Reflection):
            return item.directive.what, item.sequence
    return None


async def _made(turn: LiveTurn, directive_id: DirectiveId) -> tuple[Reflection, int]:
    listener = turn.listen(turn.state.last_sequence)
    try:
        while (made := _said(turn, directive_id)) is None:
            if turn.lost is not None:  # and with it whoever was making it
                raise turn.lost
            await listener.wait()
            listener.take()
        return made
    finally:
        listener.close()


def _decision_to_wire(decided: Decision) -> pb.ShouldReflectResponse:
    # Field by field, which takes a third of what a constructor's names take.
    wire = pb.ShouldReflectResponse()
    wire.should_reflect = decided.should_reflect
    wire.reason = REASONS[decided.reason]
    if decided.matches:
        wire.matches.extend(REASONS[reason] for reason in decided.matches)
    return wire
