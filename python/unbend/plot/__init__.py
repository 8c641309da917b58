"""Pictures of embeddings and of what was measured of them. Needs matplotlib: ``pip install 'unbend[plot]'``.

Every function returns the Axes it drew on and takes `ax`. Embeddings are drawn with equal aspect, since
lengths are what they show. matplotlib is imported by the first call.
"""

from .curves import r_nx, scree, shepard, versus_k
from .local import neighborhood, stretch
from .scatter import correlation_circle, embedding, error, grid

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
    "versus_k",
]
