"""The experiments of Zhang, Ren & Zhang (NIEQA), section III-A (Fig. 1) and section V (Figs. 2 to 8).

    python -m experiments.papers.nieqa --quick           # 3 draws: a minute
    python -m experiments.papers.nieqa                   # 20 draws: some minutes
    python -m experiments.papers.nieqa --data FOLDER     # also faces, 5 draws: as long again
    python -m experiments.papers.nieqa --markdown nieqa.md --figures FOLDER
    python -m experiments.papers.nieqa --data FOLDER --only Faces --figures FOLDER    # Figs. 5 and 7

The FOLDER of --data holds frey_faces.npz (X, 1965 x 560), the faces that the paper calls l1eface.

Every data set is drawn several times, and each claim of the paper is looked at in every draw: a table shows
medians, a claim the share of draws in which it holds. The paper shows one draw and bar plots without numbers,
so claims are words, and the numbers by which they are judged here are ours (`GOOD`, `MATCHED`).

What differs from the paper: it took the authors' programs; here LLE, LTSA and Isomap are scikit-learn's, and
LE is its spectral embedding of the graph with equal weights. RML is ours, written from its outline, and GP and
PSA are compared with it. The range of u1 is not printed: 1.5 pi to 4.5 pi is taken, and 0 to 21 for u2. Their
equation is even in the angle u1, which is not arc length, so the roll is not isometric to (u1, u2): M_t is as
printed, and "M_t arc" to the coordinates to which it is. M_G is measured with k_l = n / 10 neighbors as they
advise, and with k_l = k ("M_G k"): the 100 nearest of 1000 points reach from one turn of this roll to the next.

Neighborhoods do not hold the point itself.
"""

import argparse
import sys
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import unbend as ub
from scipy.stats import spearmanr

from benches.python.timing import machine, use_threads
from experiments.papers.local_procrustes import Report
from experiments.papers.nieqa_claims import CLAIMS, GOOD, likeness

