"""Figures of Goldberg, Zakai, Kushnir & Ritov (2008), *The price of normalization*.

    python -m experiments.papers.normalization                    # Figs. 1, 4, 5, 7, 8 and 9, with tables
    python -m experiments.papers.normalization --figures docs/figures
    python -m experiments.papers.normalization --more             # Figs. 1 E to G, 3 and 6, other K and sigma

K = 8 as there. For every data the verdict of ub.price_of_normalization, which runs none of the algorithms,
is compared with what happens: the share of the variance of the true coordinates that an affine map of the output
does not explain, in the direction where it is largest. Above one half a dimension has collapsed. Of diffusion
maps the width of the kernel is our default, the median distance of the 8th neighbor; in the paper it is 2.
"""

import argparse
import io
import os
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # all its matrices are small

import numpy as np
import unbend as ub

K = 8
JUDGED = {
    "LEM": ub.LaplacianEigenmaps,
    "DFM": ub.DiffusionMaps,
    "LLE": ub.LocallyLinearEmbedding,
    "LTSA": ub.LTSA,
    "HLLE": ub.HessianLLE,
}
OTHERS = {"MLLE": ub.ModifiedLLE, "Isomap": ub.Isomap, "PSA": ub.ProcrustesAlignment}
SHORT = {"holds": "holds", "would collapse": "collapses", "too close to tell": "close"}


@dataclass(frozen=True)
class Sample:
    name: str
    x: np.ndarray
    truth: np.ndarray
    picture: np.ndarray
    """What is drawn of the data."""


@dataclass
class Outcome:
    price: ub.Price
    embeddings: dict = field(default_factory=dict)
    errors: dict = field(default_factory=dict)


def main():
    options = arguments()
    warnings.simplefilter("ignore")
    if options.more:
        from experiments.papers.normalization_more import run_more

        return run_more(figures(options.seed), options.figures)
    print(f"K = {K}, seed {options.seed}\n")
    for figure, samples in figures(options.seed).items():
        outcomes = [run(sample) for sample in samples]
        table(figure, samples, outcomes)
        if options.figures:
            draw(samples, outcomes, options.figures / f"price-fig{figure}.png")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--figures", type=Path, metavar="FOLDER", help="draw them there")
    parser.add_argument("--more", action="store_true", help="Figs. 1 E to G, 3 and 6, other K and sigma")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


# Data ----------------------------------------------------------------------------------------------------


def figures(seed):
    """The data sets of each figure: one that should be kept, one that should be lost."""
    square = ub.datasets.strip(3000, length=1.0, random_state=seed)[0]
    return {
        1: [
            flat("strip 6 x 1, clean", *ub.datasets.strip(3000, length=6.0, random_state=seed)),
            flat(
                "strip 6 x 1, noise 0.01", *ub.datasets.strip(3000, length=6.0, noise=0.01, random_state=seed)
            ),
        ],
        4: [flat(f"grid 81 x {width}", *ub.datasets.grid(81, width)) for width in (41, 39)],
        5: [flat(f"strip 81 x {width}", square * [81, width], square * [81, width]) for width in (41, 39)],
        7: [roll(seed, 1.0), roll(seed, 3.0)],
        8: [fishbowl(seed, 1.0), fishbowl(seed, 4.0)],
        9: [ball(seed, 900, (-30.0, 60.0)), ball(seed, 300, (0.0, 30.0))],
    }


def flat(name, x, truth):
    return Sample(name, x, truth, x[:, :2])


def roll(seed, stretch):
    """The first dimension of space is stretched: the spiral grows longer, and is still that of a strip."""
    x, truth = ub.datasets.swiss_roll_wittman(1600, random_state=seed)
    angle, x = np.hypot(x[:, 0], x[:, 2]), x * [stretch, 1, 1]
    t = np.linspace(1.5 * np.pi, 4.5 * np.pi, 20_001)
    speed = np.hypot(stretch * (np.cos(t) - t * np.sin(t)), np.sin(t) + t * np.cos(t))
    arc = np.concatenate([[0], np.cumsum((speed[1:] + speed[:-1]) / 2 * np.diff(t))])
    truth = np.column_stack([np.interp(angle, t, arc), truth[:, 1]])
    name = "swiss roll" if stretch == 1 else f"swiss roll, stretched by {stretch:g}"
    return Sample(name, x, truth, np.column_stack([x[:, 0] + 0.5 * x[:, 1], x[:, 2] + 0.3 * x[:, 1]]))


