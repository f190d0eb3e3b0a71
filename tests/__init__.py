"""The tests mirror the server; see CONTRIBUTING.md for which file a change belongs to."""
