"""Parameters that public functions share with each other and with the estimators."""

from __future__ import annotations

import math

from .kinds import boolean, count, number, optional, positive, seed, threads, verbosity, word_or
from .parameters import entries, table

__all__ = ["FUNCTIONS", "SHARED"]

sample_size = optional(word_or("auto", count()))

SHARED = entries(
    """
    n_neighbors : int, default 12
        Number of nearest neighbors per point, not counting the point itself.
    radius
        Radius of the neighborhoods, in units of the input data. Give it instead of `n_neighbors` to take
        all points up to this distance as neighbors.
    include_self
        If True, each point belongs to its own neighborhood.
    n_jobs
        Number of threads; all cores by default. The result does not depend on it.
    verbose
        1 prints one line for each stage to standard error, with its progress.
    """,
    n_neighbors=optional(count()),
    radius=optional(number(lambda v: 0 < v < math.inf, "above 0 and finite", "a length")),
    include_self=boolean,
    n_jobs=threads,
    verbose=verbosity,
)

FUNCTIONS = table(
    *SHARED,
    *entries(
        """
        X : array-like of shape (n, q)
            Input data, one point per row.
        Y : array-like of shape (n, d)
            Embedding of X, one point per row, from any tool.
        neighborhoods : Neighborhoods
            Neighborhoods of X, if they are already computed. Give them instead of `n_neighbors` or
            `radius` to save the search.
        coordinates : array-like of shape (n, p)
            True coordinates of the points, if they are known. They add the measure M_t.
        n_centers
            Number of neighborhoods to measure, as a random sample; all by default. Means over a sample have
            a standard error, which falls as the sample grows. "auto" takes a sample large enough for
            `half_width`, or all neighborhoods if that is more than half of them.
        half_width
            With n_centers="auto", maximum half width of the 95 % confidence intervals of the means. Lower it
            for more exact means, at the price of a larger sample.
        n_sources
            Number of points from which shortest paths are computed, as a random sample. By default all of
            up to 4,472 points, and 20,000,000 / n of more, but at least 50.
        n_pairs
            Number of pairs of points whose straight distances are compared, as a random sample of at least
            1,024. By default all pairs of up to 2,000 points, and 1,000,000 pairs of more.
        random_state
            Seed or generator for the random samples. With an int, each call measures the same samples.
        sample_weight : array-like of shape (n,)
            Weight of the neighborhood of each point in the means over points, above 0; only their ratios
            count. All count equally by default.
        per_point
            If True, return the value of each neighborhood instead of their mean.
        """,
        n_centers=sample_size,
        half_width=positive,
        n_sources=optional(count()),
        n_pairs=optional(count()),
        random_state=seed,
        per_point=boolean,
    ),
    quality=entries(
        """
        n_centers
            Number of points to measure, as a random sample. "auto" takes a sample large enough for
            `half_width`. By default all of up to 100,000 points are measured, and "auto" applies to more.
        cut : array-like of shape (m, 2)
            Pairs of neighbors that a cut parts, such as `cut_pairs_` of an estimator, which is the default if
            you give a fitted estimator. They do not count as neighbors, so the measures tell how faithful the
            sheet between the cuts is. Measures that count them are returned as well, as `whole`. Give an
            empty list to measure a fitted estimator on all neighborhoods only.
        cuts : mapping of str to array-like of shape (m, 2)
            Pairs of neighbors that the cut of each embedding parts, by the names of the embeddings; those of
            fitted estimators are known. Each embedding is measured without the pairs of its own cut, but
            ranked with all pairs: see :class:`Comparison`.
        """,
        n_centers=sample_size,
    ),
)
