"""How fast the measures of the true coordinates fall as the sample grows, compared with what is proved of them.

    python -m experiments.papers.rates              # --quick stops at 30,000 points

Exponents of the mean radius of a neighborhood, fitted through all sizes, are compared with those of Goldberg
and Ritov (2009). A theorem gives an upper bound, so a larger exponent is no contradiction. It speaks of the
largest radius; the mean is steadier. The fishbowl is conformal to its coordinates, not isometric: there only
R_C is promised to vanish.
"""

import argparse

import numpy as np
import unbend as ub

from benches.python.timing import row

K = 12
MEASURES = {"R": "r", "R_PCA": "r_pca", "R_N": "r_n", "R_C": "r_c"}
PROMISED = {
    "swiss roll": {
        "R": "4 (Theorem 1)",
        "R_PCA": "3 (Theorem 2)",
        "R_N": "2 (Corollary 1)",
        "R_C": "2 (Theorem 3)",
    },
    "fishbowl": {"R_C": "2 (Theorem 3)"},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sizes = (1_000, 3_000, 10_000, 30_000) if options.quick else (1_000, 10_000, 100_000, 1_000_000)
    found = {
        "swiss roll": measure(ub.datasets.swiss_roll, sizes, options.seed),
        "fishbowl": measure(ub.datasets.fishbowl, sizes, options.seed),
    }
    print(f"k = {K}, seed {options.seed}, unbend {ub.__version__}\n")
    row("data", "n", "mean radius", *MEASURES, "lower bound")
    row("---", "--:", "--:", *["--:"] * (len(MEASURES) + 1))
    for name, values in found.items():
        for n, *numbers in zip(sizes, *values.values(), strict=True):
            row(name, n, *(f"{v:.4g}" for v in numbers))
    print("\nExponents of the mean radius:\n")
    row("data", "measure", "fitted", "promised")
    row("---", "---", "--:", "---")
    for name, values in found.items():
        for m in MEASURES:
            slope = np.polyfit(np.log(values["radius"]), np.log(values[m]), 1)[0]
            row(name, m, f"{slope:.2f}", PROMISED[name].get(m, "nothing"))


def measure(draw, sizes, seed):
    values = {name: [] for name in ("radius", *MEASURES, "bound")}
    for n in sizes:
        x, coordinates = draw(n, random_state=seed)
        nb = ub.neighborhoods(x, K)
        m = ub.faithfulness(x, coordinates, neighborhoods=nb)
        values["radius"].append(nb.distances.reshape(n, K)[:, -1].mean())
        values["bound"].append(m.lower_bound)
        for name, attribute in MEASURES.items():
            values[name].append(getattr(m, attribute))
    return values


if __name__ == "__main__":
    main()
