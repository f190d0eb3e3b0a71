"""The requests that rows send, as bytes. Sizes are near the 262 bytes of the floor figures in the design."""

from sidemirror.v1 import reflective_memory_pb2
from sidemirror.v1 import thinking_pb2 as pb

QUERY_REFLECTIONS = "/sidemirror.v1.ReflectiveMemoryService/QueryReflections"
_SERVICE = "/sidemirror.v1.ThinkingService/"
SHOULD_REFLECT = f"{_SERVICE}ShouldReflect"
GET_THINKING_PROMPT = f"{_SERVICE}GetThinkingPrompt"
START_TURN = f"{_SERVICE}StartTurn"
REPORT_EVENTS = f"{_SERVICE}ReportEvents"
FINISH_TURN = f"{_SERVICE}FinishTurn"
RUN_TURN = f"{_SERVICE}RunTurn"
WATCH_TURNS = f"{_SERVICE}WatchTurns"

_FILLER = (
    "select orders.id, orders.total, customers.name from orders join customers on customers.id = orders.customer "
    "where orders.created between :first and :last order by orders.total desc limit 50"
)


def event(number: int, turn_id: str = "") -> pb.TurnEvent:
    """A tool call or its result, no two of them alike: a turn that goes well."""
    if number % 2 == 0:
        called = pb.ToolCalled(
            call_id=f"call{number}", name="sql", arguments=f'{{"query": "{_FILLER}", "n": {number}}}'
        )
        return pb.TurnEvent(turn_id=turn_id, agent="main", tool_called=called)
    returned = pb.ToolReturned(call_id=f"call{number - 1}", content=f"row {number}: {_FILLER}")
    return pb.TurnEvent(turn_id=turn_id, agent="main", tool_returned=returned)


def start_turn(session_id: str) -> bytes:
    return pb.StartTurnRequest(
        session_id=session_id, task="find it", config=pb.ThinkingConfig(level=pb.THINK_LEVEL_MEDIUM)
    ).SerializeToString()


def turn_of(answer: bytes) -> str:
    return pb.StartTurnResponse.FromString(answer).plan.turn_id


def should_reflect(turn_id: str) -> bytes:
    return pb.ShouldReflectRequest(turn_id=turn_id).SerializeToString()


def get_thinking_prompt() -> bytes:
    return pb.GetThinkingPromptRequest(
        base_prompt=f"You are a data analyst. {_FILLER}", level=pb.THINK_LEVEL_MEDIUM, provider="x", model="y"
    ).SerializeToString()


def query_reflections(text: str) -> bytes:
    request = reflective_memory_pb2.QueryReflectionsRequest(query_text=text, min_importance=0.0)
    return request.SerializeToString()


def finish_turn(turn_id: str) -> bytes:
    return pb.FinishTurnRequest(turn_id=turn_id).SerializeToString()


def report_event(turn_id: str, number: int) -> bytes:
    return pb.ReportEventsRequest(turn_id=turn_id, events=[event(number)]).SerializeToString()


def open_stream(session_id: str) -> bytes:
    config = pb.ThinkingConfig(level=pb.THINK_LEVEL_MEDIUM)
    started = pb.TurnStarted(session_id=session_id, task="find it", config=config)
    return pb.RunTurnRequest(events=[pb.TurnEvent(turn_started=started)]).SerializeToString()


def stream_events(number: int, count: int) -> bytes:
    """One message on an open stream: `count` events from `number` on."""
    return pb.RunTurnRequest(events=[event(n) for n in range(number, number + count)]).SerializeToString()


def acked(answer: bytes) -> tuple[int, int]:
    """The newest ack of a response of RunTurn: how many events were received, how many are durable; zeros without."""
    received = durable = 0
    for directive in pb.RunTurnResponse.FromString(answer).directives:
        if directive.HasField("ack"):
            received, durable = directive.ack.received, directive.ack.durable
    return received, durable


def watch() -> bytes:
    return pb.WatchTurnsRequest(new_only=True).SerializeToString()
