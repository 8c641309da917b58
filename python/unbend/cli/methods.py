"""Methods of `unbend embed`: the estimator that the options describe, and its results in words."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from typing import Any

import unbend as ub

from ..choose.methods import NORMALIZED
from .options import UsageError
from .words import shows_progress

__all__ = ["METHODS", "error_in_words", "estimator", "in_words", "record"]

METHODS = {
    "psa": "ProcrustesAlignment",
    "gp": "GreedyProcrustes",
    "isomap": "Isomap",
    "classical": "ClassicalScaling",
    "pca": "PCA",
    "random": "RandomProjection",
    **NORMALIZED,
}
"""The class of each method."""

IN_WORDS: dict[str, Callable[[Any], str]] = {
    "ProcrustesAlignment": lambda model: f"Procrustes subspaces alignment ({model.alignment_})",
    "GreedyProcrustes": lambda model: (
        f"greedy Procrustes ({'one start' if model.n_init == 1 else f'best of {model.n_init} starts'})"
    ),
    "Isomap": lambda model: (
        "conformal " * model.conformal + "Isomap" + _landmarks(model, model.landmark_distances_ is not None)
    ),
    "ClassicalScaling": lambda model: (
        "classical scaling" + _landmarks(model, len(model.landmarks_) < len(model.embedding_))
    ),
    "PCA": lambda model: (
        f"principal components ({model.explained_variance_ratio_.sum():.1%} of the variance)"
    ),
    "RandomProjection": lambda model: f"random projection ({model.kind}, distortion {model.distortion_:.3g})",
    "LocallyLinearEmbedding": lambda model: f"locally linear embedding ({model.weights})",
    "ModifiedLLE": lambda model: "modified locally linear embedding",
    "LTSA": lambda model: "local tangent space alignment",
    "HessianLLE": lambda model: "Hessian LLE",
    "LaplacianEigenmaps": lambda model: f"Laplacian eigenmaps ({model.kernel} kernel)",
    "DiffusionMaps": lambda model: f"diffusion maps ({model.kernel} kernel)",
}
"""The name of each algorithm, with the choices that matter."""


RECORDED = (
    *("n_neighbors", "tangent_neighbors", "n_iter"),
    *("orientable", "closed", "euler_characteristic", "surface"),
)
RECORDED_OF = {
    "ProcrustesAlignment": ("alignment",),
    "Isomap": ("residual_variance", "reconstruction_error"),
    "ClassicalScaling": ("eigenvalues",),
    "PCA": ("explained_variance", "explained_variance_ratio"),
    "RandomProjection": ("distortion", "distortion_share"),
    **dict.fromkeys(NORMALIZED.values(), ("eigenvalues",)),
}
"""Attributes of fitted estimators that --json prints: of all that have them, and of single algorithms."""


def estimator(options: argparse.Namespace) -> Any:
    """Return the estimator that the options describe."""
    if options.method == "classical" and options.landmarks == "auto":
        raise UsageError("--landmarks auto goes with --method isomap only: give a number")
    known = {
        "n_components": options.dimensions,
        "n_neighbors": options.neighbors,
        "alignment": options.alignment,
        "n_init": options.init,
        "n_landmarks": options.landmarks,
        "tangent_neighbors": options.tangent_neighbors,
    }
    known = {name: value for name, value in known.items() if value is not None} | {
        "refine": None if options.refine == "none" else options.refine,
        "cut": {"auto": "auto", "yes": True, "no": False}[options.cut],
        "rectify": options.rectify,
        "random_state": options.seed,
        "n_jobs": options.jobs,
        "verbose": shows_progress(options),
    }
    made = getattr(ub, METHODS[options.method])
    return made(
        **{name: value for name, value in known.items() if name in inspect.signature(made).parameters}
    )


def in_words(model: Any) -> str:
    """Return the name of the algorithm, with the choices that matter."""
    return IN_WORDS[type(model).__name__](model)


def _landmarks(model: Any, some: bool) -> str:
    return f" from {len(model.landmarks_):,} landmarks" if some else ""


def record(model: Any) -> dict[str, Any]:
    """Return the results of the algorithm, ready for JSON."""
    method = type(model).__name__
    names = (*RECORDED, *RECORDED_OF.get(method, ()))
    values = {name: getattr(model, f"{name}_") for name in names if hasattr(model, f"{name}_")}
    entries = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in values.items()}
    if hasattr(model, "component_labels_"):
        entries["n_connected_components"] = int(model.component_labels_.max()) + 1
    if hasattr(model, "refinement_"):
        entries["refine"] = model.refine
        entries["refine_status"] = model.refinement_ and model.refinement_.status
    if hasattr(model, "surface_"):
        entries["n_cut_pairs"], entries["n_seams"] = len(model.cut_pairs_), len(model.seams_)
    if method == "ProcrustesAlignment":
        entries["n_open_loops"] = len(model.loops_)
        traces = model.trace_.items()
        entries["alignments"] = {
            name: {key: value for key, value in trace.items() if key != "trace"} for name, trace in traces
        }
    elif method == "Isomap":
        entries["n_landmarks"] = len(model.landmarks_)
    elif method == "ClassicalScaling":
        entries["eigenvalues"] = entries["eigenvalues"][: model.n_components]
    elif method in NORMALIZED.values():
        entries["rectified"] = model.rectify
    return entries


def error_in_words(model: Any, inverse: bool) -> str:
    """Return the meaning of the errors of `transform`, or of its inverse."""
    name = type(model).__name__
    if name in ("PCA", "RandomProjection"):
        return "distance to the given image" if inverse else "distance between a point and its reconstruction"
    if name == "Isomap" and not inverse:
        return "of the geodesic distances to a point"
    unit = "embedding" if name in NORMALIZED.values() and not inverse else "data"
    return f"of the neighbors of a point, in units of the {unit}"
