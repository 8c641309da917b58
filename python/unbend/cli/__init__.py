"""The command `unbend`. Each command is a module, imported when it is given."""

from __future__ import annotations

import os
import sys
from importlib import import_module

from .arguments import COMMANDS, UsageError, parser
from .words import warnings_in_one_line

__all__ = ["main"]

OK, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


def main(argv: list[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    argv : list of str, optional
        The arguments; those of the process by default.

    Returns
    -------
    int
        The exit code: 0 done, 1 unexpected failure, 2 bad usage or bad input, 130 interrupted.

    Examples
    --------
    >>> from unbend.cli import main
    >>> main(["measure", "--help"])  # doctest: +ELLIPSIS
    usage: unbend measure ...
    0
    """
    try:
        code = _run(argv)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _complain("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has seen enough. The interpreter must not try again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except (UsageError, ValueError) as error:
        return _complain(f"error: {error}", BAD_INPUT)
    except MemoryError as error:
        return _complain(f"error: {error}" if str(error) else "error: out of memory", FAILED)
    except Exception as error:
        return _complain(f"error: {type(error).__name__}: {error}", FAILED)


def _run(argv: list[str] | None) -> int:
    try:
        options = parser().parse_args(argv)
    except SystemExit as done:
        # After --help and --version.
        return int(done.code or OK)
    if options.command is None:
        raise UsageError(f"give a command: {', '.join(COMMANDS)} (see unbend --help)")
    with warnings_in_one_line():
        import_module(f".{options.command}", __name__).run(options)
    return OK


def _complain(message: str, code: int) -> int:
    if code == FAILED and os.environ.get("UNBEND_DEBUG"):
        import traceback

        traceback.print_exc()
    print("unbend:", " ".join(message.split()), file=sys.stderr)
    return code
