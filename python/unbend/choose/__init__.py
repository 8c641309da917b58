"""Choices before a fit: dimension, neighbors, method."""
