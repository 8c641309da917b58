"""`unbend demo`: a swiss roll, flattened and measured."""

from __future__ import annotations

import argparse
import json
import sys

__all__ = ["run"]


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from .swiss_roll import record, run

    if options.json:
        found = record(options.n, options.output, echo=lambda line: print(line, file=sys.stderr))
        print(json.dumps(found, allow_nan=False))
    else:
        run(options.n, options.output)
