"""CritiqueService: the table of its RPCs, and which answers bind a request_id."""

from functools import partial

from sidemirror.v1 import common_pb2
from sidemirror.v1 import critique_pb2 as pb
from sidemirror_server.critique.keeping import Critic
from sidemirror_server.critique.store import Critiques
from sidemirror_server.models.scoped_model import ScopedModel
from sidemirror_server.rpc.boundary.recorded_turns import RecordedTurns
from sidemirror_server.rpc.boundary.services import CRITIQUE, ServerStream, ServiceTable, Unary
from sidemirror_server.rpc.critique.critique import critique
from sidemirror_server.rpc.critique.debate import debate
from sidemirror_server.rpc.critique.evaluate_trace import evaluate_trace
from sidemirror_server.rpc.critique.get_critique_statistics import get_critique_statistics
from sidemirror_server.rpc.critique.list_critiques import list_critiques
from sidemirror_server.rpc.critique.report_critique_outcome import report_critique_outcome
from sidemirror_server.rpc.critique.revise import revise
from sidemirror_server.rpc.critique.should_critique import should_critique

_OK = common_pb2.RESULT_STATUS_OK


def critique_service(model: ScopedModel, critic: Critic, store: Critiques, turns: RecordedTurns) -> ServiceTable:
    """The table of CritiqueService. An attempt in which a model failed does not bind its request_id (decision 004)."""
    return ServiceTable(
        CRITIQUE,
        ShouldCritique=Unary(should_critique),
        Critique=Unary(
            partial(critique, critic, turns), binds=lambda response: response.critique.status == _OK, asks=True
        ),
        Revise=ServerStream(partial(revise, model, critic, turns), _revise_binds),
        EvaluateTrace=Unary(partial(evaluate_trace, model, turns), asks=True),
        Debate=ServerStream(partial(debate, model, critic, turns), _debate_binds),
        ListCritiques=Unary(partial(list_critiques, store)),
        GetCritiqueStatistics=Unary(partial(get_critique_statistics, store)),
        ReportCritiqueOutcome=Unary(partial(report_critique_outcome, store)),
    )


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