N, K = 1000, 10
FACES, FACE_K = 1493, 15
SIZES = tuple(range(5, 25))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--data", metavar="FOLDER", type=Path, help="where frey_faces.npz is")
    parser.add_argument("--draws", type=int, default=20, help="how often each data set is drawn")
    parser.add_argument("--quick", action="store_true", help="3 draws")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="write the tables there as well")
    parser.add_argument("--figures", metavar="FOLDER", type=Path, help="draw Figs. 1 to 8 there")
    parser.add_argument("--only", choices=["Faces"], help="leave the other data sets out")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    use_threads(options.threads)
    draws = 3 if options.quick else options.draws
    report = Report(options.markdown)
    report(machine(options.threads, ("unbend", "numpy", "scipy", "scikit-learn")))
    outcomes, chosen = {}, {}
    if options.only != "Faces":
        figure_1(draws, report)
        sources = {"Swissroll": swissroll, "Swisshole": swisshole, "Gaussian": gaussian}
        landmarks(draws, report)
        outcomes |= {name: evaluate(name, draw, draws, report) for name, draw in sources.items()}
        chosen["Swissroll"] = select(swissroll, "Swissroll", draws, report)
    faces = read_faces(options.data, report)
    if faces is not None:
        few = max(2, draws // 4)
        outcomes["Faces"] = evaluate("Faces", faces, few, report)
        chosen["Faces"] = select(faces, "Faces", few, report)
    report.save()
    if options.figures:
        from experiments.papers.nieqa_figures import draw_all

        draw_all(outcomes, chosen, options.figures)


# Data ----------------------------------------------------------------------------------------------------


@dataclass
class Sample:
    """One draw of a data set: x, the parameters of the paper, and those to which it is isometric."""

    x: np.ndarray
    k: int
    u: np.ndarray | None = None
    arc: np.ndarray | None = None
    globally: bool = True
    """Whether the paper computes M_G."""

    @cached_property
    def near(self):
        return ub.neighborhoods(self.x, self.k)


def swissroll(seed):
    return rolled(np.random.default_rng(seed).uniform(size=(N, 2)))


def swisshole(seed):
    """The middle third of the angle times the middle third of the height is dug out."""
    points = np.random.default_rng(seed).uniform(size=(3 * N, 2))
    outside = (abs(points - 0.5) > 1 / 6).any(axis=1)
    sample = rolled(points[outside][:N])
    sample.globally = False
    return sample


def rolled(unit):
    angle, height = 1.5 * np.pi * (1 + 2 * unit[:, 0]), 21 * unit[:, 1]
    x = np.stack([angle * np.cos(angle), height, angle * np.sin(angle)], axis=1)
    arc = (angle * np.hypot(1, angle) + np.arcsinh(angle)) / 2
    return Sample(x, K, np.stack([angle, height], axis=1), np.stack([arc, height], axis=1))


def gaussian(seed):
    x, u = ub.datasets.gaussian_bump(N, random_state=seed)
    return Sample(x, K, u)


def read_faces(folder, report):
    """What draws faces, if they are there."""
    if folder is None or not (folder / "frey_faces.npz").exists():
        report("Faces are skipped: give the folder that holds frey_faces.npz with --data.\n")
        return None
    with np.load(folder / "frey_faces.npz") as arrays:
        everything = arrays["X"].astype(float)

    def draw(seed):
        rng = np.random.default_rng(seed)
        while True:
            sample = Sample(rng.permutation(everything)[:FACES], FACE_K, globally=False)
            if sample.near.n_connected_components == 1:
                return sample

    return draw


# Measures ------------------------------------------------------------------------------------------------


MEASURES = {
    "M_P": lambda s, y: local(s, y, "R_N"),
    "M_P^c": lambda s, y: local(s, y, "R_C"),
    "1 - M_LC": lambda s, y: 1 - ub.metrics.q_nx(s.x, y, neighborhoods=s.near),
    "M_RV": lambda s, y: ub.metrics.residual_variance(s.x, y, neighborhoods=s.near),
    "M_L": lambda s, y: ub.metrics.nieqa_local(s.x, y, neighborhoods=s.near, include_self=False),
    "M_G": lambda s, y: m_g(s, y, "paper"),
    "M_G k": lambda s, y: m_g(s, y, s.k),
    "M_t": lambda s, y: None if s.u is None else ub.metrics.nieqa_truth(y, s.u),
    "M_t arc": lambda s, y: None if s.arc is None else ub.metrics.nieqa_truth(y, s.arc),
}


def m_g(s, y, k):
    return ub.metrics.nieqa_global(s.x, y, landmark_neighbors=k) if s.globally else None


def local(s, y, kind):
    return ub.metrics.procrustes(s.x, y, neighborhoods=s.near, include_self=False, kind=kind)


# Methods -------------------------------------------------------------------------------------------------


def linear(method):
    from sklearn.manifold import LocallyLinearEmbedding

    def embed(s, k):
        model = LocallyLinearEmbedding(n_neighbors=k, n_components=2, method=method, eigen_solver="dense")
        return model.fit_transform(s.x)

    return embed


def eigenmaps(s, k):
    from sklearn.manifold import SpectralEmbedding

    ones = ub.Neighborhoods(ub.neighborhoods(s.x, k).indices, n_neighbors=k).symmetrized().to_graph()
    return SpectralEmbedding(2, affinity="precomputed", random_state=0).fit_transform(ones)


def isomap(s, k):
    from sklearn.manifold import Isomap

    return Isomap(n_neighbors=k, n_components=2).fit_transform(s.x)


METHODS = {
    "LLE": linear("standard"),
    "LE": eigenmaps,
    "LTSA": linear("ltsa"),
    "Isomap": isomap,
    "RML": lambda s, k: ub.RiemannianLearning(2, k).fit(s.x).embedding_,
    "GP": lambda s, k: ub.GreedyProcrustes(2, k, candidates=False, random_state=0).fit(s.x).embedding_,
    "PSA": lambda s, k: ub.ProcrustesAlignment(2, k, candidates=False, random_state=0).fit(s.x).embedding_,
}


def embedded(method, s, k):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return METHODS[method](s, k)


# Model evaluation ----------------------------------------------------------------------------------------


@dataclass
class Outcome:
    """The first draw with its embeddings, and the values of all draws."""

    sample: Sample
    embeddings: dict
    values: list


def evaluate(name, draw, draws, report):
    outcome = None
    for seed in range(draws):
        print(f"{name}: draw {seed + 1} of {draws}", file=sys.stderr, flush=True)
        sample = draw(seed)
        embeddings = {method: embedded(method, sample, sample.k) for method in METHODS}
        outcome = outcome or Outcome(sample, embeddings, [])
        outcome.values.append(measured(sample, embeddings))
    first = outcome.sample
    n, q = first.x.shape
    bound = ub.metrics.lower_bound(first.x, 2, neighborhoods=first.near, include_self=False)
    report(f"### {name}: n = {n}, q = {q}, k = {first.k}, medians of {draws} draws\n")
    report(f"No embedding in the plane has M_P, M_P^c or M_L below {bound:.4f} (first draw).\n")
    report.table(list(table(outcome.values)))
    report.table(list(verdicts(CLAIMS[name], outcome.values)))
    return outcome


def measured(sample, embeddings):
    values = {m: {name: of(sample, y) for name, y in embeddings.items()} for m, of in MEASURES.items()}
    return {m: v for m, v in values.items() if None not in v.values()}


def median(values, measure, method):
    return np.median([v[measure][method] for v in values])


def table(values):
    """One row a measure, one column a method, and how much its bars are like those of M_t."""
    known = "M_t" in values[0]
    yield ["", *METHODS, "correlation with M_t"] if known else ["", *METHODS]
    for measure in values[0]:
        cells = [f"{median(values, measure, method):.4f}" for method in METHODS]
        like = [f"{np.median([likeness(v, measure) for v in values]):.2f}"] if known else []
        yield [measure, *cells, *like]


def verdicts(claims, values):
    yield ["the paper says", "", "draws", f"medians: {', '.join(METHODS)}"]
    for claim in claims:
        share = np.mean([claim.holds(v) for v in values])
        said = "holds" if share > 0.5 else "does not hold"
        yield [claim.words, said, f"{share:.0%}", "; ".join(shown(values, m) for m in claim.shows)]


def shown(values, measure):
    return f"{measure} " + " ".join(f"{median(values, measure, m):.3f}" for m in METHODS)


# Fig. 1 --------------------------------------------------------------------------------------------------


def figure_1(draws, report):
    """100 points of [-2, 2] x [-1, 1], made to have Y'Y = I."""
    report(f"### Fig. 1: 100 points and their normalized coordinates, {draws} draws\n")
    rows = [["", "paper", "median", "least", "most"]]
    found = [normalized(seed)[2] for seed in range(draws)]
    for name, printed in (("M_P", "0.8054"), ("neighbors of the origin kept", "0.6"), ("ASIM", "-")):
        values = [numbers[name] for numbers in found]
        rows.append([name, printed, *(f"{f(values):.4g}" for f in (np.median, np.min, np.max))])
    report.table(rows)


def normalized(seed):
    x = np.random.default_rng(seed).uniform([-2, -1], [2, 1], size=(100, 2))
    x -= x.mean(axis=0)
    y = np.linalg.svd(x, full_matrices=False)[0]
    all_of_it = ub.neighborhoods(x, 99)
    kept = np.intersect1d(*(np.argsort(np.linalg.norm(points, axis=1))[:10] for points in (x, y)))
    m_p = ub.metrics.procrustes(x, y, neighborhoods=all_of_it)
    return x, y, {"M_P": m_p, "neighbors of the origin kept": len(kept) / 10, "ASIM": ub.metrics.asim(x, y)}


# M_G -----------------------------------------------------------------------------------------------------


def landmarks(draws, report):
    """M_G of the truth on graphs of different k_l: 0 but for what landmarks, scaling and a hole lose."""
    report(f"### M_G of the true coordinates by k_l, least to most of {draws} draws, n = {N}\n")
    sizes = {"8": 8, "10": 10, "12": 12, "20": 20, "n / 10": "paper"}
    rows = [["", *sizes]]
    rolls = {
        "the paper's roll": swissroll,
        "ub.datasets.swiss_roll": our_roll,
        "the same with a hole": lambda seed: our_roll(seed, hole=True),
    }
    for name, draw in rolls.items():
        found = [[truth_by(draw(seed), k) for k in sizes.values()] for seed in range(draws)]
        rows.append([name, *(f"{min(m):.4f} to {max(m):.4f}" for m in zip(*found, strict=True))])
    report.table(rows)


def our_roll(seed, hole=False):
    x, coordinates = ub.datasets.swiss_roll(N, hole=hole, random_state=seed)
    return Sample(x, K, coordinates, coordinates)


def truth_by(sample, k):
    return ub.metrics.nieqa_global(sample.x, sample.arc, landmark_neighbors=k)


# Model selection -----------------------------------------------------------------------------------------

SELECTING = ("M_L", "M_G", "M_G k", "M_t", "M_t arc")


@dataclass
class Selection:
    """Measures of LTSA for every k, one row a draw, and the embeddings of the first draw."""

    sample: Sample
    embeddings: list
    curves: dict


def select(draw, name, draws, report):
    """LTSA with k = 5 to 24; M_L is measured at the k of the data set, and at that of LTSA ("own k")."""
    first, runs = None, []
    for seed in range(draws):
        print(f"LTSA, {name}: draw {seed + 1} of {draws}", file=sys.stderr, flush=True)
        sample = draw(seed)
        embeddings = [embedded("LTSA", sample, k) for k in SIZES]
        first = first or (sample, embeddings)
        runs.append([selecting(sample, y, k) for y, k in zip(embeddings, SIZES, strict=True)])
    names = [m for m, value in runs[0][0].items() if value is not None]
    curves = {m: np.array([[values[m] for values in run] for run in runs]) for m in names}
    report(f"### Fig. 8, {name}: LTSA by k, medians of {draws} draws\n")
    report.table(list(by_size(curves)))
    report.table(list(chosen_sizes(curves)))
    report("\n".join(said_of_sizes(name, curves)) + "\n")
    return Selection(*first, curves)


def selecting(sample, y, k):
    near = ub.neighborhoods(sample.x, k)
    own = ub.metrics.nieqa_local(sample.x, y, neighborhoods=near, include_self=False)
    return {"M_L own k": own, **{name: MEASURES[name](sample, y) for name in SELECTING}}


def by_size(curves):
    yield ["k", *curves]
    for j, k in enumerate(SIZES):
        yield [str(k), *(f"{np.median(curve[:, j]):.4f}" for curve in curves.values())]


def chosen_sizes(curves):
    """Which k each measure takes, and what that costs in M_t."""
    truth = curves.get("M_t")
    known = [] if truth is None else ["M_t there", "least M_t", "rank correlation with M_t"]
    yield ["chosen by", "median k", "from", "to", "in 6 to 15", *known]
    for name, curve in curves.items():
        best = curve.argmin(axis=1)
        sizes = np.array(SIZES)[best]
        within = np.mean((sizes >= 6) & (sizes <= 15))
        cells = [name, f"{np.median(sizes):g}", str(sizes.min()), str(sizes.max()), f"{within:.0%}"]
        if truth is not None:
            there = truth[np.arange(len(best)), best]
            cells += [f"{np.median(there):.4f}", f"{np.median(truth.min(axis=1)):.4f}"]
            like = [spearmanr(*pair)[0] for pair in zip(curve, truth, strict=True)]
            cells.append(f"{np.median(like):.2f}")
        yield cells


def said_of_sizes(name, curves):
    sizes = np.array(SIZES)
    if name == "Swissroll":
        high, inside = curves["M_t"] < GOOD, (sizes >= 6) & (sizes <= 15)
        text = f'"k between 6 and 15 gives high quality": M_t is below {GOOD} in {high[:, inside].mean():.0%}'
        yield f"- {text} of these embeddings, and in {high[:, ~inside].mean():.0%} of those with other k"
        return
    for m in ("M_L", "M_L own k"):
        best = ", ".join(map(str, sizes[curves[m].argmin(axis=1)]))
        falling = np.diff(np.median(curves[m], axis=0)[sizes > 8]) < 0
        yield f'- "k = 14 is the best": {m} takes {best}'
        yield f'- "quality improves with k above 8": {m} falls in {falling.sum()} of {len(falling)} steps'


if __name__ == "__main__":
    main()
