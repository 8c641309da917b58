"""Kinds of values that the parameters of both algorithms accept, by their names."""

from __future__ import annotations

from ...core.kinds import (
    Kind,
    choice,
    count,
    non_negative,
    number,
    optional,
    seed,
    settings,
    share,
)

__all__ = ["KINDS"]

anything = Kind("")  # The core checks these settings when it uses them.

KINDS = {
    "n_init": count(),
    "tangent": choice("neighborhood", "overlap", "paper"),
    "tangent_neighbors": optional(count()),
    "start": optional(count(least=0)),
    "alignment": choice("auto", "tree", "spectral", "projection", "anneal", "paper"),
    "annealing": optional(
        settings(
            start=choice("random", "tree", "greedy"),
            acceptance=anything,
            accepted=count(),
            tried=count(),
            cooling=anything,
            anew=anything,
            enough=anything,
            rounds=count(),
        )
    ),
    "overlap_penalty": non_negative,
    "solve_tol": non_negative,
    "refine": choice("auto", "global", "pointwise", "paper", None),
    "objective": choice("R_N", "R"),
    "refine_max_iter": count(least=0),
    "refine_tol": number(lambda v: v >= 0, "at least 0"),
    "neighbors_method": choice("auto", "exact", "approximate"),
    "neighbors_recall": share,
    "cut": choice("auto", True, False),
    "candidates": choice("auto", True, False),
    "random_state": seed,
}
