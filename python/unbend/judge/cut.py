"""A sentence about the pairs of neighbors that do not count."""

from __future__ import annotations

from ..metrics import Faithfulness

__all__ = ["cut_sentence"]


def cut_sentence(
    n_cut_pairs: int, m: Faithfulness | None, is_cleaned: bool = False, n_outliers: int = 0
) -> str:
    """Return the number of pairs left out, the reason, and R_N with them; empty if there are none.

    They are parted by a cut, or short circuits and the pairs of outliers if `is_cleaned`.
    """
    if n_cut_pairs == 0:
        return ""
    single = n_cut_pairs == 1
    head = "pair of neighbors that" if single else "pairs of neighbors that"
    if is_cleaned:
        outliers = f" or join {'one of ' * (n_outliers > 1)}{n_outliers:,} outlier{'s' * (n_outliers > 1)}"
        why = f"{'is a short circuit' if single else 'are short circuits'}{outliers * (n_outliers > 0)}"
    else:
        why = "the cut parts"
    text = f"{n_cut_pairs:,} {head} {why} {'is' if single else 'are'} left out"
    if m is None or m.whole is None:
        return f"{text}."
    them = "it" if single else "them"
    return f"{text} ({100 * m.cut_share:.3g}% of neighborhoods); with {them} R_N is {m.whole.r_n:.3g}."
