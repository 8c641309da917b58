"""Fits with groups, ties, fixed points and weights, by the rules of every estimator."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
import unbend as ub
from interrupting import IMPORT, LIMIT, signals
from sklearn.base import clone

pytestmark = pytest.mark.filterwarnings("ignore::unbend.UntrustedWarning", "ignore::unbend.NotFlatWarning")

N = 700
X, TRUTH = ub.datasets.s_curve(N, random_state=0)
BOTH = np.concatenate([X, X + 40]).astype(np.float32)
TIED = np.stack([np.arange(0, N, 20), np.arange(0, N, 20) + N], axis=1)
ROWS = np.arange(5, N, 50)
CASES = {
    "groups": (BOTH, {"groups": np.repeat(["one", "two"], N), "ties": TIED}),
    "rigid": (BOTH, {"groups": np.repeat([True, False], N), "ties": np.column_stack([TIED, 0 * TIED[:, 0]])}),
    "fixed": (X, {"fixed": (ROWS, TRUTH[ROWS])}),
    "soft": (X, {"fixed": (ROWS, TRUTH[ROWS], 0.3)}),
    "weights": (X, {"sample_weight": np.linspace(1, 3, N)}),
    "all": (
        BOTH,
        {
            "groups": np.repeat([0, 1], N),
            "ties": TIED,
            "fixed": (ROWS, TRUTH[ROWS]),
            "sample_weight": np.linspace(1, 3, 2 * N),
        },
    ),
}
every_case = pytest.mark.parametrize("case", CASES)
both = pytest.mark.parametrize("kind", [ub.ProcrustesAlignment, ub.GreedyProcrustes])


@both
@every_case
def test_files_pickles_clones_and_threads(kind, case, tmp_path):
    x, given = CASES[case]
    model = kind(random_state=0, n_jobs=1).fit(x, **given)
    again = clone(model).set_params(n_jobs=2).fit(x, **given)
    for copy in (again, ub.load(model.save(tmp_path / "map.unbend")), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copy.embedding_, model.embedding_)
        np.testing.assert_array_equal(copy.groups_, model.groups_)
        np.testing.assert_array_equal(copy.transform(x[:30] + 0.01), model.transform(x[:30] + 0.01))


@both
@every_case
def test_the_layout_of_the_input_does_not_matter_and_nothing_is_written_to_it(kind, case):
    x, given = CASES[case]
    frozen = x.copy()
    frozen.flags.writeable = False
    one = kind(random_state=0).fit(frozen, **given).embedding_
    np.testing.assert_array_equal(kind(random_state=0).fit(np.asfortranarray(x), **given).embedding_, one)


@both
@every_case
def test_a_callback_stops_the_fit_and_nothing_changes(kind, case):
    x, given = CASES[case]
    model = kind(random_state=0, callback=lambda *_: True)
    before = dict(vars(model))
    with pytest.raises(ub.Stopped):
        model.fit(x, **given)
    assert vars(model) == before


@both
@every_case
def test_memory_is_checked_before_the_fit(kind, case):
    x, given = CASES[case]
    with pytest.raises(MemoryError, match="The fit needs about"):
        kind(max_memory=1e5).fit(x, **given)


@both
def test_exact_pins_stay_and_soft_ones_come_near(kind):
    exact, soft = (kind(random_state=0).fit(X, **CASES[case][1]).embedding_ for case in ("fixed", "soft"))
    np.testing.assert_allclose(exact[ROWS], TRUTH[ROWS], rtol=0, atol=1e-12)
    assert np.abs(soft[ROWS] - TRUTH[ROWS]).max() < 0.05
    np.testing.assert_allclose(exact, TRUTH, rtol=0, atol=0.3)


@both
def test_tied_groups_come_out_on_each_other(kind):
    x, given = CASES["groups"]
    y = kind(random_state=0).fit(x, **given).embedding_
    np.testing.assert_allclose(y[:N], y[N:], rtol=0, atol=0.05)


@both
def test_what_does_not_go_together_is_refused(kind):
    for name in ("cut", "candidates"):
        with pytest.raises(ValueError, match=f"{name} = True does not go with ties or fixed points"):
            kind(**{name: True}).fit(X, ties=[[0, 1]])
    with pytest.raises(ValueError, match="include_self = False does not go with ties or fixed points"):
        kind(include_self=False).fit(X, fixed=(ROWS, TRUTH[ROWS]))
    with pytest.raises(ValueError, match="groups say where neighbors are searched"):
        kind().fit(X, groups=np.zeros(N), neighborhoods=ub.neighborhoods(X, 8))


def test_greedy_steps_alone_know_no_ties():
    with pytest.raises(
        ValueError, match=r"refine = None does not go with ties .* or use ProcrustesAlignment"
    ):
        ub.GreedyProcrustes(refine=None).fit(X, ties=[[0, 1]])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ties": [[0, 5, 2e6]]}, "row 0 of ties has weight 2e.06: it must be from 0 to 1e.06"),
        ({"ties": [[True, False]]}, "ties must be rows"),
        ({"ties": [[0, 1j]]}, "ties must be rows"),
        ({"fixed": (ROWS, TRUTH[ROWS], 1e300)}, "at most 1e.06, or infinite for points that do not move"),
        ({"fixed": ([], np.zeros((0, 2)))}, "fixed holds no points: leave it out"),
        ({"fixed": (ROWS, TRUTH[ROWS] * np.nan)}, "coordinates of fixed holds NaN at row 0, column 0"),
        ({"sample_weight": np.r_[1e300, np.ones(N - 1)]}, r"holds 1 and 1e\+300: .* at most 1e\+09 times"),
        ({"sample_weight": np.ones(N) * 1j}, "sample_weight must hold one number for each point"),
        ({"sample_weight": np.zeros(N)}, "all weights of sample_weight are zero"),
    ],
)
@both
def test_values_that_spoil_eq_11_are_refused_before_any_work(kind, given, message):
    seen = []
    with pytest.raises(ValueError, match=message):
        kind(callback=lambda *stage: seen.append(stage)).fit(X, **given)
    assert seen == []


def test_uncertainty_and_score_of_joint_fits():
    x, given = CASES["rigid"]
    model = ub.ProcrustesAlignment(random_state=0).fit(x, **given)
    with pytest.raises(ValueError, match="score searches neighbors across groups"):
        model.score(x)
    found = ub.uncertainty(model, n_replicates=5, random_state=0)
    low, high = found.distance_interval(3, 300)
    assert low < np.linalg.norm(TRUTH[3] - TRUTH[300]) < high
    np.testing.assert_array_equal(found.component_labels, np.repeat([0, 1], N))


@signals
@pytest.mark.parametrize("kind", ["ProcrustesAlignment", "GreedyProcrustes"])
def test_ctrl_c(kind):
    code = f"""
import numpy as np, unbend as ub
n = 50_000
x, _ = ub.datasets.swiss_roll(n, noise=0.02, random_state=0)
x = np.concatenate([x, x + 40])
ties = np.stack([np.arange(0, n, 10), np.arange(0, n, 10) + n], axis=1)
model = ub.{kind}(random_state=0)
strike = Strike(0.3)
try:
    strike.start()
    model.fit(x, groups=np.repeat([0, 1], n), ties=ties)
except KeyboardInterrupt:
    print(strike.late, [name for name in vars(model) if name.endswith("_")])
"""
    done = subprocess.run([sys.executable, "-c", IMPORT + code], capture_output=True, text=True, timeout=300)
    late, left = done.stdout.split(maxsplit=1)
    assert (left.strip(), done.stderr) == ("[]", "")
    assert float(late) < LIMIT


def test_equal_fits_warn_of_nothing():
    x, given = CASES["all"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ub.UntrustedWarning)
        ub.ProcrustesAlignment().fit(x, **given)
