"""Embeddings by eigenvectors: the normalized family, and scaling of distances along the graph."""
