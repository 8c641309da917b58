"""Verdict on an embedding: the evidence, other candidates, and the guard of a refinement."""
