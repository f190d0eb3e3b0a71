"""Default fields of a critique without an answer from a model. Only the converter in `rpc` uses them (decision 017)."""

# Seed response-critique, "Failure handling".
CONFIDENCE = 0.5
ISSUES = ("Reflection failed",)
