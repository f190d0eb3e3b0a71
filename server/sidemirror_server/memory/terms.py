"""What a text is found by: its terms. Stored with each memory, so that every store searches the same words."""


def terms_of(text: str) -> str:
    """The terms of a text, separated by blanks, in their order."""
    return " ".join(text.lower().split())
