"""The price of normalization: its terms against section 5 of the paper, its verdicts against what happens."""

import json
import math
import warnings

import numpy as np
import pytest
import scipy.linalg
import unbend as ub
from hypothesis import given, settings
from hypothesis import strategies as st
from textbook_weights import members, twins

K = 8
TWINS = {"LLE": "lle", "LTSA": "ltsa self", "HLLE": "hlle self", "LEM": "lem", "DFM": "dfm"}
ESTIMATORS = {
    "LLE": ub.LocallyLinearEmbedding,
    "LTSA": ub.LTSA,
    "HLLE": ub.HessianLLE,
    "LEM": ub.LaplacianEigenmaps,
    "DFM": ub.DiffusionMaps,
}
SURFACES = {
    "roll": lambda n=400: ub.datasets.swiss_roll_wittman(n, noise=0.05, random_state=3),
    "strip": lambda n=400: ub.datasets.strip(n, length=3.0, noise=0.01, random_state=3),
    "fishbowl": lambda n=400: ub.datasets.fishbowl(n, stretch=2.0, random_state=3),
}


def box(n, *sides, seed=0):
    points = np.random.default_rng(seed).uniform(size=(n, len(sides))) * sides
    return points, points


# ---------------------------------------------------------------------------- textbook twin


def about_axes(x, weights):
    """The coordinates before eq. 9, with kappa >= 1; sections 5.1 and 5.2."""
    x = x - np.average(x, axis=0, weights=weights)
    variances, axes = np.linalg.eigh(x.T @ np.diag(weights / weights.sum()) @ x)
    x = x @ axes[:, ::-1]
    return (-x if kappa(x[:, 0], weights) < 1 else x), np.sqrt(variances[::-1])


def kappa(first, weights):
    """Eq. 11, but without square roots: only then are the columns of Z uncorrelated, as it says."""
    below = sum(w * v**2 for v, w in zip(first, weights, strict=True) if v < 0)
    above = sum(w * v**2 for v, w in zip(first, weights, strict=True) if v >= 0)
    return below / above


def phi(w, columns, nb):
    """Eq. 2, a number for each neighborhood."""
    return np.array([np.linalg.norm(w[i] @ columns[members(nb, i)]) ** 2 for i in range(len(columns))])


def price(name, x, coordinates, nb):
    """The terms of section 5.3 for two dimensions."""
    w, n = twins(TWINS[name], x, nb), len(x)
    weights = np.ones(n)
    if name in ("LEM", "DFM"):
        weights = np.zeros(n)
        for i in range(n):
            each = w[i][:, 0] ** 2
            weights[i] += each.sum()
            np.add.at(weights, nb[i], each)
    x, (sigma, tau) = about_axes(coordinates, weights)
    k = kappa(x[:, 0], weights)
    bent = np.array([-v if v < 0 else k * v for v in x[:, 0]])
    bent -= np.average(bent, weights=weights)
    rho = math.sqrt(np.average(bent**2, weights=weights))
    assert abs(np.average(bent * x[:, 0], weights=weights)) < 1e-9 * rho * sigma
    e1, e2 = (phi(w, x[:, [j]], nb).mean() for j in (0, 1))
    split = [i for i in range(n) if len(set(x[members(nb, i), 0] >= 0)) == 2]
    r_max = max(np.linalg.norm(a - b) for i in split for a in x[members(nb, i)] for b in x[members(nb, i)])
    worst = max(phi(w, bent[:, None], nb)[split]) / (k * r_max) ** 2
    c_a = {"LLE": worst, "LTSA": K**2, "HLLE": 3 * (K + 1), "LEM": 0, "DFM": 0}[name]
    kinks = len(split) / n * c_a * r_max**2
    return {
        "phi_y": phi(w, x / [sigma, tau], nb).sum(),
        "phi_z": phi(w, np.column_stack([x[:, 0] / sigma, bent / rho]), nb).sum(),
        "e1": e1,
        "e2": e2,
        "sigma": sigma,
        "tau": tau,
        "kappa": k,
        "rho": rho,
        "split": len(split) / n,
        "r_max": r_max,
        "c_a": c_a,
        "skew": 0,
        "theorem": (k**2 / rho**2 * (e1 + kinks), e2 / tau**2),
        "corollary": (4 * (1 + kinks / (math.sqrt(2) * e2)), sigma / tau),
        "costs": ritz(w, x / [sigma, tau], weights, nb),
    }


