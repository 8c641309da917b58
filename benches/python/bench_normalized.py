"""The normalized family compared with scikit-learn's: whole fits, with neighbors, weights and eigenvectors.

    python benches/python/bench_normalized.py           # --quick: small data, seconds
    python benches/python/bench_normalized.py --repeats 3

A 3-D swiss roll, 12 neighbors, two dimensions. What is found is compared with the truth by its affine
error, the share of the variance of the worse coordinate that no affine map of the embedding explains.
scikit-learn's Hessian LLE solves another problem (it takes a full QR): its time is compared with ours, its
result does not. Ours includes the measures of faithfulness, which scikit-learn does not take.
"""

import argparse
import time
import warnings

import numpy as np
import unbend as ub
from sklearn.manifold import LocallyLinearEmbedding, SpectralEmbedding
from timing import machine, row, spread, use_threads

K = 12
METHODS = {
    "LLE": (ub.LocallyLinearEmbedding, "standard"),
    "MLLE": (ub.ModifiedLLE, "modified"),
    "LTSA": (ub.LTSA, "ltsa"),
    "HLLE": (ub.HessianLLE, "hessian"),
    "LEM": (ub.LaplacianEigenmaps, None),
    "DFM": (ub.DiffusionMaps, None),
}
# Beyond this its default solver takes many minutes.
MOST_FOR_THEIR_LEM = 20_000


def theirs(name, x, jobs):
    """scikit-learn's model, not yet fitted; None where it has none."""
    method = METHODS[name][1]
    if method is not None:
        return LocallyLinearEmbedding(n_neighbors=K, method=method, random_state=0, n_jobs=jobs)
    if name == "LEM" and len(x) <= MOST_FOR_THEIR_LEM:
        return SpectralEmbedding(affinity="nearest_neighbors", n_neighbors=K + 1, random_state=0, n_jobs=jobs)
    return None


def affine_error(y, truth):
    design = np.column_stack([y, np.ones(len(y))])
    left = truth - design @ np.linalg.lstsq(design, truth, rcond=None)[0]
    return (left.var(axis=0) / truth.var(axis=0)).max()


def fitted(model, x):
    """The embedding, the seconds, or what went wrong."""
    start = time.perf_counter()
    failure = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y = model.fit(x).embedding_
    except Exception as error:  # a failure is a result, too
        y, failure = None, str(error).splitlines()[0][:60]
    return y, time.perf_counter() - start, failure


def compare(n, options):
    print(f"### Whole fits: swiss roll, n = {n:,}, k = {K}, best of {options.repeats}\n")
    row(
        "algorithm",
        "ours, s",
        "theirs, s",
        "ours / theirs",
        "in one round",
        "affine error, ours",
        "theirs",
        "largest residual / norm",
    )
    row(":--", *["--:"] * 7)
    x, truth = ub.datasets.swiss_roll(n, random_state=0)
    for name, (kind, _) in METHODS.items():
        seconds, errors, residual = {"ours": [], "theirs": []}, {}, 0.0
        for _ in range(options.repeats):
            ours = kind(n_neighbors=K, n_jobs=options.threads)
            models = {"ours": ours, "theirs": theirs(name, x, options.threads)}
            for who, model in models.items():
                if model is None:
                    continue
                y, took, failure = fitted(model, x)
                seconds[who].append(took)
                errors[who] = failure or f"{affine_error(y, truth):.1e}"
            residual = max(ours.trace_["components"][0]["residuals"][:2])
        best = f"{min(seconds['ours']):.2f}"
        if seconds["theirs"]:
            both = (np.array(seconds[who]) for who in ("ours", "theirs"))
            ratio = spread(*both).split(" | ")
            row(name, best, f"{min(seconds['theirs']):.2f}", *ratio, *errors.values(), f"{residual:.0e}")
        else:
            row(name, best, "", "", "", errors["ours"], "", f"{residual:.0e}")
    print()


def rectified(n, options):
    print(f"### Rectified: swiss roll, n = {n:,}, k = {K}\n")
    row("algorithm", "R_N", "its linear map: R_N / the truth's", "and refined: R_N / the truth's")
    row(":--", *["--:"] * 3)
    x, truth = ub.datasets.swiss_roll(n, random_state=0)
    base = ub.faithfulness(x, truth, K).r_n
    row("the truth", f"{base:.3g}", "1", "1")
    for name, (kind, _) in METHODS.items():
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = [
                kind(n_neighbors=K, rectify=how, n_jobs=options.threads).fit(x).faithfulness_.r_n
                for how in (False, "linear", True)
            ]
        collapsed = any(warning.category is ub.CollapsedWarning for warning in said)
        ratios = ["said to have collapsed", ""] if collapsed else [f"{r / base:.3f}" for r in found[1:]]
        row(name, f"{found[0]:.3g}", *ratios)
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="small data: does everything run?")
    options = parser.parse_args()
    use_threads(options.threads)
    print(machine(options.threads, ("unbend", "numpy", "scipy", "scikit-learn")))
    rectified(1_000 if options.quick else 5_000, options)
    for n in (1_000,) if options.quick else (10_000, 100_000):
        compare(n, options)


if __name__ == "__main__":
    main()
