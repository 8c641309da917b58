"""Embeddings as values: from a problem and settings to an embedding."""
