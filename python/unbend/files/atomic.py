"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import FileError, one_line

__all__ = ["check_free", "write_atomically", "writing"]


def write_atomically(
    path: str | os.PathLike[str], writer: Callable[[Path], object], *, force: bool = False
) -> Path:
    """Write a file so that it appears whole or not at all, and return its path.

    `writer` is called with the path of an empty temporary file in the same folder, with the same suffix, and
    fills it. A FileError is raised if the file exists and `force` is not set, the folder cannot be written to,
    or the disk is full.
    """
    path = Path(path)
    check_free(path, force)
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.stem}.{secrets.token_hex(4)}{target.suffix}")
    try:
        with writing(path):
            temporary.touch(exist_ok=False)
            writer(temporary)
            os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    return path


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise what the system refuses while a file is written, as on a full disk, as a FileError in one line.

    Other packages raise errors of their own after one of the system, so those that came before count as well.
    """
    try:
        yield
    except FileError:
        raise
    except Exception as error:
        refusal: BaseException | None = error
        while refusal is not None and not isinstance(refusal, OSError):
            refusal = refusal.__cause__ or refusal.__context__
        if refusal is None:
            raise
        reason = os.strerror(refusal.errno) if refusal.errno else one_line(refusal)
        raise FileError(f"cannot write {path}: {reason}") from error


def check_free(path: Path, force: bool) -> None:
    """Refuse a folder, and an existing file unless `force` is set."""
    if path.is_dir():
        raise FileError(f"cannot write {path}: it is a folder")
    if path.exists() and not force:
        raise FileError(
            f"cannot write {path}: it exists already, use --force (force=True in Python) to replace it"
        )
