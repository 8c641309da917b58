"""What pictures show: the places of dots, their colors, limits and labels."""

import subprocess
import sys
import time

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import unbend as ub
from matplotlib.colors import LogNorm, to_hex, to_rgba
from unbend.fit.cut import Seam
from unbend.plot.canvas import CATEGORIES, FAINT, PLAIN


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def roll():
    return ub.datasets.swiss_roll(1000, random_state=0)


@pytest.fixture(scope="module")
def selection(roll):
    return ub.select(roll[0], [6, 9, 12], [1, 2], exhaustive=True, n_centers=400, random_state=0)


def drawn(ax, place=-1):
    """The dots last drawn: where they are, and their values."""
    dots = ax.collections[place]
    return np.asarray(dots.get_offsets()), dots.get_array()


def by_row(a):
    return a[np.lexsort(a.T)]


def bar(ax):
    (found,) = [other for other in ax.figure.axes if other is not ax and other.get_label() == "<colorbar>"]
    return found


# ---------------------------------------------------------------------------- embeddings


def test_dots_are_the_points(roll):
    _, u = roll
    ax = ub.plot.embedding(u, u[:, 0], label="arc length", title="truth")
    places, values = drawn(ax)
    assert np.array_equal(by_row(np.c_[places, values]), by_row(np.c_[u, u[:, 0]]))
    assert (np.diff(values) >= 0).all()  # large ones on top
    assert ax.get_aspect() == 1
    assert ax.get_title() == "truth"
    assert bar(ax).get_ylabel() == "arc length"
    low, high = ax.collections[-1].norm.vmin, ax.collections[-1].norm.vmax
    assert (low, high) == tuple(np.percentile(u[:, 0], (1, 99)))
    assert ax.collections[-1].get_cmap().name == "viridis"
    ax.figure.canvas.draw()
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    assert left <= u[:, 0].min() < u[:, 0].max() <= right
    assert bottom <= u[:, 1].min() < u[:, 1].max() <= top
    box = ax.get_window_extent()
    assert np.isclose((right - left) / box.width, (top - bottom) / box.height, rtol=1e-3)


def test_without_color_all_are_alike(roll):
    ax = ub.plot.embedding(roll[1])
    assert len(ax.figure.axes) == 1
    assert ax.get_legend() is None
    assert np.allclose(ax.collections[0].get_facecolor(), to_rgba(PLAIN))