def ritz(w, y, weights, nb):
    """The least costs among polynomials of degree 8 of y / sqrt(1 + y^2), and y."""
    bounded = y / np.sqrt(1 + y**2)
    columns = [bounded[:, 0] ** a * bounded[:, 1] ** b for a in range(9) for b in range(9 - a) if a + b]
    columns = np.column_stack([y, *columns])
    columns -= np.average(columns, axis=0, weights=weights)
    root = np.sqrt(weights / weights.sum())[:, None]
    q = scipy.linalg.orth(root * columns / np.linalg.norm(columns, axis=0), rcond=1e-10) / root
    cost = sum((w[i] @ q[members(nb, i)]).T @ (w[i] @ q[members(nb, i)]) for i in range(len(y)))
    return np.linalg.eigvalsh(cost)


@pytest.mark.parametrize("where", SURFACES)
@pytest.mark.parametrize("name", TWINS)
def test_the_terms_are_those_of_the_paper(name, where):
    x, coordinates = SURFACES[where]()
    nb = ub.neighborhoods(x, K)
    found = ub.price_of_normalization(x, coordinates, K, algorithms=name).to_dict()[name]
    expected = price(name, x, coordinates, nb)
    costs = expected.pop("costs")
    np.testing.assert_allclose(found["costs"], costs[: len(found["costs"])], rtol=1e-4)
    for term, value in expected.items():
        np.testing.assert_allclose(found[term], value, rtol=1e-7, atol=1e-12, err_msg=term)


# ---------------------------------------------------------------------------- what is proved


@settings(max_examples=20, deadline=None)
@given(
    length=st.floats(1, 12),
    depth=st.sampled_from([0.0, 0.7, 1.0]),
    noise=st.floats(0, 0.05),
    seed=st.integers(0, 9999),
)
def test_the_bound_on_the_curve_holds(length, depth, noise, seed):
    """Theorem 5.1, and section 5.4 as it should be."""
    _, u = box(300, length, 1.0, *([depth] if depth else []), seed=seed)
    rng = np.random.default_rng(seed)
    u = u + 0.3 * np.sin(u[:, ::-1])
    x = np.column_stack([u, u[:, 0] ** 2 / 20]) + noise * rng.normal(size=(300, u.shape[1] + 1))
    graph = ub.neighborhoods(x, 12)
    if graph.n_connected_components > 1:
        return
    for one in ub.price_of_normalization(x, u, neighborhoods=graph).verdicts.values():
        mean_y, mean_z = one.phi_y / 300, one.phi_z / 300
        kept = mean_y - one.e2 / one.tau**2
        assert mean_z <= (kept + one.theorem[0]) * (1 + 1e-9), one.algorithm
        assert one.phi_y > one.phi_z or not (one.by_theorem or one.by_corollary)


