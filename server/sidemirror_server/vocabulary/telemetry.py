"""Names that telemetry uses, in one place, so that dashboards and tests can rely on them."""

# Design section 4. The seed's `secondbrain.agent.reflect` is another product's name (design section 12).
SPAN_REFLECT = "sidemirror.thinking.reflect"
SPAN_CRITIQUE = "sidemirror.critique.critique"
SPAN_GENERATE_REFLECTION = "sidemirror.memory.generate_reflection"
SPAN_EVALUATE = "sidemirror.critique.evaluate_trace"

# OpenTelemetry semantic conventions for generative AI, "Evaluation".
EVENT_EVALUATION_RESULT = "gen_ai.evaluation.result"
