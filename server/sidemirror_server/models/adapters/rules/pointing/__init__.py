"""Pointing: contradictions between an answer and what is on record, without a model.

`points.py` asks each mechanism of its table. A mechanism is one function in a file of its own; it reads the answer and
the record (`reading.py`), and yields a `Point` that quotes both sides, or nothing. What it cannot align it passes over.
"""
