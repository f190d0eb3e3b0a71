"""The parsers of the commands, and the functions that run them. Each module adds the commands of one subject.

They are imported at every start of a sidecar, so they import a command's work only when it runs (decision 040).
"""

import argparse
from typing import TypeAlias

# argparse has no public name for it.
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001
