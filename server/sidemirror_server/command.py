"""The entry point of `sidemirror`: loads the command line and runs it. Ctrl-C while it is loaded is handled here."""

EXIT_INTERRUPTED = 130


def main() -> int:
    """Runs the command that the process was started with; returns its exit code."""
    try:
        from sidemirror_server.cli import run

        return run()
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
