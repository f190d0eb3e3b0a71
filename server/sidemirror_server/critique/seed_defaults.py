"""What a critique says when no model said anything. Only the converter in `rpc` writes these (design section 3)."""

# Seed response-critique, "Failure handling".
CONFIDENCE = 0.5
ISSUES = ("Reflection failed",)
