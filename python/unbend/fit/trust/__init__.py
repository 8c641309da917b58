"""Whether an embedding can be trusted: its evidence, other candidates, and the verdict."""
