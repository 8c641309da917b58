"""Seeds for the random streams of the core."""

from __future__ import annotations

import operator
import secrets
from typing import TypeAlias

import numpy as np

RandomState: TypeAlias = "int | np.random.Generator | np.random.RandomState | None"
"""Values that every ``random_state`` argument accepts."""

_SEEDS = 2**64


def seed_from(random_state: RandomState) -> int:
    """Return the seed of the core, from 0 to 2**64 - 1, that ``random_state`` stands for.

    None takes fresh entropy. An int is the seed itself. A generator is drawn from once, so that the next call
    gets another seed.
    """
    if random_state is None:
        return secrets.randbits(64)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, _SEEDS, dtype=np.uint64))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, _SEEDS, dtype=np.uint64))
    try:
        seed = operator.index(random_state)
    except TypeError:
        raise ValueError(
            f"random_state = {random_state!r} is no seed: "
            "None, an int, a numpy Generator or a numpy RandomState is needed"
        ) from None
    if not 0 <= seed < _SEEDS:
        raise ValueError(f"random_state = {seed} is out of range: it must lie between 0 and {_SEEDS - 1}")
    return seed


def generator(random_state: RandomState) -> np.random.Generator:
    """Return a NumPy generator for ``random_state``; a generator is used as it is."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(seed_from(random_state))


def stream(random_state: RandomState, stage: str) -> np.random.Generator:
    """Return a NumPy generator for one stage of a computation.

    Another one than ``numpy.random.default_rng(random_state)``: data are often drawn from the same seed, and
    a random projection whose entries are those of the data themselves is not random.
    """
    return np.random.default_rng([seed_from(random_state), *stage.encode()])
