"""`unbend demo`: a swiss roll, flattened and measured."""

from __future__ import annotations

import argparse

from .words import warnings_in_one_line

__all__ = ["run"]


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from ..demo import run

    with warnings_in_one_line():
        run(options.n, options.output)
