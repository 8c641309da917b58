"""The command `unbend`: its parser, and what its exit codes say."""

from __future__ import annotations

import os
import sys

from . import compare, demo, diagnose, embed, flatten, measure, select, transform
from .options import Parser, UsageError, did_you_mean, with_exit_codes
from .words import warnings_in_one_line

__all__ = ["COMMANDS", "main", "parser"]

SUCCESS, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

COMMANDS = {
    "embed": embed.COMMAND,
    "transform": transform.TRANSFORM,
    "measure": measure.COMMAND,
    "compare": compare.COMPARE,
    "report": compare.REPORT,
    "diagnose": diagnose.COMMAND,
    "select": select.COMMAND,
    "align": transform.ALIGN,
    "flatten": flatten.COMMAND,
    "demo": demo.COMMAND,
}

EPILOG = """\
examples:
  unbend embed roll.npy -o flat.npy
  unbend measure roll.npy umap.npy
"""


def main(argv: list[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    argv : list of str, optional
        The arguments; by default those of the process.

    Returns
    -------
    int
        The exit code: 0 success, 1 unexpected failure, 2 bad usage or bad input, 130 interrupted.

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
        # The reader of our output has closed it. Python must not try to flush again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except (UsageError, ValueError) as error:
        return _complain(f"error: {error}", BAD_INPUT)
    except MemoryError as error:
        return _complain(f"error: {error}" if str(error) else "error: out of memory", FAILED)
    except Exception as error:
        return _complain(f"error: {type(error).__name__}: {error}", FAILED)


def parser() -> Parser:
    """Return the parser of the whole command line."""
    from .. import __version__

    parser = Parser(
        prog="unbend",
        description="Flatten manifolds without stretching them,\nand measure how faithful any embedding is.",
        epilog=with_exit_codes(EPILOG),
    )
    parser.add_argument("--version", action="version", version=f"unbend {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, command in COMMANDS.items():
        command.add_to(commands, name)
    return parser


def _run(argv: list[str] | None) -> int:
    whole = parser()
    try:
        options, unknown = whole.parse_known_args(argv)
    except SystemExit as done:  # --help and --version
        return int(done.code or SUCCESS)
    if unknown:
        raise UsageError(_unknown_in_words(options.command, unknown))
    if options.command is None:
        whole.print_help()
        return SUCCESS
    with warnings_in_one_line(options):
        options.run(options)
    return SUCCESS


def _unknown_in_words(command: str | None, unknown: list[str]) -> str:
    """Return a message about arguments that a command does not have."""
    flag = next((text.partition("=")[0] for text in unknown if text.startswith("-")), unknown[0])
    flags = [] if command is None else COMMANDS[command].flags
    where = "unbend" if command is None else f"unbend {command}"
    return f"unknown argument {flag}{did_you_mean(flag, flags)} (see {where} --help)"


def _complain(message: str, code: int) -> int:
    if code == FAILED and os.environ.get("UNBEND_DEBUG"):
        import traceback

        traceback.print_exc()
    print("unbend:", " ".join(message.split()), file=sys.stderr)
    return code
