"""``python -m tesson`` is the command ``tesson``."""

import signal
import sys

from . import _tesson


def main() -> int:
    """Run the command with this process's arguments, and return its exit code."""
    # The command is not Python: Ctrl-C has to end it without waiting for the interpreter.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Usage names the command, not this file.
    return _tesson.main(["tesson", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
