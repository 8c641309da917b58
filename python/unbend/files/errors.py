"""The error for files, and the words that all readers and writers share."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["FileError", "one_line", "required"]


class FileError(ValueError, OSError):
    """A file cannot be read as points, or must not be written. The message is one line."""


def one_line(error: BaseException) -> str:
    """Return the message of an error in one line."""
    return " ".join(str(error).split())


def required(module: str, extra: str, complaint: str) -> Any:
    """Import an optional package, or say how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise FileError(f"{complaint}: it needs {package}, pip install 'unbend[{extra}]'") from error
