"""Pictures of embeddings and of their measures. Needs matplotlib: ``pip install 'unbend[plot]'``.

Every function takes `ax` and returns the Axes it drew on. Embeddings are drawn with equal aspect, because
they show lengths. The first call imports matplotlib.

Examples
--------
>>> import unbend as ub
>>> X, coordinates = ub.datasets.swiss_roll(300, random_state=0)
>>> ax = ub.plot.embedding(coordinates, X[:, 0])
>>> ax.get_aspect()
1.0
"""

from .circle import correlation_circle
from .curves import r_nx, scree, shepard, versus_k
from .ellipses import uncertainty
from .local import neighborhood, stretch
from .scatter import embedding, error, grid

__all__ = [
    "correlation_circle",
    "embedding",
    "error",
    "grid",
    "neighborhood",
    "r_nx",
    "scree",
    "shepard",
    "stretch",
    "uncertainty",
    "versus_k",
]
