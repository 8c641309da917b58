"""Reports: what they weigh, how soon a browser has them, and how they move.

    python benches/python/bench_report.py [--pictures DIR] [--peers]

Three embeddings of 50,000 points, and three of 200,000. Each report is written, then opened in a headless
Chromium without a network and without a graphics card: seconds from the start of the navigation until it
shows all points and answers. Then it is used: milliseconds from frame to frame while the wheel turns, in the
median and at the 95th percentile; and for a turn of the wheel, for a step of the pointer, whose point shows
its twelve neighbors in all pictures, and for a selection of half of the points, each until the next frame
is done, the median of several. Waiting for a frame and doing nothing takes 33.

`--peers` writes the same points with plotly, which must be installed: size and seconds until it has drawn.
`--pictures` keeps screenshots, light and dark, wide and narrow, to be looked at.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import unbend as ub

sys.path.insert(0, str(Path(__file__).parents[2] / "tests/python"))

from browser import MISSING, Browser, chromium

ROUNDS = 3
STEPS = 9
TURNS = 60

# When the frame after the next has begun, the one in between is done.
FRAME = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))"
MODEL = "Bokeh.documents[0].get_model_by_name"
BOX = """(() => {
  const div = document.querySelector('.picture');
  div.scrollIntoView();
  const b = div.getBoundingClientRect();
  return [b.left + b.width / 2, b.top + b.height / 2];
})()"""


def embeddings(n):
    x, truth = ub.datasets.swiss_roll(n, random_state=0)
    return x, {"truth": truth, "shadow": x[:, [0, 2]], "square": truth / np.ptp(truth, axis=0)}


def turn(browser, x, y, step):
    browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-100 if step % 2 else 100)


def point(browser, x, y, step):
    browser.mouse("mouseMoved", x + 3 * step, y)


def half(browser, x, y, step):
    every = f"[...Array({MODEL}('points').data.y0_0.length / 2).keys()].map(i => 2 * i + {step % 2})"
    browser.run(f"{MODEL}('points').selected.indices = {every}; 0")


def measured(browser, action):
    """Return the median milliseconds of an action, the first of which is not counted."""
    x, y = browser.run(BOX)
    times = []
    for step in range(STEPS + 1):
        began = time.perf_counter()
        action(browser, x, y, step)
        browser.run(FRAME)
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times[1:])


def frames(browser):
    """Return the milliseconds between frames while the wheel turns: the median, and the 95th percentile."""
    x, y = browser.run(BOX)
    browser.run(
        "window.frames_ = []; (function next(t) { frames_.push(t); requestAnimationFrame(next); })(0); 0"
    )
    for step in range(TURNS):
        turn(browser, x, y, step < TURNS / 2)
    between = sorted(browser.run("frames_.slice(2).map((t, i) => t - frames_[i + 1])"))
    return statistics.median(between), between[int(0.95 * len(between))]


def row(name, path, seconds):
    opened, moved = [], ()
    for _ in range(ROUNDS):
        with Browser() as browser:
            opened.append(browser.open(path, timeout=120))
            moved = moved or tuple(measured(browser, action) for action in (turn, point, half))
            moved = moved if len(moved) > 3 else (*frames(browser), *moved)
            if browser.errors:
                raise SystemExit(f"the page complains: {browser.errors}")
    times = f"{min(opened):.2f} ({max(opened):.2f})"
    print(f"| {name} | {seconds:.1f} | {path.stat().st_size / 1e6:.1f} | {times} | ", end="")
    print(f"{moved[0]:.0f} ({moved[1]:.0f}) |", " | ".join(f"{ms:.0f}" for ms in moved[2:]), "|", flush=True)


def pictures(path, folder, n):
    folder.mkdir(parents=True, exist_ok=True)
    for width, scheme in ((1280, "light"), (1280, "dark"), (400, "light")):
        with Browser(width, 800, dark=scheme == "dark") as browser:
            browser.open(path, timeout=120)
            browser.run("document.getElementById('controls').scrollIntoView()")
            browser.run("new Promise(done => setTimeout(done, 500))")
            print("   ", browser.screenshot(folder / f"{n}-{width}-{scheme}.png"))


def peer(n, ys, errors, folder):
    """The same points with plotly: three pictures, colored, nothing linked, no neighbors."""
    try:
        import plotly.graph_objects as go
        from plotly.subplots import make_subplots
    except ImportError:
        print("plotly is not installed: pip install plotly")
        return
    began = time.perf_counter()
    figure = make_subplots(1, len(ys), subplot_titles=list(ys))
    for place, (y, error) in enumerate(zip(ys.values(), errors, strict=True), 1):
        u, v = y.T.astype(np.float32)
        marker = {"size": 2, "color": error.astype(np.float32), "colorscale": "Viridis"}
        figure.add_trace(go.Scattergl(x=u, y=v, mode="markers", marker=marker), 1, place)
    path = folder / f"plotly-{n}.html"
    script = "document.documentElement.dataset.ready = 1"
    figure.write_html(path, include_plotlyjs=True, post_script=script)
    seconds, opened = time.perf_counter() - began, []
    for _ in range(ROUNDS):
        with Browser() as browser:
            opened.append(browser.open(path, timeout=120))
    size, times = path.stat().st_size / 1e6, f"{min(opened):.2f} ({max(opened):.2f})"
    print(
        f"| plotly, {n:,} points, pictures alone | {seconds:.1f} | {size:.1f} | {times} | | | | |", flush=True
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pictures", type=Path, metavar="DIR")
    parser.add_argument("--peers", action="store_true")
    options = parser.parse_args()
    if chromium() is None:
        raise SystemExit(MISSING)
    print("Seconds: the best of three times, and the worst.\n")
    heads = "written, s | MB | answers, s | a frame, ms | wheel, ms | pointer, ms | select, ms"
    print(f"| three embeddings of | {heads} |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for n in (50_000, 200_000):
            x, ys = embeddings(n)
            began = time.perf_counter()
            made = ub.report(x, ys, folder / f"{n}.html", random_state=0)
            row(f"{n:,} points", made.path, time.perf_counter() - began)
            if options.peers:
                graph = ub.neighborhoods(x)
                errors = [ub.faithfulness(x, y, neighborhoods=graph).per_point["r_c"] for y in ys.values()]
                peer(n, ys, errors, folder)
            if options.pictures:
                pictures(made.path, options.pictures, n)


if __name__ == "__main__":
    main()
