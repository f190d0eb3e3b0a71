"""What a test has measured, for whoever runs it with `-s`."""

import sys


def show(text: str) -> None:
    sys.stdout.write(f"\n{text}\n")
