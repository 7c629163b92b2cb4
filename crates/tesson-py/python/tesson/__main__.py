"""``python -m tesson`` is the command ``tesson``."""

import signal
import sys

from . import _tesson


def main() -> int:
    """Run the command with this process's arguments, and return its exit code."""
    # Python puts the working directory first. What lies there is data, and a configuration's `module` is not to be found in
    # it by accident.
    if not sys.flags.safe_path:
        del sys.path[0]
    # The command is not Python: Ctrl-C has to end it without waiting for the interpreter.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Usage names the command, not this file.
    return _tesson.main(["tesson", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
