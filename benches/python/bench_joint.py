"""Slices of a process in one map, and a map that receives new points.

    python benches/python/bench_joint.py                  # ten slices of 10,000 points; --points 100000
    python benches/python/bench_joint.py --update         # a tenth of 100,000 points joins the map of the others
    python benches/python/bench_joint.py --quick          # does everything run?

The slices are one roll with noise that is pulled apart slowly along its axis. Each slice lies elsewhere in
space, turned at random. Every tenth point is tied to itself in the next slice, with the weight in the first
column. Each disparity to the truth is divided by that of a fit of its slice alone, with tangents from as many
neighbors, and the worst ratio is printed. The motion is the root mean square distance between the images of a
point in slices that follow each other. Noise is the error of two fits of single slices, added in squares; the
motion should be at most the truth plus the noise.

With --update, the new points are either random points of a roll, with noise and without, or its last tenth.
The time of an update is compared with that of a fit of all points; errors are root mean square distances to the
truth after the best motion of the old map, as shares of the usual distance of the nearest neighbor.
"""

import argparse
import resource
import time

import numpy as np
import unbend as ub
from scipy.spatial import procrustes
from timing import machine, row, use_threads

SLICES, PULL, NOISE = 10, 0.01, 0.02


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--points", type=int, default=10_000, help="points of each slice")
    parser.add_argument("--quick", action="store_true", help="small slices: does everything run?")
    parser.add_argument("--update", action="store_true", help="measure updates, not slices")
    options = parser.parse_args()
    use_threads(options.threads)
    print(machine(options.threads, ("unbend", "numpy", "scipy")))
    if options.update or options.quick:
        updates(5_000 if options.quick else max(options.points, 100_000))
    if not options.update:
        slices(2_000 if options.quick else options.points)


def slices(n):
    """Embed all slices in one fit for several weights of ties, and each by itself."""
    parts, truths = pulled_apart(n)
    tied, starts = np.arange(0, n, 10), n * np.arange(SLICES - 1)
    pairs = np.concatenate([np.stack([tied + start, tied + start + n], axis=1) for start in starts])
    points, groups = np.concatenate(parts), np.repeat(np.arange(SLICES), n)
    fits = {}
    for weight in (0.0, 1e-6, 1.0):
        ties = np.column_stack([pairs, np.full(len(pairs), weight)])
        fits[weight] = timed(ub.ProcrustesAlignment(random_state=0), points, groups=groups, ties=ties)
    own = {"random_state": 0, "tangent_neighbors": fits[0.0][0].tangent_neighbors_}
    alone = [timed(ub.ProcrustesAlignment(**own), part) for part in parts]
    errors = [disparity(image, fit.embedding_) for image, (fit, *_) in zip(truths, alone, strict=True)]
    sizes = [error * (image**2).sum() / n for error, image in zip(errors, truths, strict=True)]
    real, noise = rms(np.array(truths)), float(np.sqrt(2 * np.mean(sizes)))
    print(f"{SLICES} slices of {n:,} points; the true motion is {real:.4f}, the noise {noise:.4f}\n")
    row("weight of ties", "worst disparity", "of its own fit", "motion", "of the limit", "CPU s", "GB")
    row(*["---"] * 7)
    for weight, (fit, seconds, peak) in fits.items():
        maps = fit.embedding_.reshape(SLICES, n, 2)
        found = [disparity(image, y) for image, y in zip(truths, maps, strict=True)]
        ratio = max(one / own for one, own in zip(found, errors, strict=True))
        motion = rms(maps)
        cells = (f"{max(found):.2e}", f"{ratio:.2f}", f"{motion:.4f}", f"{motion / (real + noise):.2f}")
        row(f"{weight:g}", *cells, f"{seconds:.1f}", peak)
    row("fits of one", f"{max(errors):.2e}", "1.00", "", "", f"{sum(s for _, s, _ in alone):.1f}", "")


def pulled_apart(n):
    """Return the slices, each in a place of its own, and their true coordinates."""
    rng = np.random.default_rng(0)
    x, truth = ub.datasets.swiss_roll(n, random_state=0)
    axis = int(np.argmax(np.abs(np.corrcoef(np.column_stack([x, truth[:, 1]]).T)[-1, :-1])))
    parts, truths = [], []
    for at in range(SLICES):
        pulled, image = x.copy(), truth - truth.mean(axis=0)
        pulled[:, axis] *= 1 + PULL * at
        image[:, 1] *= 1 + PULL * at
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        parts.append((pulled + NOISE * rng.normal(size=x.shape)) @ turn + 50 * rng.normal(size=3))
        truths.append(image)
    return parts, truths


def timed(estimator, points, **given):
    """Return the fitted estimator, the seconds of the processors, and the peak of the process so far."""
    begun = time.process_time()
    estimator.fit(points, **given)
    return estimator, time.process_time() - begun, memory()


def updates(n):
    """Compare updates of a map by a tenth of the points with fits of all points."""
    row(
        "new points",
        "noise",
        "fit, CPU s",
        "update, CPU s",
        "share",
        "old moved",
        "error, old",
        "error, new",
        "of a fit",
    )
    row(*["---"] * 9)
    for noise in (NOISE, 0.0):
        update_rows(n, noise)
    print()


def update_rows(n, noise):
    """Print the rows of one noise."""
    x, truth = ub.datasets.swiss_roll(n, noise=noise, random_state=0)
    ub.ProcrustesAlignment(random_state=0).fit(x[:2000]).update(x[2000:2200])  # imports
    spacing = np.median(ub.neighborhoods(truth, 1).distances)
    orders = {
        "among the old": np.random.default_rng(0).permutation(n),
        "beyond them": np.argsort(truth[:, 0]),
    }
    first = n - n // 10
    for name, order in orders.items():
        points, image = x[order], truth[order]
        whole, seconds, _ = timed(ub.ProcrustesAlignment(random_state=0), points)
        psa = ub.ProcrustesAlignment(random_state=0).fit(points[:first])
        old, begun = psa.embedding_, time.process_time()
        psa.update(points[first:])
        spent = time.process_time() - begun
        moved = np.abs(psa.embedding_[:first] - old).max()
        apart, of_fit = errors(image, psa.embedding_, first), errors(image, whole.embedding_, first)
        cells = (f"{seconds:.2f}", f"{spent:.2f}", f"{spent / seconds:.2f}", f"{moved / spacing:.1g}")
        shares = (apart[:first], apart[first:], of_fit[first:])
        row(name, f"{noise:g}", *cells, *(f"{np.sqrt((part**2).mean()) / spacing:.2f}" for part in shares))


def errors(truth, y, first):
    """The distance of each image to the truth, after the motion that fits the first best."""
    centers = truth[:first].mean(axis=0), y[:first].mean(axis=0)
    u, _, vt = np.linalg.svd((y[:first] - centers[1]).T @ (truth[:first] - centers[0]))
    return np.linalg.norm((y - centers[1]) @ (u @ vt) + centers[0] - truth, axis=1)


def disparity(truth, y):
    """The squared error after the best motion and scale, as a share of the size of the truth."""
    return float(procrustes(truth, y)[2])


def rms(maps):
    """The root mean square distance between images of a point in slices that follow each other."""
    return float(np.sqrt(((maps[1:] - maps[:-1]) ** 2).sum(axis=2).mean()))


def memory():
    """The peak of the process so far."""
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f}"


if __name__ == "__main__":
    main()
