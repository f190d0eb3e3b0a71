"""The exit codes of all commands (docs/reference.md). From 64 on they are those of sysexits.h, and 2 is argparse's."""

# It was not done, or the answer is no; the text says why.
FAILED = 1
# The arguments are wrong.
USAGE = 2
# Data that was read is wrong: lines of a file, a backup, a store.
DATA = 65
# A file to read is missing, or may not be used.
NO_INPUT = 66
# The sidecar or its store does not answer.
UNAVAILABLE = 69
# A file to write cannot be made.
CANNOT_CREATE = 73
# What the command says cannot be written.
OUTPUT = 74
# A setting cannot be used.
CONFIGURATION = 78
# Ctrl-C: 128 and the number of the signal.
INTERRUPTED = 130
