"""All measures of one or several embeddings, and what they say together."""
