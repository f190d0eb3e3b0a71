"""Names of spans and events, and all instruments, in one place, so that dashboards and tests can rely on them.

Without an SDK the instruments do nothing. Gauges are in `observing.py`. No attribute contains an id, or a text that an
agent or a user wrote.
"""

from opentelemetry import metrics

# Decision 008. Seed reflection-engine's `secondbrain.agent.reflect` is another product's name.
SPAN_REFLECT = "sidemirror.thinking.reflect"
SPAN_CRITIQUE = "sidemirror.critique.critique"
SPAN_GOAL_REFLECT = "sidemirror.goals.reflect"
SPAN_GENERATE_REFLECTION = "sidemirror.memory.generate_reflection"
SPAN_EVALUATE = "sidemirror.critique.evaluate_trace"

# OpenTelemetry semantic conventions for generative AI, "Evaluation".
EVENT_EVALUATION_RESULT = "gen_ai.evaluation.result"

METER = "sidemirror"
_meter = metrics.get_meter(METER)

# In seconds. Chosen here: fine around the call times of decision 041, and up to the longest model call.
_CALL_S = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

TURNS_STARTED = _meter.create_counter("sidemirror.turns.started", unit="{turn}", description="Turns that began.")
# Attributes: `outcome` (success, failure, partial, timeout, error, none; abandoned).
TURNS_ENDED = _meter.create_counter(
    "sidemirror.turns.ended", unit="{turn}", description="Turns that ended, by outcome; abandoned ones are one."
)
EVENTS = _meter.create_counter("sidemirror.turn.events", unit="{event}", description="Events taken into turns.")
NUDGES = _meter.create_counter("sidemirror.nudges", unit="{nudge}", description="Nudges, by the detector's pattern.")
# Attributes: `status` (decision 017; given_up: its turn or the server did not wait for it), `provider` (empty when no
# model was asked).
REFLECTIONS = _meter.create_counter(
    "sidemirror.reflections", unit="{reflection}", description="Mid-turn reflections, by status and provider."
)
CRITIQUES = _meter.create_counter("sidemirror.critiques", unit="{critique}", description="Critiques, by status.")
# Attributes: `purpose`.
MODEL_CALLS = _meter.create_counter(
    "sidemirror.model.calls", unit="{call}", description="Calls to models that cost something, by purpose."
)
MODEL_TOKENS = _meter.create_counter("sidemirror.model.tokens", unit="{token}", description="Tokens, by purpose.")
MODEL_COST = _meter.create_counter("sidemirror.model.cost", unit="USD", description="What models cost, by purpose.")
# Attributes: `purpose`, `provider`, `status` (decision 017; cancelled; unanswered: its caller
# hung up on a model that answers nobody; defect). Up to the longest call.
_MODEL_S = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0)
MODEL_DURATION = _meter.create_histogram(
    "sidemirror.model.duration",
    unit="s",
    description="How long questions to models took with all their attempts, by purpose, provider and status.",
    explicit_bucket_boundaries_advisory=_MODEL_S,
)
# Attributes: `kind`, `result` (done; failed: there is another attempt; dead: that was the last one).
JOBS = _meter.create_counter("sidemirror.jobs", unit="{job}", description="Attempts at jobs, by kind and result.")
# Attribute: `kind`, of the kinds that callers put (`goal_report`, `assemble_trace`). Less what is done or dead of a
# kind it says, over all sidecars of a store, by how much its waiting jobs grow, unless dead ones are revived.
JOBS_PUT = _meter.create_counter("sidemirror.jobs.put", unit="{job}", description="Jobs that callers put, by kind.")
GAPS = _meter.create_counter(
    "sidemirror.stream.gaps", unit="{gap}", description="Gaps that RunTurn and watches have told of."
)
# Attributes: `became` (kept; other: of no agent's work; rejected: malformed; late: their turn was made already;
# dropped: their trace has too many; refused: their session was erased, or their turn's id is taken).
SPANS = _meter.create_counter("sidemirror.spans", unit="{span}", description="Spans received, by what they became.")
# Attributes: `code`, `reason` (errors.proto).
REFUSED = _meter.create_counter(
    "sidemirror.calls.refused", unit="{call}", description="Calls that ended in an error, by code and reason."
)
# Attributes: `rpc.service`, `rpc.method`, `code`.
CALLS = _meter.create_histogram(
    "sidemirror.call.duration",
    unit="s",
    description="How long unary calls took, by method and code.",
    explicit_bucket_boundaries_advisory=_CALL_S,
)
# Attribute: `rpc.service`. Of agents whose bytes are limited; its sum grows by a second in each second in which one
# stream of an agent is held back. Up to what the largest message waits at a MiB a second, and more.
SHARE_WAIT = _meter.create_histogram(
    "sidemirror.share.wait",
    unit="s",
    description="How long calls and messages of streams waited for their agent's share, by service.",
    explicit_bucket_boundaries_advisory=_CALL_S,
)
# Attributes: `store` (the port), `verb`, `failed`.
STORE = _meter.create_histogram(
    "sidemirror.store.duration",
    unit="s",
    description="How long the store took for a verb of a port.",
    explicit_bucket_boundaries_advisory=_CALL_S,
)
