"""A page that shows embeddings beside each other: one file, which needs nothing else to be looked at."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..core.arrays import as_points
from ..core.progress import Progress
from ..core.random import seed_from
from ..graph.neighbors import Neighborhoods
from ..judge.comparison import BY, Comparison, clouds, named, ordered
from ..judge.context import MeasureContext
from ..judge.quality import wrapped
from ..metrics.sampling import HALF_WIDTH, NCenters

__all__ = ["Report", "report"]

SUFFIXES = (".html", ".htm")


@dataclass(frozen=True, eq=False)
class Report:
    """What a report was made of, and where it is.

    Attributes
    ----------
    path : Path
        The page.
    comparison : Comparison
        The numbers in it, as :func:`unbend.compare` returns them.
    n_drawn : int
        How many of the points it shows.

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
        """Return what the page says first, and where it is."""
        from .page import summary

        return "\n".join([*wrapped(summary(self.comparison)), str(self.path)])


def report(
    X: Any,
    embeddings: Mapping[str, Any] | Sequence[Any],
    path: str | os.PathLike[str] = "report.html",
    *,
    labels: Any = None,
    images: Any = None,
    values: Mapping[str, Any] | None = None,
    seams: Mapping[str, Any] | None = None,
    title: str | None = None,
    measures: Any = "all",
    n_neighbors: int | None = None,
    by: str = BY,
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

    The page is one HTML file that works without a network: what the numbers say, a table of them with
    intervals, and every embedding as a picture to pan and zoom, coloured by the error of each point. The
    point under the pointer shows its true neighbours, in all pictures; points selected in one are selected
    in all. Below is what is needed to compute the same again. Needs ``pip install 'unbend[report]'``.

    Up to 200,000 points are drawn; of more, as many, at random. Measured are all, as by :func:`compare`.

    Parameters
    ----------
    X : array-like of shape (n, q)
        The data.
    embeddings : mapping of str to array-like of shape (n, d), or sequence of them
        The embeddings, from any tools, or fitted estimators. Of more than three coordinates the first three
        can be looked at.
    path : str or path-like, default "report.html"
        Where the page shall be. The folder must exist. It appears whole or not at all.
    labels : sequence of length n, optional
        What each point is called: shown as text, and as colours if there are at most 20 different ones.
    images : array-like of shape (n, height, width) or (n, height, width, 3), optional
        A picture of each point, grey or in colour. Whole numbers from 0 to 255 are shown as they are,
        others from their smallest to their largest. Large ones are made smaller.
    values : mapping of str to array-like of shape (n,), optional
        Numbers of each point by which it can be coloured.
    seams : mapping of str to list of Seam, optional
        The seams of embeddings that were cut open, by the names of these; those of fitted estimators are
        known. Their two sides are shown in one colour.
    title : str, optional
        What the page is called.
    measures, n_neighbors, by
        As for :func:`compare`; `by` orders the embeddings, and colours them if it is a mean over points.
    radius, neighborhoods, coordinates, n_centers, half_width, n_sources, n_pairs, n_jobs
        As for :func:`compare`.
    random_state : int, Generator or RandomState, optional
        Which points, sources and pairs are drawn. The seed is in the page.
    verbose : int, default 0
        1 shows a line for each stage on standard error.
    force : bool, default True
        Whether to replace a file that is there already.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        If what is given does not belong together, as for :func:`compare`, or the file cannot be written.
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
    from ..files.tables import check_target, write_atomically
    from .page import import_bokeh, write
    from .scene import Scene, sewn

    import_bokeh()
    check_target(path, force=force, suffixes=SUFFIXES)
    x, given, seed = as_points(X), named(embeddings), seed_from(random_state)
    cut = sewn(given, seams, len(x))
    scene = Scene.of(len(x), seed, labels=labels, images=images, values=values, seams=cut)
    settings: dict[str, Any] = {
        "n_centers": n_centers,
        "half_width": half_width,
        "n_sources": n_sources,
        "n_pairs": n_pairs,
    }
    watch = Progress(verbose)
    with watch.stage("neighbours"):
        survey = MeasureContext.of(
            x,
            clouds(given),
            measures,
            n_neighbors,
            merits=[by],
            radius=radius,
            neighborhoods=neighborhoods,
            coordinates=coordinates,
            random_state=seed,
            n_jobs=n_jobs,
            **settings,
        )
    settings |= {"measures": measures, "by": by, "random_state": seed}
    settings |= {"n_neighbors": survey.graph.n_neighbors} if radius is None else {"radius": radius}
    found = ordered(survey, by, watch)
    with watch.stage("page"):
        page = scene.shown(survey, found)
        called = title or "Embeddings compared"
        where = write_atomically(
            path, lambda file: write(file, called, page, found, survey, settings), force=force
        )
    return Report(where, found, len(scene.drawn))
