"""Estimators that take eigenvectors: the normalized family and Isomap."""
