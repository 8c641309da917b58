"""A sentence about the pairs of neighbors that a cut parts."""

from __future__ import annotations

from ..metrics import Faithfulness

__all__ = ["cut_sentence"]


def cut_sentence(n_cut_pairs: int, m: Faithfulness | None) -> str:
    """Return the number of pairs left out, and R_N with them, in words; empty if there are none."""
    if n_cut_pairs == 0:
        return ""
    are = (
        "pair of neighbors that the cut parts is"
        if n_cut_pairs == 1
        else "pairs of neighbors that the cut parts are"
    )
    text = f"{n_cut_pairs:,} {are} left out"
    if m is None or m.whole is None:
        return f"{text}."
    them = "it" if n_cut_pairs == 1 else "them"
    return f"{text} ({100 * m.cut_share:.3g} % of neighborhoods); with {them} R_N is {m.whole.r_n:.3g}."
