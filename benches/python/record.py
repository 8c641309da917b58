"""The costs of unbend as ratios, kept as records, and their growth with the number of points.

    python benches/python/record.py                      # measure, keep a record in benches/records, draw
    python benches/python/record.py --against OTHER/python --commit NAME   # the same of another built checkout
    python benches/python/record.py --growth             # also seconds and memory of every stage, 1e4 to 1e7
    python benches/python/record.py --draw               # only the page and its pictures, from the records

Every ratio is of two works that one process does in turn. A round during which other processes took more than
3 % of the machine is discarded and done again; a ratio is kept if rounds enough were left undisturbed and they
differ by at most 15 %. Records say what was discarded.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from datetime import date
from pathlib import Path

from timing import installed, peak_memory, processor, use_threads

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "benches" / "records"
PAGE = ROOT / "docs" / "records.md"
FIGURES = ROOT / "docs" / "figures"

FOREIGN = 0.03  # largest share of the machine that others may take during a round
SPREAD = 0.15  # largest relative difference of the rounds of a ratio
TRIES = 4  # times the wanted number of rounds, until a ratio is given up
K = 12

WORKS = {  # name: (number of points, noise, what is done, what it is compared with)
    "PSA, 100,000": (100_000, 0.0, "psa", "search"),
    "PSA, 1,000,000": (1_000_000, 0.0, "psa", "search"),
    "PSA, 100,000, noise": (100_000, 0.3, "psa", "search"),
    "GP, 100,000": (100_000, 0.0, "gp", "search"),
    "GP, 1,000,000": (1_000_000, 0.0, "gp", "search"),
    "faithfulness, 1,000,000": (1_000_000, 0.0, "faithfulness", "search"),
    "LTSA, 50,000": (50_000, 0.0, "ltsa", "search"),
    "Isomap, 200 landmarks, 50,000": (50_000, 0.0, "isomap", "search"),
    "search, 100,000, of scipy's": (100_000, 0.0, "search", "cKDTree"),
    "search, 1,000,000, of scipy's": (1_000_000, 0.0, "search", "cKDTree"),
}
SIZES = (10_000, 100_000, 1_000_000, 10_000_000)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5, help="undisturbed rounds of every ratio")
    parser.add_argument("--only", default="", help="works whose name holds this; nothing is kept")
    parser.add_argument("--growth", action="store_true", help="also the growth of every stage")
    parser.add_argument("--draw", action="store_true", help="measure nothing")
    parser.add_argument("--against", type=Path, help="the folder that holds another version's package")
    parser.add_argument("--commit", help="the commit of that version (default: HEAD)")
    parser.add_argument("--child", nargs=2, metavar=("KIND", "NAME"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        kind, name = options.child
        return print(json.dumps(CHILDREN[kind](name, options)))
    if not options.draw:
        record = measured(options)
        if options.only:
            return None
        RECORDS.mkdir(exist_ok=True)
        path = RECORDS / f"{record['committed'][:10]}-{record['commit']}.json"
        path.write_text(json.dumps(record, indent=1) + "\n")
        print(f"\nkept as {path.relative_to(ROOT)}")
    return draw()


# Measure ----------------------------------------------------------------------------------------------------


def measured(options):
    name, committed = commit(options.commit or "HEAD")
    record = {"commit": name, "committed": committed, "measured": date.today().isoformat()}
    record |= machine_state(options)
    print(json.dumps(record, indent=1))
    record["works"] = {name: shown(name, options) for name in WORKS if options.only in name}
    if options.growth:
        record["growth"] = {str(n): called("growth", n, options) for n in SIZES}
    return record


def commit(name):
    """Return the short name of a commit, and its time."""
    command = ["git", "show", "-s", "--format=%h %cI", "--abbrev=7", name]
    return subprocess.check_output(command, cwd=ROOT, text=True).split()


def machine_state(options):
    packages = ("numpy", "scipy", "scikit-learn")
    return {
        "processor": processor(),
        "cpus": os.cpu_count(),
        "threads": options.threads,
        "frequency_mhz": frequency(),
        "load": round(os.getloadavg()[0], 2),
        "python": sys.version.split()[0],
        "packages": {name: installed(name) for name in packages},
    }


def frequency():
    with open("/proc/cpuinfo") as file:
        mhz = [float(line.partition(":")[2]) for line in file if line.startswith("cpu MHz")]
    return round(statistics.mean(mhz)) if mhz else None


def shown(name, options):
    found = called("work", name, options)
    if found["ratio"] is None:
        said = f"disturbed: {found['discarded']} rounds discarded, {len(found['rounds'])} left"
    else:
        said = f"{found['ratio']:.2f} ({found['discarded']} rounds discarded)"
    print(f"{name:32s} {said}", flush=True)
    return found


def called(kind, name, options):
    """Do one work in a process of its own, with the package of the version that is measured."""
    path = options.against or ROOT / "python"
    command = [sys.executable, __file__, "--rounds", str(options.rounds), "--threads", str(options.threads)]
    done = subprocess.run(
        [*command, "--child", kind, str(name)],
        env=os.environ | {"PYTHONPATH": str(path.resolve())},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


# In a process of its own ------------------------------------------------------------------------------------


def work(name, options):
    """Return the ratio of a work, and what shows that it was done as well as before."""
    use_threads(options.threads)
    warnings.simplefilter("ignore")
    n, noise, what, unit = WORKS[name]
    import unbend as ub

    x, truth = ub.datasets.swiss_roll(n, noise=noise, random_state=0)
    one, other = doing(what, x, truth, options.threads), doing(unit, x, truth, options.threads)
    doing(what, *ub.datasets.swiss_roll(2_000, noise=noise, random_state=0), options.threads)()  # imports
    before = resident()
    result = one()
    peak = peak_memory() - before
    quality = judged(result, truth)
    del result
    other()
    rounds, discarded = [], 0
    while len(rounds) < options.rounds and len(rounds) + discarded < TRIES * options.rounds:
        with Watch() as watch:
            seconds = [timed(each) for each in (one, other)]
        if watch.foreign <= FOREIGN:
            rounds.append(seconds)
        else:
            discarded += 1
    ratios = [a / b for a, b in rounds]
    steady = len(rounds) == options.rounds and max(ratios) <= (1 + SPREAD) * min(ratios)
    best = min(a for a, _ in rounds) / min(b for _, b in rounds) if steady else None
    return {
        "ratio": best,
        "rounds": [[round(s, 4) for s in pair] for pair in rounds],
        "discarded": discarded,
        "peak_mb": round(peak / 1e6, 1),
        **quality,
    }


def doing(what, x, truth, threads):
    import unbend as ub

    def search():
        return ub.neighborhoods(x, K, n_jobs=threads)

    def tree():
        from scipy.spatial import cKDTree

        return cKDTree(x).query(x, K + 1, workers=threads)

    def faithfulness():
        return ub.faithfulness(x, truth, n_neighbors=K, n_jobs=threads)

    estimators = {
        "psa": lambda: ub.ProcrustesAlignment(2, K, n_jobs=threads),
        "gp": lambda: ub.GreedyProcrustes(2, K, n_jobs=threads, random_state=0),
        "ltsa": lambda: ub.LTSA(2, K, n_jobs=threads),
        "isomap": lambda: ub.Isomap(2, K, n_landmarks=200, n_jobs=threads, random_state=0),
    }
    others = {"search": search, "cKDTree": tree, "faithfulness": faithfulness}
    return others.get(what) or (lambda: estimators[what]().fit(x))


def judged(result, truth):
    """Return R_N by its bound and the disparity, of an estimator."""
    if not hasattr(result, "embedding_"):
        return {}
    from scipy.spatial import procrustes

    m = result.faithfulness_
    return {
        "r_n_by_bound": m.r_n / m.lower_bound,
        "disparity": float(procrustes(truth, result.embedding_)[2]),
    }


def growth(n, options):
    """Return the seconds of every stage of one fit of `n` points, and its peak memory."""
    use_threads(options.threads)
    warnings.simplefilter("ignore")
    import unbend as ub

    ub.ProcrustesAlignment().fit(ub.datasets.swiss_roll(1_000, random_state=0)[0])  # imports
    x = ub.datasets.swiss_roll(int(n), random_state=0)[0]
    before = resident()
    with Watch() as watch:
        model = ub.ProcrustesAlignment(2, K, n_jobs=options.threads).fit(x)
    return {
        "stages": {name: round(s, 4) for name, s in model.timings_.items()},
        "peak_mb": round((peak_memory() - before) / 1e6, 1),
        "foreign": round(watch.foreign, 3),
    }


CHILDREN = {"work": work, "growth": growth}


def timed(do):
    start = time.perf_counter()
    do()
    return time.perf_counter() - start


def resident():
    with open("/proc/self/status") as file:
        (line,) = [line for line in file if line.startswith("VmRSS")]
    return int(line.split()[1]) * 1024


class Watch:
    """The share of the machine that other processes take, from entry to exit."""

    def __enter__(self):
        self.before = self._now()
        return self

    def __exit__(self, *_):
        busy, own, wall = (b - a for a, b in zip(self.before, self._now(), strict=True))
        self.foreign = max(0.0, busy - own) / (wall * os.cpu_count())

    @staticmethod
    def _now():
        with open("/proc/stat") as file:
            ticks = [int(word) for word in file.readline().split()[1:9]]
        idle = ticks[3] + ticks[4]
        own = os.times()
        return (sum(ticks) - idle) / os.sysconf("SC_CLK_TCK"), own.user + own.system, time.perf_counter()


# Draw -------------------------------------------------------------------------------------------------------


def draw():
    records = sorted(
        (json.loads(path.read_text()) for path in RECORDS.glob("*.json")), key=lambda r: r["committed"]
    )
    if not records:
        raise SystemExit(f"there is no record in {RECORDS.relative_to(ROOT)}: measure first, without --draw")
    lines = [*HEAD, *table(records)]
    over_time(records)
    grown = [record for record in records if "growth" in record]
    if grown:
        lines += [*GROWTH, *growth_table(grown[-1])]
        growth_curves(grown[-1])
    PAGE.write_text("\n".join(lines) + "\n")
    print(f"written: {PAGE.relative_to(ROOT)}")


HEAD = """# Speed over time

