"""A page that shows embeddings side by side, in one file that needs no other."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..core.arrays import as_points
from ..core.notebook import Bold, as_html
from ..core.parameters import documented
from ..core.progress import Progress
from ..core.random import seed_from
from ..core.shared_parameters import FUNCTIONS
from ..graph.neighbors import Neighborhoods
from ..judge.comparison import Comparison, by_name, demanded, ordered
from ..judge.context import MeasureContext
from ..judge.quality import wrapped
from ..metrics.sampling import HALF_WIDTH, NCenters, Sampling

__all__ = ["Report", "report"]

SUFFIXES = (".html", ".htm")


@dataclass(frozen=True, eq=False)
class Report:
    """A report that was written.

    Attributes
    ----------
    path : Path
        The page.
    comparison : Comparison
        The numbers in it, as :func:`unbend.compare` returns them.
    n_drawn : int
        Number of points that it shows.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(500, random_state=0)
    >>> found = ub.report(X, {"truth": coordinates, "shadow": X[:, :2]}, "roll.html")
    >>> found.path.name, list(found.comparison), found.n_drawn
    ('roll.html', ['truth', 'shadow'], 500)
    """

    path: Path
    comparison: Comparison = field(repr=False)
    n_drawn: int

    def __str__(self) -> str:
        """Return the summary of the page, the pairs that cuts leave out, and its path."""
        from .page import summary

        cuts = {name: quality.cut_sentence for name, quality in self.comparison.items()}
        lines = [line for name, text in cuts.items() if text for line in wrapped(f"{name}: {text}")]
        return "\n".join([*wrapped(summary(self.comparison)), *lines, str(self.path)])

    def _repr_html_(self) -> str:
        """Return the summary and the path of the page for a notebook."""
        from .page import summary

        return as_html(summary(self.comparison), Bold(self.path))


@documented(FUNCTIONS, scopes=["quality"])
def report(
    X: Any,
    embeddings: Mapping[str, Any] | Sequence[Any],
    path: str | os.PathLike[str] = "report.html",
    *,
    labels: Any = None,
    images: Any = None,
    values: Mapping[str, Any] | None = None,
    seams: Mapping[str, Any] | None = None,
    cuts: Mapping[str, Any] | None = None,
    title: str | None = None,
    measures: Any = "all",
    n_neighbors: int | None = None,
    by: str | None = None,
    radius: float | None = None,
    neighborhoods: Neighborhoods | None = None,
    coordinates: Any = None,
    n_centers: NCenters = None,
    half_width: float = HALF_WIDTH,
    n_sources: int | None = None,
    n_pairs: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    force: bool = True,
) -> Report:
    """Measure several embeddings of the same data and write a page that shows them.

    The page is one HTML file that works without a network. It shows a verdict on each embedding, a table of
    measures with intervals, and every embedding as a picture to pan and zoom, colored by the error of each
    point. The point under the pointer shows its true neighbors in all pictures; points selected in one are
    selected in all. At the bottom are the arguments that compute the same page again. Needs
    ``pip install 'unbend[report]'``.

    Up to 200,000 points are drawn; above, a random sample of that size is. All points are measured, as in
    :func:`compare`.

    Parameters
    ----------
    embeddings : mapping of str to array-like of shape (n, d), or sequence of them
        The embeddings, from any tools, or fitted estimators, which also bring their cuts as in
        :func:`compare`. The page shows the first three coordinates.
    path : str or path-like, default "report.html"
        Path of the page. The folder must exist. The page is written as a whole or not at all.
    labels : sequence of length n, optional
        Name of each point: shown as text, and as colors if there are at most 20 different ones.
    images : array-like of shape (n, height, width) or (n, height, width, 3), optional
        Picture of each point, gray or in color. Whole numbers from 0 to 255 are shown as they are, others from
        their smallest to their largest. Large pictures are made smaller.
    values : mapping of str to array-like of shape (n,), optional
        Numbers of each point by which it can be colored.
    seams : mapping of str to list of Seam, optional
        Seams of embeddings that were cut open, by the names of the embeddings; those of fitted estimators are
        known. Their two sides have the same color.
    title : str, optional
        Title of the page.
    measures : "all" or sequence of str
        Names of measures or of their families, as for :func:`quality`.
    by : str, optional
        The measure that orders the embeddings, and colors them if it is a mean over points.
    random_state : int, Generator or RandomState, optional
        Seed of all random samples. It is written on the page.
    force : bool, default True
        If True, replace an existing file.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        If arguments do not fit together, as for :func:`compare`, or the file cannot be written.
    ImportError
        If bokeh is not installed.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(500, random_state=0)
    >>> turn = ["inner" if arc < 40 else "outer" for arc, _ in coordinates]
    >>> ub.report(X, {"truth": coordinates, "shadow": X[:, :2]}, "roll.html", labels=turn).path.name
    'roll.html'
    """
    # They are slow to import, and needed only here.
    from ..files.tables import check_target, write_atomically
    from .page import import_bokeh, write
    from .scene import Scene, seams_by_name

    import_bokeh()
    check_target(path, force=force, suffixes=SUFFIXES)
    x, named, seed = as_points(X), by_name(embeddings), seed_from(random_state)
    sampling = Sampling(n_centers, half_width, n_sources, n_pairs, seed, n_jobs)
    drawn = seams_by_name(named, seams, len(x))
    scene = Scene.of(len(x), seed, labels=labels, images=images, values=values, seams=drawn)
    progress = Progress(verbose)
    with progress.stage("neighbors"):
        context = MeasureContext.of(
            x, named, measures, n_neighbors, radius, neighborhoods, coordinates, sampling, demanded(by), cuts
        )
    k = context.graph.n_neighbors if radius is None else None
    names = ("n_centers", "half_width", "n_sources", "n_pairs", "random_state")
    settings = {"measures": measures, "by": by, "n_neighbors": k, "radius": radius}
    settings |= {name: getattr(sampling, name) for name in names}
    settings = {name: value for name, value in settings.items() if value is not None}
    comparison = ordered(context, by, progress)
    with progress.stage("page"):
        page = scene.shown(context, comparison, by)
        called = title or "Embeddings compared"
        where = write_atomically(
            path, lambda file: write(file, called, page, comparison, context, settings), force=force
        )
    return Report(where, comparison, len(scene.drawn))