def fishbowl(seed, stretch):
    x, truth = ub.datasets.fishbowl(2400, stretch=stretch, random_state=seed)
    name = "fishbowl" if stretch == 1 else f"fishbowl, stretched by {stretch:g}"
    return Sample(name, x, truth, np.column_stack([x[:, 0], x[:, 2] + 0.4 * x[:, 1]]))


def ball(seed, n, tilt):
    x, truth = ub.datasets.rotating_ball(n, tilt=tilt, random_state=seed)
    return Sample(f"{n} pictures of a ball, 90 x {tilt[1] - tilt[0]:.0f} degrees", x, truth, truth)


# Outcomes ------------------------------------------------------------------------------------------------


def run(sample):
    start = time.perf_counter()
    graph = ub.neighborhoods(sample.x, K)
    outcome = Outcome(ub.price_of_normalization(sample.x, sample.truth, neighborhoods=graph))
    judged = time.perf_counter() - start
    for name, algorithm in (JUDGED | OTHERS).items():
        outcome.embeddings[name] = algorithm(n_neighbors=K).fit(sample.x).embedding_
        outcome.errors[name] = ub.metrics.affine_error(sample.truth, outcome.embeddings[name])
    ran = time.perf_counter() - start - judged
    print(f"{sample.name}: judged in {judged:.2f} s, all of them run in {ran:.2f} s")
    return outcome


def table(figure, samples, outcomes):
    print(f"\n### Fig. {figure}\n")
    print("| data | sigma / tau |", " | ".join([*JUDGED, *OTHERS]), "|")
    print("|---|--:|" + "--:|" * (len(JUDGED) + len(OTHERS)))
    for sample, outcome in zip(samples, outcomes, strict=True):
        verdicts = outcome.price.verdicts
        cells = [f"{SHORT[verdicts[name].outcome]} {outcome.errors[name]:.3f}" for name in JUDGED]
        cells += [f"{outcome.errors[name]:.3f}" for name in OTHERS]
        some = verdicts["LTSA"]
        print(f"| {sample.name} | {some.sigma / some.tau:.2f} |", " | ".join(cells), "|")
    print()
    print("| data |", " | ".join(f"{name}: Phi(Y) / Phi(Z), needed" for name in JUDGED), "|")
    print("|---|" + "--:|" * len(JUDGED))
    for sample, outcome in zip(samples, outcomes, strict=True):
        verdicts = [outcome.price[name] for name in JUDGED]
        cells = [f"{one.phi_y / one.phi_z:.2g}, {one.needed}{' T' * one.by_theorem}" for one in verdicts]
        print(f"| {sample.name} |", " | ".join(cells), "|")
    print(flush=True)


# Pictures ------------------------------------------------------------------------------------------------


def draw(samples, outcomes, path):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image

    figure = Figure(figsize=(13.5, 4.1), dpi=100, facecolor="white", layout="constrained")
    grid = figure.subplots(2, 1 + len(JUDGED) + len(OTHERS))
    for axes, sample, outcome in zip(grid, samples, outcomes, strict=True):
        panel(
            axes[0],
            sample.picture,
            sample.truth,
            sample.name.replace(", ", ",\n").replace("a ball", "\na ball"),
        )
        for ax, name in zip(axes[1:], JUDGED | OTHERS, strict=True):
            verdict = outcome.price.verdicts.get(name)
            said = f": {SHORT[verdict.outcome]}" if verdict else ""
            title = f"{name}{said}\nerror {outcome.errors[name]:.2f}"
            panel(ax, outcome.embeddings[name], sample.truth, title, lost=outcome.errors[name] > 0.5)
    path.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    FigureCanvasAgg(figure).print_png(buffer)
    Image.open(buffer).convert("RGB").quantize(96, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB\n")


def panel(axes, points, truth, title, lost=False):
    axes.set_title(title, fontsize=8, color="tab:red" if lost else "black")
    axes.set_xticks([])
    axes.set_yticks([])
    for side in axes.spines.values():
        side.set_color("0.85")
    axes.scatter(points[:, 0], points[:, 1], c=truth[:, 0], cmap="viridis", s=1.5, linewidths=0)
    axes.set_aspect("equal", adjustable="datalim")


if __name__ == "__main__":
    main()
