"""What section V of Zhang, Ren & Zhang (NIEQA) says of its figures, as tests of one draw.

A draw is a table of values: ``values[measure][method]``. The paper shows bars without numbers: `GOOD` and
`MATCHED` say how we look at them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

NAMES = ("LLE", "LE", "LTSA", "Isomap", "RML", "GP", "PSA")
OF_THE_PAPER = NAMES[:4]
ISOMETRIC = ("Isomap", "RML")
GOOD = 0.05
"""M_t below which an embedding has the shape of the truth."""
MATCHED = 0.9
"""The least correlation with M_t, over the embeddings, of a measure whose bars look like those of M_t."""


@dataclass(frozen=True)
class Claim:
    """A sentence of section V, and what must be true of one draw: values of measure, then method."""

    words: str
    holds: Callable
    shows: tuple[str, ...]


def ranks(measure, better, worse):
    """All of `better` have less than all of `worse`."""
    return lambda v: max(v[measure][m] for m in better) < min(v[measure][m] for m in worse)


def likeness(v, measure):
    return np.corrcoef(list(v[measure].values()), list(v["M_t"].values()))[0, 1]


def matches(*measures):
    return lambda v: all(likeness(v, m) >= MATCHED for m in measures)


def fails(*measures):
    return lambda v: all(likeness(v, m) < MATCHED for m in measures)


def false_alarm(measure, *methods):
    """Far worse than the worst isometric embedding, though M_t is small."""
    return lambda v: all(
        v["M_t"][m] < GOOD and v[measure][m] > 2 * max(v[measure][i] for i in ISOMETRIC) for m in methods
    )


def both(*tests):
    return lambda v: all(test(v) for test in tests)


def same_order(*measures):
    """All put the four methods of the paper in the same order."""
    return lambda v: len({tuple(sorted(OF_THE_PAPER, key=v[m].get)) for m in measures}) == 1


IN_ORDER = (
    Claim("M_L ranks LTSA the best of the four", ranks("M_L", ("LTSA",), ("LLE", "LE", "Isomap")), ("M_L",)),
    Claim(
        "in order M_L agrees with M_t: of the four LTSA is the best and LE the worst",
        both(
            *(ranks(m, ("LTSA",), ("LLE", "LE", "Isomap")) for m in ("M_L", "M_t")),
            *(ranks(m, ("LTSA", "LLE", "Isomap"), ("LE",)) for m in ("M_L", "M_t")),
        ),
        ("M_L", "M_t"),
    ),
    Claim("not said: M_L puts all four in the order of M_t", same_order("M_L", "M_t"), ("M_L", "M_t")),
)

CLAIMS = {
    "Swissroll": (
        Claim(
            "LTSA and RML are most like the truth, LE fails",
            both(
                ranks("M_t", ("LTSA", "RML"), ("Isomap", "LLE", "LE")),
                ranks("M_t", ("LTSA", "Isomap"), ("LE",)),
            ),
            ("M_t",),
        ),
        Claim("M_P is falsely high for LTSA", false_alarm("M_P", "LTSA"), ("M_P", "M_t")),
        Claim("M_P is falsely high for LLE (and M_t small)", false_alarm("M_P", "LLE"), ("M_P", "M_t")),
        Claim("M_P^c is falsely high for LTSA", false_alarm("M_P^c", "LTSA"), ("M_P^c", "M_t")),
        Claim("M_LC and M_RV do not match M_t", fails("1 - M_LC", "M_RV"), ("1 - M_LC", "M_RV")),
        Claim(
            "M_RV works for Isomap: the least of the paper's four",
            ranks("M_RV", ("Isomap",), ("LLE", "LE", "LTSA")),
            ("M_RV",),
        ),
        Claim(
            "M_L: LTSA and RML before LLE and Isomap",
            ranks("M_L", ("LTSA", "RML"), ("LLE", "Isomap")),
            ("M_L",),
        ),
        Claim("M_L: LE is the worst", ranks("M_L", ("LTSA", "RML", "LLE", "Isomap"), ("LE",)), ("M_L",)),
        Claim(
            "M_G (k_l = n / 10): LLE is worse than LTSA, RML and Isomap",
            ranks("M_G", ("LTSA", "RML", "Isomap"), ("LLE",)),
            ("M_G",),
        ),
        Claim("the same with k_l = k", ranks("M_G k", ("LTSA", "RML", "Isomap"), ("LLE",)), ("M_G k",)),
        Claim("M_L matches M_t", matches("M_L"), ("M_L", "M_t")),
        Claim("M_G (k_l = n / 10) matches M_t", matches("M_G"), ("M_G", "M_t")),
        Claim("M_G with k_l = k matches M_t", matches("M_G k"), ("M_G k", "M_t")),
        Claim("no other matches M_t", fails("M_P", "M_P^c", "1 - M_LC", "M_RV"), ("M_P^c",)),
        *IN_ORDER,
    ),
    "Swisshole": (
        Claim(
            "LTSA and RML have the least M_t",
            ranks("M_t", ("LTSA", "RML"), ("LLE", "LE", "Isomap")),
            ("M_t",),
        ),
        Claim(f"Isomap fails: M_t above {GOOD}", lambda v: v["M_t"]["Isomap"] > GOOD, ("M_t",)),
        Claim(f"LE fails: M_t above {GOOD}", lambda v: v["M_t"]["LE"] > GOOD, ("M_t",)),
        Claim("M_L matches M_t", matches("M_L"), ("M_L", "M_t")),
        Claim(
            "M_P and M_P^c are falsely high for LTSA",
            both(false_alarm("M_P", "LTSA"), false_alarm("M_P^c", "LTSA")),
            ("M_P", "M_P^c"),
        ),
        Claim("M_LC and M_RV do not match M_t", fails("1 - M_LC", "M_RV"), ("1 - M_LC", "M_RV")),
        *IN_ORDER,
    ),
    "Gaussian": (
        Claim(
            "all but LE learn it: LE has 5 times the M_t of any other",
            lambda v: v["M_t"]["LE"] > 5 * max(v["M_t"][m] for m in NAMES if m != "LE"),
            ("M_t",),
        ),
        Claim(
            "Isomap is a little worse than LLE, LTSA and RML",
            ranks("M_t", ("LLE", "LTSA", "RML"), ("Isomap",)),
            ("M_t",),
        ),
        Claim("M_P is falsely high for LTSA and LLE", false_alarm("M_P", "LTSA", "LLE"), ("M_P",)),
        Claim(
            "M_P^c works: LE alone is above 2 times the others",
            lambda v: v["M_P^c"]["LE"] > 2 * max(v["M_P^c"][m] for m in NAMES if m != "LE"),
            ("M_P^c",),
        ),
        Claim(
            "M_LC is right: LE is the worst, RML the best",
            both(
                ranks("1 - M_LC", tuple(m for m in NAMES if m != "LE"), ("LE",)),
                ranks("1 - M_LC", ("RML",), OF_THE_PAPER),
            ),
            ("1 - M_LC",),
        ),
        Claim("M_RV is wrong: it does not match M_t", fails("M_RV"), ("M_RV",)),
        Claim("M_L matches M_t", matches("M_L"), ("M_L", "M_t")),
        Claim("M_G (k_l = n / 10) matches M_t", matches("M_G"), ("M_G", "M_t")),
        *IN_ORDER,
    ),
    "Faces": tuple(
        Claim(
            f"{measure} says that LLE is the worst",
            ranks(measure, ("LE", "LTSA", "Isomap"), ("LLE",)),
            (measure,),
        )
        for measure in ("1 - M_LC", "M_RV", "M_L")
    )
    + tuple(
        Claim(
            f"{measure} says that LTSA is the best of the four",
            ranks(measure, ("LTSA",), ("LLE", "LE", "Isomap")),
            (measure,),
        )
        for measure in ("1 - M_LC", "M_L")
    )
    + (
        Claim(
            "M_P and M_P^c fail: neither says that LLE is the worst",
            lambda v: not any(ranks(m, ("LE", "LTSA", "Isomap"), ("LLE",))(v) for m in ("M_P", "M_P^c")),
            ("M_P", "M_P^c"),
        ),
    ),
}
