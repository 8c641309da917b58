"""Fitted estimators read from files."""

from __future__ import annotations

import os
import re
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

from . import archive
from .base import ESTIMATORS

__all__ = ["is_model", "load"]

is_model = archive.is_model

for _module in walk_packages([str(Path(__file__).parent)], f"{__package__}."):
    import_module(_module.name)  # Estimators register themselves when they are imported.


def load(path: str | os.PathLike[str]) -> Any:
    """Read a fitted estimator that was written by its method `save`.

    Nothing in the file is run, and its contents are checked. The estimator transforms to the same bits as the
    one that was saved.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator

    Raises
    ------
    FileError
        If there is no such file, it is damaged or no model, or a newer version of this package wrote it.
        It is both a ValueError and an OSError.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(500, random_state=0)
    >>> model = ub.GreedyProcrustes(random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = ub.load(model.save(pathlib.Path(folder, "roll.unbend")))
    >>> again.get_params() == model.get_params()
    True
    """
    name, parameters, learnt = archive.read(path)
    with archive.as_file_error(path):
        if str(name) not in ESTIMATORS:
            raise ValueError(f"its class {name!r} is none of {', '.join(sorted(ESTIMATORS))}")
        kind = ESTIMATORS[name]
        unknown = sorted(set(parameters) - set(kind().get_params()))
        if unknown:
            raise ValueError(f"its parameters {', '.join(unknown)} are unknown to {kind.__name__}")
        other = sorted(attribute for attribute in learnt if not re.fullmatch(r"[a-zA-Z]\w*_", attribute))
        if other:
            raise ValueError(f"its attributes {', '.join(other)} are none that a fit sets")
        estimator = kind(**parameters)
        estimator.__dict__.update(learnt)
        estimator._check_shapes()
    return estimator