def test_the_constant_of_lle_can_be_larger_than_the_papers():
    """Where all neighbors coincide W_i x_i is as long as the neighborhood is wide, not a K-th of that."""
    x = np.repeat([[-2.0, 0.0], [0.1, 0.5], [1.9, 0.0]], 10, axis=0)
    lists = [[(10 * (i // 10 + 1) + j) % 30 for j in range(K)] for i in range(30)]
    graph = ub.Neighborhoods(np.array(lists).ravel().astype(np.uint32), indptr=np.arange(0, 31 * K, K))
    verdict = ub.price_of_normalization(x, x, neighborhoods=graph, algorithms="LLE")["LLE"]
    assert verdict.c_a > 1 / K
    assert verdict.phi_z / 30 <= verdict.e1 / verdict.sigma**2 + verdict.theorem[0] + 1e-9


@pytest.mark.parametrize("sides", [(3, 1), (3, 2, 1), (4, 3, 2, 1), (5, 4, 3, 2, 1)])
def test_the_curve_has_unit_covariance(sides):
    x, coordinates = box(400, *sides)
    found = ub.price_of_normalization(x, coordinates + 0.2 * np.sin(coordinates), 24)
    for columns in (found.y, found.z):
        np.testing.assert_allclose(columns.T @ columns / 400, np.eye(len(sides)), atol=1e-10)
        np.testing.assert_allclose(columns.mean(axis=0), 0, atol=1e-10)


@pytest.mark.parametrize("name", TWINS)
def test_forecasts_cost_at_least_what_the_algorithm_finds(name):
    x, coordinates = SURFACES["roll"](1000)
    found = ub.price_of_normalization(x, coordinates, K, algorithms=name)
    fit = ESTIMATORS[name](n_neighbors=K).fit(x)
    nb = ub.neighborhoods(x, K)
    unit = 1000.0
    if name in ("LEM", "DFM"):
        weights = twins(TWINS[name], x, nb)
        unit = 2 * sum((w[:, 0] ** 2).sum() for w in weights)
    least = fit.eigenvalues_[:2] * unit
    assert (np.array(found[name].costs[:2]) >= least * (1 - 1e-9)).all()


def test_the_cheapest_functions_are_uncorrelated_and_sorted():
    x, coordinates = SURFACES["fishbowl"](800)
    found = ub.price_of_normalization(x, coordinates, K)
    for name, verdict in found.verdicts.items():
        assert list(verdict.costs) == sorted(verdict.costs)
        assert sum(verdict.costs[:2]) <= min(verdict.phi_y, verdict.phi_z)
        if name not in ("LEM", "DFM"):
            forecast = found.forecasts[name]
            np.testing.assert_allclose(forecast.T @ forecast / 800, np.eye(2), atol=1e-8)


# ---------------------------------------------------------------------------- what happens


def explained(truth, output):
    """The least share of variance of the truth that an affine map of the output explains."""
    u, y = (np.linalg.qr(points - points.mean(axis=0))[0] for points in (truth, output))
    return np.linalg.svd(u.T @ y, compute_uv=False)[-1] ** 2


@pytest.mark.parametrize(("columns", "outcome"), [(41, "holds"), (39, "would collapse")])
@pytest.mark.parametrize("name", ["LEM", "DFM"])
def test_the_grids_of_figure_4(name, columns, outcome):
    x, coordinates = ub.datasets.grid(81, columns)
    verdict = ub.price_of_normalization(x, coordinates, K, algorithms=name)[name]
    assert (verdict.outcome, verdict.phi_y > verdict.phi_z) == (outcome, outcome != "holds")
    share = explained(coordinates, ESTIMATORS[name](n_neighbors=K).fit(x).embedding_)
    assert share > 0.95 if outcome == "holds" else share < 0.01


@pytest.mark.parametrize("name", ["LTSA", "HLLE", "LEM", "DFM"])
def test_forecasts_look_like_the_output(name):
    x, coordinates = ub.datasets.strip(1500, length=6.0, noise=0.02, random_state=0)
    found = ub.price_of_normalization(x, coordinates, 12, algorithms=name)
    assert found[name].outcome == "would collapse"
    output = ESTIMATORS[name](n_neighbors=12).fit(x).embedding_
    assert explained(coordinates, output) < 0.2
    assert explained(output, found.forecasts[name]) > 0.8


def test_stretched_fishbowls_collapse_though_z_costs_more():
    x, coordinates = ub.datasets.fishbowl(1500, stretch=6.0, random_state=0)
    verdict = ub.price_of_normalization(x, coordinates, K, algorithms="LEM")["LEM"]
    assert verdict.phi_y < verdict.phi_z
    assert verdict.outcome == "would collapse"
    assert explained(coordinates, ub.LaplacianEigenmaps(n_neighbors=K).fit(x).embedding_) < 0.1


def test_points_that_are_nobodys_neighbors_cost_no_dimension():
    x, coordinates = ub.datasets.swiss_roll(1500, random_state=0)
    wider = ub.neighborhoods(x, K + 1)
    lists = np.array([[j for j in wider[i] if j != 7][:K] for i in range(1500)])
    graph = ub.Neighborhoods(lists.ravel().astype(np.uint32), indptr=np.arange(0, 1501 * K, K))
    found = ub.price_of_normalization(x, coordinates, neighborhoods=graph, algorithms=["HLLE", "LTSA"])
    for name in ("HLLE", "LTSA"):
        assert found[name].outcome == "holds"
        output = ESTIMATORS[name]().fit(x, neighborhoods=graph).embedding_
        assert explained(coordinates, output) > 0.95


def test_as_many_dimensions_as_needed_keep_all():
    x, coordinates = ub.datasets.strip(1500, length=3.3, random_state=1)
    x = np.pad(x, [(0, 0), (0, 2)])
    verdict = ub.price_of_normalization(x, coordinates, K, algorithms="LEM")["LEM"]
    assert verdict.needed == 4
    for d in (3, 4):
        output = ub.LaplacianEigenmaps(d, K).fit(x).embedding_
        u, y = (np.linalg.qr(points - points.mean(axis=0))[0] for points in (coordinates, output))
        assert (np.linalg.svd(u.T @ y, compute_uv=False)[-1] ** 2 > 0.5) == (d == 4)


def test_a_box_collapses_in_three_dimensions():
    x, coordinates = box(3000, 6.0, 2.0, 2.0)
    found = ub.price_of_normalization(x, coordinates, 12, algorithms=["LEM", "LTSA"])
    assert found["LEM"].outcome == "would collapse"
    assert found["LEM"].by_theorem
    assert not found["LEM"].corollary_applies
    assert found["LTSA"].outcome == "holds"


# ---------------------------------------------------------------------------- invariances


def close(one, other):
    for name, verdict in one.verdicts.items():
        theirs = other[name]
        assert (verdict.outcome, verdict.needed) == (theirs.outcome, theirs.needed), name
        ratios = [a.phi_y / a.phi_z for a in (verdict, theirs)]
        assert ratios[0] == pytest.approx(ratios[1], rel=1e-6), name
        np.testing.assert_allclose(
            np.array(verdict.costs) / verdict.phi_z, np.array(theirs.costs) / theirs.phi_z, rtol=1e-5
        )


@pytest.mark.parametrize("where", SURFACES)
def test_motions_and_scales_change_nothing(where):
    x, coordinates = SURFACES[where]()
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    c, s = math.cos(1.0), math.sin(1.0)
    found = ub.price_of_normalization(x, coordinates, K)
    close(found, ub.price_of_normalization(100 * x @ turn + 7, coordinates, K))
    close(found, ub.price_of_normalization(x, 1e-3 * coordinates @ [[c, s], [s, -c]] - 5, K))
    order = np.random.default_rng(1).permutation(len(x))
    close(found, ub.price_of_normalization(x[order], coordinates[order], K))


def test_the_unit_of_an_axis_changes_nothing():
    """Y is normalized: an axis in another unit gives the same verdict."""
    x, coordinates = ub.datasets.rotating_ball(600, random_state=0)
    one, other = (ub.price_of_normalization(x, coordinates * unit, K) for unit in (1.0, (1.0, 0.9)))
    for name in TWINS:
        assert one[name].outcome == other[name].outcome
        assert one[name].phi_y == pytest.approx(other[name].phi_y, rel=0.05)


def test_any_number_of_threads_gives_the_same_bits():
    x, coordinates = SURFACES["roll"](1000)
    one, other = (ub.price_of_normalization(x, coordinates, K, n_jobs=jobs) for jobs in (1, 2))
    assert one.to_dict() == other.to_dict()
    for name in TWINS:
        np.testing.assert_array_equal(one.forecasts[name], other.forecasts[name])


def test_both_precisions():
    x, coordinates = SURFACES["strip"]()
    close(
        ub.price_of_normalization(x.astype(np.float32).astype(float), coordinates, K),
        ub.price_of_normalization(x.astype(np.float32), coordinates, K),
    )


# ---------------------------------------------------------------------------- coordinates that are found


def test_coordinates_are_found_where_none_are_given():
    x, coordinates = ub.datasets.swiss_roll(1500, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ub.price_of_normalization(x)
    given = ub.price_of_normalization(x, coordinates)
    for name in TWINS:
        assert found[name].outcome == given[name].outcome
        assert found[name].sigma / found[name].tau == pytest.approx(
            given[name].sigma / given[name].tau, rel=0.02
        )


def test_doubtful_coordinates_are_warned_of_once():
    x, _ = ub.datasets.cylinder(1000, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ub.price_of_normalization(x, algorithms="LEM")
    assert [str(one.message)[:36] for one in caught] == ["the coordinates that were found are d"[:36]]
    assert caught[0].filename == __file__


# ---------------------------------------------------------------------------- degenerate data, errors


def finite(value):
    if isinstance(value, dict):
        return all(map(finite, value.values()))
    if isinstance(value, tuple | list):
        return all(map(finite, value))
    return not isinstance(value, float) or not math.isnan(value)


@pytest.mark.parametrize("n", [9, 12, 40])
def test_few_points(n):
    x, coordinates = box(n, 2.0, 1.0)
    found = ub.price_of_normalization(x, coordinates, K)
    assert finite(found.to_dict())
    assert all(2 <= verdict.needed < n for verdict in found.verdicts.values())


def test_copies_and_extreme_units():
    x, coordinates = SURFACES["strip"](200)
    x, coordinates = np.repeat(x, 4, axis=0), np.repeat(coordinates, 4, axis=0)
    for unit in (1e-140, 1.0, 1e140):
        found = ub.price_of_normalization(unit * x, unit * coordinates, 24)
        assert finite({name: verdict.needed for name, verdict in found.verdicts.items()})
        assert found["LEM"].outcome == "would collapse"


def test_a_grid_costs_ltsa_nothing():
    x, coordinates = ub.datasets.grid(30, 6)
    verdict = ub.price_of_normalization(x, coordinates, K, algorithms="LTSA")["LTSA"]
    assert (verdict.outcome, verdict.needed) == ("holds", 2)
    assert "more than 1000 times as much" in verdict.sentence


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda x, u: (x, u[:5]), "X has 300 rows, but coordinates has 5"),
        (lambda x, u: (x, u[:, :1]), "coordinates of one dimension cannot collapse"),
        (lambda x, u: (x, np.column_stack([u[:, 0], u[:, 0]])), "no extent in 1 of 2 dimensions"),
        (lambda x, u: (x, 0 * u), "no extent in 2 of 2 dimensions"),
        (lambda x, u: (x, np.r_[u[:-1], [[1, np.nan]]]), "not finite in row 299"),
        (lambda x, u: (np.r_[x[:150], x[150:] + 99], u), "the neighborhood graph has 2 pieces"),
        (lambda x, u: (x, u, 300), "n_neighbors = 300 needs at least 301 points, got 300"),
        (lambda x, u: (x, u, 4), "HLLE"),
    ],
)
def test_errors_name_the_numbers(arguments, message):
    x, coordinates = ub.datasets.strip(300, length=2.0, noise=0.01, random_state=0)
    with pytest.raises(ValueError, match=message):
        ub.price_of_normalization(*arguments(x, coordinates))


@pytest.mark.parametrize("names", ["UMAP", ["LEM", "UMAP"], []])
def test_unknown_algorithms_are_refused(names):
    x, coordinates = box(50, 2.0, 1.0)
    with pytest.raises(ValueError, match=r"'LLE', 'LTSA', 'HLLE', 'LEM', 'DFM'"):
        ub.price_of_normalization(x, coordinates, algorithms=names)


# ---------------------------------------------------------------------------- what is shown


def test_table_and_sentences():
    x, coordinates = ub.datasets.grid(81, 39)
    found = ub.price_of_normalization(x, coordinates)
    text = str(found)
    assert text.startswith("3,159 points, sigma / tau = 2.08\n")
    assert "LEM would collapse (the data are 2.08 times as long as wide): 2 functions are cheaper" in text
    assert "LTSA should keep all dimensions" in text
    assert max(map(len, text.split("\n\n")[1].splitlines())) < 80


def test_json_holds_all_numbers():
    x, coordinates = SURFACES["strip"]()
    found = ub.price_of_normalization(x, coordinates)
    read = json.loads(found.to_json())
    assert list(read) == list(TWINS)
    assert read["LEM"]["costs"] == list(found["LEM"].costs)
    assert read["LEM"]["by_theorem"] is found["LEM"].by_theorem


def test_plot():
    pytest.importorskip("matplotlib").use("Agg")
    x, coordinates = ub.datasets.strip(600, length=4.0, random_state=0)
    found = ub.price_of_normalization(x, coordinates, algorithms=["LTSA", "LEM"])
    titles = [ax.get_title() for ax in found.plot().axes]
    assert titles[2] == "what LEM should give: would collapse"
    assert found.plot("LTSA").axes[2].get_title() == "what LTSA should give: holds"
    calm = ub.price_of_normalization(x, coordinates, algorithms="LTSA")
    assert len(calm.plot().axes) == 2
    with pytest.raises(ValueError, match="'UMAP' is unknown"):
        found.plot("UMAP")


@pytest.mark.parametrize("exponent", [-1000, -600, 490])
def test_units_of_the_coordinates_change_no_verdict(exponent):
    x, coordinates = ub.datasets.strip(300, length=3.0, random_state=0)
    usual = ub.price_of_normalization(x, coordinates)
    scaled = ub.price_of_normalization(x, np.ldexp(coordinates, exponent))
    for name, verdict in usual.verdicts.items():
        other = scaled[name]
        free = ("outcome", "needed", "costs", "phi_y", "phi_z", "kappa", "c_a", "theorem", "corollary")
        assert [getattr(other, name) for name in free] == [getattr(verdict, name) for name in free]
        assert other.sigma == math.ldexp(verdict.sigma, exponent)


@pytest.mark.parametrize("algorithms", [3, None, [["LLE"]], b"LLE", [1.5]])
def test_what_names_no_algorithm_is_shown(algorithms):
    x, coordinates = ub.datasets.strip(100, random_state=0)
    with pytest.raises(ValueError, match="is unknown: there are 'LLE'"):
        ub.price_of_normalization(x, coordinates, algorithms=algorithms)


@pytest.mark.parametrize("n", [4, 5, 400])
def test_dependent_coordinates_have_no_extent(n):
    """Rounding alone gives them a variance above zero; a dimension of rounding is not judged."""
    rng = np.random.default_rng(n)
    plane = rng.normal(size=(n, 2))
    coordinates = plane @ rng.normal(size=(2, 4))
    with pytest.raises(ValueError, match="no extent in 2 of 4 dimensions"):
        ub.price_of_normalization(rng.normal(size=(n, 5)), coordinates, 3, algorithms="LEM")
