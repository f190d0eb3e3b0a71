"""Frozen values and pure functions that every room may use. A closed list: see ARCHITECTURE.md."""
