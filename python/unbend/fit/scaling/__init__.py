"""Scaling of incomplete graphs: coordinates from the distances of some pairs of points."""
