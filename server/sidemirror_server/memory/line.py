"""What the lines of an export have in common. `lessons/portable.py` makes those of memories, `recoveries/portable.py`
those of observations."""

# Part of the format: which one a line has.
FORMAT = 1


class BadLine(Exception):
    """A line cannot be used. The message gives the reason and does not quote the line."""
