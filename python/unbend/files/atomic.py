"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from .errors import FileError

__all__ = ["check_free", "write_atomically"]


def write_atomically(
    path: str | os.PathLike[str], writer: Callable[[Path], object], *, force: bool = False
) -> Path:
    """Write a file so that it appears whole or not at all, and return its path.

    `writer` is called with the path of an empty temporary file in the same folder, with the same suffix, and
    fills it. A FileError is raised if the file exists and `force` is not set, or the folder cannot be written to.
    """
    path = Path(path)
    check_free(path, force)
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.stem}.{secrets.token_hex(4)}{target.suffix}")
    try:
        temporary.touch(exist_ok=False)
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from error
    try:
        writer(temporary)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def check_free(path: Path, force: bool) -> None:
    """Refuse a folder, and an existing file unless `force` is set."""
    if path.is_dir():
        raise FileError(f"cannot write {path}: it is a folder")
    if path.exists() and not force:
        raise FileError(
            f"cannot write {path}: it exists already, use --force (force=True in Python) to replace it"
        )
