"""What to choose before a fit: dimension, neighbors, method."""