@pytest.mark.parametrize("kind", [str, int, bool, object])
def test_kinds_have_their_own_colors(roll, kind):
    _, u = roll
    part = (u[:, 0] // 45).astype(int)
    ax = ub.plot.embedding(u, part.astype(kind), label="half")
    places, _ = drawn(ax)
    colors = ax.collections[0].to_rgba(ax.collections[0].get_array())
    for k in (0, 1):
        assert np.allclose(colors[(places[:, 0] // 45) == k], to_rgba(CATEGORIES[k]))
    legend = ax.get_legend()
    assert legend.get_title().get_text() == "half"
    assert [t.get_text() for t in legend.get_texts()] == [str(one) for one in np.unique(part.astype(kind))]
    assert [to_rgba(h.get_color()) for h in legend.legend_handles] == [to_rgba(c) for c in CATEGORIES[:2]]


def test_colors_can_be_told_apart():
    """Also by eyes without one of the three receptors (Vienot, Brettel & Mollon 1999)."""
    shades = np.array([to_rgba(c)[:3] for c in CATEGORIES]) ** 2.2
    to_lms = np.array(
        [[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]]
    )
    no_red = np.array([[0, 2.02344, -2.52581], [0, 1, 0], [0, 0, 1]])
    no_green = np.array([[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]])
    for lost in (np.eye(3), no_red, no_green):
        seen = (np.linalg.inv(to_lms) @ lost @ to_lms @ shades.T).T.clip(0, 1) ** (1 / 2.2)
        apart = np.linalg.norm(seen[:, None] - seen[None], axis=2) + 9 * np.eye(len(seen))
        assert apart.min() > 0.05


def test_what_has_no_value_is_grey(roll):
    _, u = roll
    values = np.where(u[:, 0] < 20, np.nan, u[:, 0])
    ax = ub.plot.embedding(u, values)
    gray, colored = ax.collections
    assert np.allclose(gray.get_facecolor(), to_rgba(FAINT))
    assert len(gray.get_offsets()) == np.isnan(values).sum()
    assert not np.isnan(colored.get_array()).any()


def test_axes_given_are_used(roll):
    _, ax = plt.subplots()
    assert ub.plot.embedding(roll[1], ax=ax, size=3.0) is ax
    assert ax.collections[0].get_sizes() == [3.0]


def test_three_components(roll):
    x, _ = roll
    ax = plt.figure().add_subplot(projection="3d")
    ub.plot.embedding(x, ax=ax)
    assert np.array_equal(by_row(np.c_[ax.collections[0]._offsets3d]), by_row(x))
    flat = ub.plot.embedding(x, components=(2, 0))
    assert np.array_equal(by_row(drawn(flat)[0]), by_row(x[:, [2, 0]]))


def test_one_component():
    y = np.linspace(0, 1, 30)[:, None]
    ax = ub.plot.embedding(y)
    assert np.array_equal(np.sort(drawn(ax)[0][:, 0]), y[:, 0])
    assert ax.get_aspect() == "auto"


def test_many_dots_are_pixels(roll):
    assert not ub.plot.embedding(roll[1]).collections[0].get_rasterized()
    many = np.random.default_rng(0).random((5000, 2))
    assert ub.plot.embedding(many).collections[0].get_rasterized()


@pytest.mark.parametrize(
    "made",
    [
        lambda x, y: ub.faithfulness(x, y),
        lambda x, y: ub.quality(x, y, ["procrustes"]),
        lambda x, y: ub.refine(x, y, max_iter=0),
        lambda x, y: ub.compare(x, {"one": y}, ["procrustes"])["one"],
    ],
)
def test_what_holds_an_embedding_is_one(roll, made):
    x, u = roll
    assert np.array_equal(by_row(drawn(ub.plot.embedding(made(x, u)))[0]), by_row(u))


def test_estimators_and_selections_hold_embeddings(roll, selection):
    for one in (selection, selection.best, selection.model):
        assert np.array_equal(by_row(drawn(ub.plot.embedding(one))[0]), by_row(selection.embedding))


# ---------------------------------------------------------------------------- errors


def test_errors_have_their_values(roll):
    x, _ = roll
    y = x[:, :2]
    m = ub.faithfulness(x, y)
    for ax in (ub.plot.error(m), ub.plot.error(x, y)):
        places, values = drawn(ax)
        assert np.array_equal(by_row(np.c_[places, values]), by_row(np.c_[y, m.per_point["r_n"]]))
        norm = ax.collections[-1].norm
        assert isinstance(norm, LogNorm)  # they spread over decades
        assert (norm.vmin, norm.vmax) == tuple(np.percentile(m.per_point["r_n"], (1, 99)))
        assert bar(ax).get_ylabel() == "$R_N$ at each point"
    assert bar(ub.plot.error(m, measure="overlap")).get_ylabel() == "overlap at each point"


def test_points_not_measured_are_grey(roll):
    x, u = roll
    m = ub.faithfulness(x, u, n_centers=100, random_state=0)
    ax = ub.plot.error(m)
    gray, colored = ax.collections
    assert len(gray.get_offsets()) == 900
    assert np.array_equal(by_row(np.asarray(colored.get_offsets())), by_row(u[m.centers]))


def test_errors_of_estimators_and_ranks(roll, selection):
    x, _ = roll
    values = drawn(ub.plot.error(selection.model))[1]
    assert np.array_equal(np.sort(values), np.sort(selection.model.faithfulness_.per_point["r_n"]))
    q = ub.quality(x, x[:, :2])
    values = drawn(ub.plot.error(q, measure="trustworthiness"))[1]
    assert np.array_equal(np.sort(values), np.sort(q.per_point["trustworthiness"]))


# ---------------------------------------------------------------------------- grids


def test_grid_shares_colors(roll):
    x, u = roll
    found = ub.compare(x, {"shadow": x[:, :2], "truth": u}, ["procrustes"])
    axes = ub.plot.grid(found, measure="r_n")
    assert [ax.get_title().split("\n")[0] for ax in axes] == ["truth", "shadow"]
    assert axes[1].get_title().endswith(f"$R_C$ {found['shadow']['r_c'].value:.3g}")
    norms = {(ax.collections[-1].norm.vmin, ax.collections[-1].norm.vmax) for ax in axes}
    both = np.concatenate([found[name].faithfulness.per_point["r_n"] for name in found])
    assert norms == {tuple(np.percentile(both, (1, 99)))}
    for ax, name in zip(axes, found, strict=True):
        assert np.array_equal(np.sort(drawn(ax)[1]), np.sort(found[name].faithfulness.per_point["r_n"]))
    assert len(axes[0].figure.axes) == 3  # one bar for both


def test_grid_of_arrays(roll):
    x, u = roll
    axes = ub.plot.grid({"a": u, "b": x[:, :2], "c": x[:, 1:]}, u[:, 0], columns=2)
    assert axes.shape == (3,)
    assert [ax.get_title() for ax in axes] == ["a", "b", "c"]
    _, given = plt.subplots(1, 3)
    assert (ub.plot.grid({"a": u, "b": u}, ax=given) == given[:2]).all()


# ---------------------------------------------------------------------------- ellipses


def test_circles_of_a_faithful_embedding_are_circles():
    x = np.random.default_rng(0).random((2000, 2))
    ax = ub.plot.stretch(x, x, n_ellipses=60)
    ellipses = ax.collections[1]
    assert 40 <= len(ellipses.get_offsets()) <= 80
    assert np.allclose(ellipses._widths, ellipses._heights)
    assert np.allclose(ellipses.get_array(), 1)
    assert (ellipses.norm.vmin * ellipses.norm.vmax) == pytest.approx(1)  # 1 is in the middle


def test_ellipses_are_the_linear_map():
    rng = np.random.default_rng(1)
    x = np.c_[rng.random((2000, 2)), np.zeros(2000)]
    turn = np.array([[np.cos(0.4), -np.sin(0.4)], [np.sin(0.4), np.cos(0.4)]])
    ellipses = ub.plot.stretch(x, x[:, :2] @ np.diag([3, 1]) @ turn.T).collections[1]
    assert np.allclose(ellipses._widths / ellipses._heights, 3)
    assert np.allclose(np.tan(ellipses._angles), np.tan(0.4))
    assert np.allclose(ellipses.get_array(), 3)


def test_ellipses_lie_at_points_spread_evenly(roll):
    x, u = roll
    places = np.asarray(ub.plot.stretch(x, u, n_ellipses=50).collections[1].get_offsets())
    gaps = np.linalg.norm(places[:, None] - places[None], axis=2) + 1e9 * np.eye(len(places))
    assert gaps.min() > 0.3 * np.median(gaps.min(axis=1))
    assert {tuple(p) for p in places} <= {tuple(p) for p in u}


# ---------------------------------------------------------------------------- one neighborhood


def test_neighborhood_shows_both_sides(roll):
    x, _ = roll
    y = x[:, :2]
    near = set(ub.neighborhoods(x, 10)[5].tolist())
    gaps = np.linalg.norm(y - y[5], axis=1)
    images = set(np.argsort(gaps, kind="stable")[1:11].tolist())
    left, right = ub.plot.neighborhood(x, y, 5, 10)
    assert left.get_title().split("\n")[1].startswith(f"{len(near - images)} of 10 neighbors lost")
    false, both, lost = (np.asarray(c.get_offsets()) for c in right.collections[1:4])
    assert (len(false), len(both), len(lost)) == (
        10 - len(near & images),
        len(near & images),
        len(near - images),
    )
    away = np.linalg.norm(lost, axis=1)
    assert np.allclose(np.sort(away), np.sort(gaps[sorted(near - images)]))  # a motion: lengths are true
    assert left.get_xlim() == right.get_xlim() == left.get_ylim()
    assert left.get_aspect() == right.get_aspect() == 1


def test_neighborhood_is_turned_to_fit(roll):
    x = np.random.default_rng(0).random((300, 2))
    turned = x @ np.array([[0.0, 1.0], [1.0, 0.0]]) * [1, -1] + 4
    left, right = ub.plot.neighborhood(x, turned, 7, 8)
    assert np.allclose(left.collections[2].get_offsets(), right.collections[2].get_offsets())
    assert left.get_title() == "point 7 in the data\n0 of 8 neighbors lost"


# ---------------------------------------------------------------------------- curves


def test_r_nx_curves(roll):
    x, u = roll
    q = {"truth": ub.quality(x, u, ["ranks"], 40), "shadow": ub.metrics.ranks(x, x[:, :2], 40)}
    ax = ub.plot.r_nx(q)
    lines = [line for line in ax.lines if len(line.get_xdata()) == 40]
    assert np.array_equal(lines[0].get_ydata(), q["truth"].ranks.r_nx)
    assert np.array_equal(lines[1].get_ydata(), q["shadow"].r_nx)
    assert lines[0].get_xdata().tolist() == list(range(1, 41))
    assert ax.get_xscale() == "log"
    assert [t.get_text() for t in ax.get_legend().get_texts()] == [
        f"truth, area {q['truth'].ranks.auc:.3f}",
        f"shadow, area {q['shadow'].auc:.3f}",
    ]


def test_measures_against_k(selection):
    ax = ub.plot.versus_k(selection)
    labels = [line.get_label() for line in ax.lines]
    assert labels == ["psa", "gp", "lower bound"]
    own = [c for c in selection.candidates if c.method == "gp" and c.n_components == 2]
    assert ax.lines[1].get_xdata().tolist() == [6, 9, 12]
    assert ax.lines[1].get_ydata().tolist() == [c["r_n"].value for c in own]
    bound = ax.lines[2].get_ydata()
    assert bound.tolist() == [c["lower_bound"].value for c in own]
    assert all((line.get_ydata() >= bound).all() for line in ax.lines[:2])
    ((x, y),) = [c.get_offsets()[0] for c in ax.collections if c.get_label() == "chosen"]
    assert (x, y) == (selection.n_neighbors, selection.best["r_n"].value)
    intervals = next(c for c in ax.collections if hasattr(c, "get_segments") and c.get_segments())
    ends = np.array([s[:, 1] for s in intervals.get_segments()])
    first = [c for c in selection.candidates if c.method == "psa" and c.n_components == 2]
    assert np.allclose(ends, [c["r_n"].interval for c in first])
    score = ub.plot.versus_k(selection, "score")
    assert [line.get_label() for line in score.lines] == ["psa", "gp"]


def test_the_bound_of_what_was_not_embedded():
    x, _ = ub.datasets.s_curve(1000, random_state=0)
    found = ub.select(x, [6, 9, 12], 2, methods=["psa"], max_time=1e-9, random_state=0)
    assert [c.n_neighbors for c in found.candidates] == [12]
    bound = ub.plot.versus_k(found).lines[1].get_ydata()
    assert bound.tolist() == [*(found.grids[k].bound[1] for k in (6, 9)), found.best["lower_bound"].value]


def test_flagged_sizes_are_shaded():
    x, _ = ub.datasets.swiss_roll(600, random_state=0)
    found = ub.select(x, [8, 32], 2, methods=["gp"], exhaustive=True, random_state=0)
    ax = ub.plot.versus_k(found)
    spans = [p for p in ax.patches if p.get_label() == "short circuits"]
    assert len(spans) == 1
    assert spans[0].get_x() < 32 < spans[0].get_x() + spans[0].get_width()


def test_scree(selection):
    ax = ub.plot.scree(selection.dimension)
    assert np.array_equal(ax.lines[0].get_ydata(), selection.dimension.scree)
    assert ax.lines[1].get_xdata() == [2, 2]
    many = ub.plot.scree(selection)
    assert len(many.lines) == 4
    assert np.array_equal(many.lines[2].get_ydata(), selection.grids[12].bound)


def test_shepard_counts_pairs(roll):
    x, u = roll
    ax = ub.plot.shepard(x[:200], u[:200])
    assert ax.collections[0].get_array().sum() == 200 * 199 / 2
    near = np.linalg.norm(x[:200, None] - x[None, :200], axis=2)[np.triu_indices(200, 1)]
    far = np.linalg.norm(u[:200, None] - u[None, :200], axis=2)[np.triu_indices(200, 1)]
    assert ax.get_title() == f"correlation {np.corrcoef(near, far)[0, 1]:.3f}"
    assert ax.get_xlim()[0] == ax.get_ylim()[0] == 0
    assert ax.get_xlim()[1] >= near.max()
    sample = ub.plot.shepard(x, u, n_pairs=5000)
    assert sample.collections[0].get_array().sum() == 5000
    (line,) = ax.lines
    assert np.array_equal(line.get_xdata(), line.get_ydata())


def test_correlation_circle(roll):
    x, u = roll
    ax = ub.plot.correlation_circle(u, x, names=["a", "b", "c"])
    tips = np.array([note.xy for note in ax.texts if hasattr(note, "xy")])
    expected = [[np.corrcoef(x[:, j], u[:, c])[0, 1] for c in (0, 1)] for j in range(3)]
    assert np.allclose(tips, expected)
    assert [t.get_text() for t in ax.texts if t.get_text()] == ["a", "b", "c"]
    pca = ub.PCA(2).fit(x)
    same = ub.plot.correlation_circle(pca)
    assert np.allclose([n.xy for n in same.texts if hasattr(n, "xy")], pca.correlations_)


# ---------------------------------------------------------------------------- rules


def test_large_clouds_draw_quickly():
    y = np.random.default_rng(0).random((200_000, 2))
    began = time.process_time()
    ub.plot.embedding(y, y[:, 0]).figure.canvas.draw()
    assert time.process_time() - began < 15  # about one second on an idle machine


def test_matplotlib_comes_with_the_first_picture():
    code = "import sys, unbend as ub; ub.plot.embedding; print('matplotlib' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout.strip() == "False"


def test_without_matplotlib_it_says_so(monkeypatch, roll):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for call in (lambda: ub.plot.embedding(roll[1], roll[1][:, 0]), lambda: ub.plot.shepard(*roll)):
        with pytest.raises(ImportError, match=r"pip install 'unbend\[plot\]'"):
            call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x, u: ub.plot.embedding(u, u), "one value for each point"),
        (lambda x, u: ub.plot.embedding(u, u[:9, 0]), "color has 9 values"),
        (lambda x, u: ub.plot.embedding(u, components=(0, 2)), "component 2 is out of range"),
        (lambda x, u: ub.plot.error(x), "Y is missing"),
        (lambda x, u: ub.plot.error(x, u, measure="beauty"), "'beauty' was not measured"),
        (lambda x, u: ub.plot.grid([u]), "give a Comparison"),
        (lambda x, u: ub.plot.grid({}), "embeddings is empty"),
        (lambda x, u: ub.plot.grid({"a": u}, measure="r_n"), "holds no errors"),
        (lambda x, u: ub.plot.grid({"a": u}, u[:, 0], measure="r_n"), "not both"),
        (lambda x, u: ub.plot.stretch(x, u[:, :1]), "at least 2 are needed"),
        (lambda x, u: ub.plot.neighborhood(x, u, 1000), "point = 1000 is out of range"),
        (lambda x, u: ub.plot.neighborhood(x, u, 0, ax=[None]), "ax holds 1 axes: at least 2 are needed"),
        (lambda x, u: ub.plot.r_nx(u), "has no ranks"),
        (lambda x, u: ub.plot.shepard(x, u[:5]), "has 1000 rows"),
        (lambda x, u: ub.plot.correlation_circle(u), "X is missing"),
        (lambda x, u: ub.plot.embedding(ub.quality(x, u, ["ranks"])), "holds no embedding"),
        (lambda x, u: ub.plot.embedding(u, seams="all"), "seams = 'all' is unknown"),
        (lambda x, u: ub.plot.embedding(u, seams=[(0, 1)]), "seams holds a tuple"),
        (
            lambda x, u: ub.plot.embedding(
                u, seams=[Seam(np.arange(3), np.arange(1998, 2001), True, True, 3)]
            ),
            "goes through point 2000, but the embedding has 1000 rows",
        ),
    ],
)
def test_bad_input_is_refused(roll, call, message):
    with pytest.raises(ValueError, match=message):
        call(*roll)


# Seams -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tube():
    x, _ = ub.datasets.cylinder(1500, random_state=0)
    return ub.ProcrustesAlignment().fit(x)


def drawn_in(ax, color):
    """Return where dots of one color lie, and how many clouds of them there are."""
    clouds = [c for c in ax.collections if len(c.get_facecolors()) == 1]
    same = [c for c in clouds if to_hex(c.get_facecolors()[0]) == color]
    return np.concatenate([np.asarray(c.get_offsets()) for c in same]), len(same)


@pytest.mark.parametrize("give", ["model", "seams"])
def test_both_sides_of_a_seam_have_one_color(tube, give):
    (seam,) = tube.seams_
    held = {"Y": tube} if give == "model" else {"Y": tube.embedding_, "seams": tube.seams_}
    ax = ub.plot.embedding(**held)
    dots, clouds = drawn_in(ax, CATEGORIES[0])
    expected = tube.embedding_[np.concatenate([seam.points, seam.partners])]
    assert clouds == 1
    assert np.array_equal(dots, expected)
    assert [text.get_text() for text in ax.texts if text.get_text()] == ["1", "1"]


def test_arrows_run_along_both_sides_as_they_belong_together(tube):
    (seam,) = tube.seams_
    ax = ub.plot.embedding(tube)
    ways = [np.subtract(*arrow._posA_posB[::-1]) for arrow in ax.patches]
    runs = [tube.embedding_[side[-1]] - tube.embedding_[side[0]] for side in (seam.points, seam.partners)]
    assert len(ways) == 2
    for way, run in zip(ways, runs, strict=True):
        assert way @ run > 0.7 * np.linalg.norm(way) * np.linalg.norm(run)
    assert ways[0] @ ways[1] > 0  # a cylinder: both the same way


def test_arrows_are_hollow_where_the_surface_comes_through_reflected():
    y = np.random.default_rng(0).random((40, 2))
    for reflected in (False, True):
        seam = Seam(np.arange(12), np.arange(20, 32), reflected, False, 12)
        ax = ub.plot.embedding(y, seams=[seam])
        faces = {to_hex(arrow.get_facecolor()) for arrow in ax.patches}
        assert faces == {"#ffffff" if reflected else CATEGORIES[0]}


def test_no_seams_if_none_are_wanted(tube):
    ax = ub.plot.embedding(tube, seams=[])
    assert len(ax.collections) == 1
    assert len(ax.patches) == 0


def test_seams_of_one_and_three_components():
    t = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    ring = ub.ProcrustesAlignment(n_components=1, n_neighbors=6).fit(np.c_[np.cos(t), np.sin(t)])
    assert len(ring.seams_) == 1
    assert len(ub.plot.embedding(ring).collections) == 3
    seam, y = (
        Seam(np.arange(12), np.arange(20, 32), False, False, 12),
        np.random.default_rng(0).random((40, 3)),
    )
    ax = plt.figure().add_subplot(projection="3d")
    ub.plot.embedding(y, seams=[seam], ax=ax)
    assert [text.get_text() for text in ax.texts] == ["1", "1"]


def test_grids_show_seams(tube):
    left, right = ub.plot.grid({"cut": tube, "array": tube.embedding_})
    assert (len(left.patches), len(right.patches)) == (2, 0)


def test_ellipses_of_unsure_places():
    x, coordinates = ub.datasets.swiss_roll(600, noise=0.2, random_state=0)
    found = ub.uncertainty(x, coordinates, n_replicates=5, random_state=0)
    ax = ub.plot.uncertainty(found, coordinates[:, 0], n_ellipses=40, level=0.5)
    ellipses = ax.collections[1]
    centers = [np.flatnonzero((found.embedding == place).all(axis=1))[0] for place in ellipses.get_offsets()]
    areas = np.pi / 4 * ellipses.get_widths() * ellipses.get_heights()
    determinants = np.linalg.det(found.covariance[centers])
    np.testing.assert_allclose(areas, np.pi * found.ellipse_scale(0.5) ** 2 * np.sqrt(determinants))
    with pytest.raises(ValueError, match="an embedding in 1 dimension has no ellipses"):
        ub.plot.uncertainty(ub.uncertainty(x, coordinates[:, :1], n_replicates=3, random_state=0))
