"""All measures of one or several embeddings, and the verdict from them."""
