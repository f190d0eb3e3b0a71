"""What is measured and against what: `uv run python -m bench` (bench/README.md)."""