How fast is each version? `make bench` measures fits of a swiss roll, 12 neighbors. Times are multiples of the
search for the neighbors of the same points or, for the search itself, of `scipy.spatial.cKDTree`. Rounds that
other processes disturbed are discarded.

![Costs of fits in searches for neighbors, by version](figures/records.png)

""".splitlines()

GROWTH = """
## Growth

Seconds of every stage of one Procrustes alignment, and its peak memory above the data, in the last version:

![Seconds of every stage by the number of points](figures/records-growth.png)
""".splitlines()


def table(records):
    yield f"| ratio | {' | '.join(', '.join(named(r)) for r in records)} |"
    yield f"|---|{'--:|' * len(records)}"
    for name in WORKS:
        found = [r["works"].get(name, {}).get("ratio") for r in records]
        yield f"| {name} | {' | '.join('' if v is None else f'{v:.2f}' for v in found)} |"
    for name in ("PSA, 1,000,000", "GP, 1,000,000"):
        for label, key, form in (
            ("peak, MB", "peak_mb", ".0f"),
            ("R_N / bound", "r_n_by_bound", ".5f"),
            ("disparity", "disparity", ".1e"),
        ):
            found = [r["works"].get(name, {}).get(key) for r in records]
            cells = ("" if v is None else format(v, form) for v in found)
            yield f"| {name}: {label} | {' | '.join(cells)} |"
    last = records[-1]
    versions = ", ".join(f"{name} {version}" for name, version in last["packages"].items())
    yield ""
    yield f"Two threads of {last['processor']}; Python {last['python']}, {versions}."


def named(record):
    return record["committed"][:10], record["commit"]


def growth_table(record):
    found = record["growth"]
    names = list(dict.fromkeys(name for n in found.values() for name in n["stages"]))
    yield ""
    yield f"| points | {' | '.join(names)} | peak, MB |"
    yield f"|--:|{'--:|' * (len(names) + 1)}"
    for n, one in found.items():
        cells = (f"{one['stages'].get(name, 0):.3g}" for name in names)
        yield f"| {int(n):,} | {' | '.join(cells)} | {one['peak_mb']:,.0f} |"


def over_time(records):
    plt = figure()
    fig, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
    names = [name for name, (*_, unit) in WORKS.items() if unit == "search"]
    days = range(len(records))
    for name in names:
        values = [r["works"].get(name, {}).get("ratio") or float("nan") for r in records]
        if any(value == value for value in values):
            ax.plot(days, values, "o-", ms=4, lw=1.2, label=name)
    ax.set(yscale="log", ylabel="searches for neighbors", xticks=list(days))
    ax.set_xticklabels(["\n".join(named(r)) for r in records], fontsize=8)
    for axis in (ax.yaxis.set_major_formatter, ax.yaxis.set_minor_formatter):
        axis("{x:g}")
    ax.grid(axis="y", which="both", alpha=0.2)
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8, frameon=False)
    fig.savefig(FIGURES / "records.png", dpi=150)


def growth_curves(record):
    plt = figure()
    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    sizes = [int(n) for n in record["growth"]]
    found = list(record["growth"].values())
    for name in dict.fromkeys(name for one in found for name in one["stages"]):
        values = [one["stages"].get(name) or float("nan") for one in found]
        left.plot(sizes, values, "o-", ms=3, lw=1.2, label=name)
    left.set(xscale="log", yscale="log", xlabel="points", ylabel="seconds")
    left.legend(fontsize=7, frameon=False)
    right.plot(sizes, [one["peak_mb"] for one in found], "o-", ms=3, color="black")
    right.set(xscale="log", yscale="log", xlabel="points", ylabel="peak memory above the data, MB")
    fig.savefig(FIGURES / "records-growth.png", dpi=150)


def figure():
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    return plt


if __name__ == "__main__":
    main()
