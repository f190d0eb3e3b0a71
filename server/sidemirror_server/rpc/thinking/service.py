"""ThinkingService: the table of its RPCs."""

from functools import partial

from sidemirror.v1 import thinking_pb2 as pb
from sidemirror_server.critique.store import Critiques
from sidemirror_server.memory.recoveries.observations import Observations
from sidemirror_server.models.gateway import Gateway
from sidemirror_server.rpc.boundary.services import THINKING, BidiStream, ServerStream, ServiceTable, Unary
from sidemirror_server.rpc.boundary.streams import Streams
from sidemirror_server.rpc.boundary.watches import Watches
from sidemirror_server.rpc.thinking.create_session import create_session
from sidemirror_server.rpc.thinking.delete_session import delete_session
from sidemirror_server.rpc.thinking.directives import own_prompt
from sidemirror_server.rpc.thinking.finish_turn import finish_turn
from sidemirror_server.rpc.thinking.get_reflection_prompt import get_reflection_prompt
from sidemirror_server.rpc.thinking.get_session import get_session
from sidemirror_server.rpc.thinking.get_thinking_prompt import get_thinking_prompt
from sidemirror_server.rpc.thinking.get_turn import get_turn
from sidemirror_server.rpc.thinking.list_sessions import list_sessions
from sidemirror_server.rpc.thinking.list_turns import list_turns
from sidemirror_server.rpc.thinking.reflect import reflect
from sidemirror_server.rpc.thinking.report_events import report_events
from sidemirror_server.rpc.thinking.run_turn import run_turn
from sidemirror_server.rpc.thinking.should_reflect import should_reflect
from sidemirror_server.rpc.thinking.start_turn import start_turn
from sidemirror_server.rpc.thinking.update_session import update_session
from sidemirror_server.rpc.thinking.watch_turns import watch_turns
from sidemirror_server.thinking.config import ThinkingConfig
from sidemirror_server.thinking.prompts import ReflectionPrompts
from sidemirror_server.thinking.store import Sessions
from sidemirror_server.trace.live import Bell
from sidemirror_server.trace.log import TURN_TOPIC, TurnLog
from sidemirror_server.trace.pruning import Pruning
from sidemirror_server.trace.receipts import Receipts
from sidemirror_server.turns.conductor import Conductor
from sidemirror_server.turns.recorder import Recorder
from sidemirror_server.turns.retired import RetiredWords
from sidemirror_server.vocabulary.text import enter


def thinking_service(
    log: TurnLog,
    sessions: Sessions,
    pruning: Pruning,
    critiques: Critiques,
    observations: Observations,
    receipts: Receipts,
    conductor: Conductor,
    recorder: Recorder,
    gateway: Gateway,
    prompts: ReflectionPrompts,
    retired: RetiredWords,
    bell: Bell,
    streams: Streams,
    default: ThinkingConfig,
) -> ServiceTable:
    """The table of ThinkingService. `critiques`, `observations`, `receipts`: what there is of a turn is shown with it.
    `gateway`, `prompts`, `retired`: of reflections. `default`: a session's configuration."""
    watches = Watches(log, TURN_TOPIC, bell, streams)
    return ServiceTable(
        THINKING,
        CreateSession=Unary(partial(create_session, sessions, default)),
        GetSession=Unary(partial(get_session, sessions, conductor)),
        UpdateSession=Unary(partial(update_session, sessions, conductor, default)),
        ListSessions=Unary(partial(list_sessions, sessions)),
        DeleteSession=Unary(partial(delete_session, conductor)),
        GetThinkingPrompt=Unary(get_thinking_prompt),
        RunTurn=BidiStream(partial(run_turn, conductor, streams)),
        # The stored answer lacks the secrets in the agent's base prompt; `complete` puts the original prompt back.
        StartTurn=Unary(partial(start_turn, conductor, recorder), complete=_with_own_prompt),
        ReportEvents=Unary(partial(report_events, conductor, recorder)),
        FinishTurn=Unary(partial(finish_turn, conductor, recorder)),
        GetTurn=Unary(partial(get_turn, log, critiques, observations, receipts, conductor, recorder)),
        WatchTurns=ServerStream(partial(watch_turns, watches, pruning), keeps_times=True),
        ListTurns=Unary(partial(list_turns, log, receipts, critiques)),
        ShouldReflect=Unary(partial(should_reflect, sessions, conductor)),
        # What is not on record binds no request_id: nothing of it is kept.
        Reflect=Unary(
            partial(reflect, conductor, recorder, gateway, prompts, retired),
            binds=lambda response: bool(response.directive_id),
            asks=True,
        ),
        GetReflectionPrompt=Unary(partial(get_reflection_prompt, conductor, prompts)),
    )


def _with_own_prompt(request: pb.StartTurnRequest, answer: bytes) -> bytes:
    """The answer to a start, with the agent's original base prompt."""
    entered = enter(request.base_prompt)
    if entered == request.base_prompt:
        return answer
    response = pb.StartTurnResponse.FromString(answer)
    response.plan.system_prompt = own_prompt(response.plan.system_prompt, entered, request.base_prompt)
    return response.SerializeToString(deterministic=True)
