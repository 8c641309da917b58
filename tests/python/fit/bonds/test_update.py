"""Updates: new points in an old map."""

import numpy as np
import pytest
import unbend as ub
from scipy.spatial import procrustes

X, TRUTH = ub.datasets.swiss_roll(3000, random_state=0)
ORDER = np.random.default_rng(1).permutation(3000)
OUTWARD = np.argsort(TRUTH[:, 0])


def error(truth, y):
    """The root mean square distance of images from where the best motion and scale puts the truth."""
    return np.sqrt(procrustes(truth, y)[2] * ((truth - truth.mean(axis=0)) ** 2).sum() / len(truth))


@pytest.mark.parametrize("order", [ORDER, OUTWARD], ids=["among", "beyond"])
def test_an_updated_map_is_as_good_as_a_fit_of_all(order):
    """Beyond: the last tenth of a roll, a strip that is longer than it is wide when it is rolled out."""
    x, truth = X[order], TRUTH[order]
    psa = ub.ProcrustesAlignment(random_state=0).fit(x[:2700])
    old = psa.embedding_
    updated = psa.update(x[2700:])
    assert updated is psa
    np.testing.assert_array_equal(psa.embedding_[:2700], old)
    whole = ub.ProcrustesAlignment(random_state=0).fit(x)
    assert error(truth, psa.embedding_) < 1.2 * error(truth[:2700], old)
    assert psa.faithfulness_.r_n < 1.05 * whole.faithfulness_.r_n
    assert psa.verdict_.trusted
    for name in ("X_fit_", "embedding_", "component_labels_", "neighborhoods_", "cut_"):
        assert len(getattr(psa, name)) == 3000
    np.testing.assert_array_equal(psa.transform(x), psa.embedding_)


def test_updates_follow_each_other_and_survive_files(tmp_path):
    psa = ub.ProcrustesAlignment(random_state=0).fit(X[ORDER[:2400]])
    for start in (2400, 2700):
        psa.update(X[ORDER[start : start + 300]])
    assert error(TRUTH[ORDER], psa.embedding_) < 0.05
    again = ub.load(psa.save(tmp_path / "map.unbend"))
    np.testing.assert_array_equal(again.embedding_, psa.embedding_)


def test_updates_do_not_depend_on_the_number_of_threads():
    maps = [
        ub.ProcrustesAlignment(n_jobs=jobs).fit(X[OUTWARD[:2700]]).update(X[OUTWARD[2700:]])
        for jobs in (1, 2)
    ]
    np.testing.assert_array_equal(maps[0].embedding_, maps[1].embedding_)


def test_a_new_cluster_lies_beside_the_old_map():
    psa = ub.ProcrustesAlignment(random_state=0).fit(X[:2700])
    old = psa.embedding_
    with pytest.warns(ub.DisconnectedWarning):
        psa.update(X[2700:] + 1000)
    np.testing.assert_array_equal(psa.embedding_[:2700], old)
    assert psa.embedding_[2700:, 0].min() > old[:, 0].max()
    assert psa.component_labels_.max() == 1


def test_an_update_that_fails_changes_nothing():
    psa = ub.ProcrustesAlignment(random_state=0).fit(X[:2700])
    before = dict(vars(psa))
    with pytest.raises(ValueError, match="NaN"):
        psa.update(np.full((5, 3), np.nan))
    with pytest.raises(ValueError, match="3 features"):
        psa.update(np.zeros((5, 4)))
    with pytest.raises(MemoryError):
        psa.set_params(max_memory=1e5).update(X[2700:])
    psa.set_params(max_memory=None)
    assert vars(psa) == before


def test_maps_that_take_no_update():
    groups = np.repeat([0, 1], 100)
    psa = ub.ProcrustesAlignment().fit(
        np.random.default_rng(0).random((200, 2)), groups=groups, ties=[[0, 100], [1, 101], [2, 102]]
    )
    with pytest.raises(ValueError, match="the embedding is of groups, so it takes no update"):
        psa.update(np.zeros((1, 2)))
    cylinder, _ = ub.datasets.cylinder(1000, random_state=0)
    with pytest.raises(ValueError, match="the embedding has a cut through"):
        ub.ProcrustesAlignment().fit(cylinder).update(cylinder[:5])
    distances = np.linalg.norm(X[:60, None] - X[:60], axis=2)
    with pytest.raises(ValueError, match="update needs points"):
        ub.ProcrustesAlignment(metric="precomputed").fit(distances).update(distances[:5])


@pytest.mark.parametrize("gap", [0.05, 0.06])
def test_a_patch_denser_than_the_border_joins_the_old_points(gap):
    """All neighbors of its points are new, but old points list some of them."""
    rng = np.random.default_rng(0)
    old, new = rng.random((400, 2)), rng.random((600, 2)) * [0.2, 1] + [1 + gap, 0]
    truth = np.concatenate([old, new])
    psa = ub.ProcrustesAlignment(n_neighbors=10).fit(old)
    assert psa.update(new).component_labels_.max() == 0
    assert error(truth, psa.embedding_) < 1e-6


def test_what_takes_no_update_is_refused():
    plane = np.random.default_rng(0).random((200, 2))
    more = plane[:20] + 0.01
    alone = ub.ProcrustesAlignment(n_neighbors=8, include_self=False).fit(plane)
    with pytest.raises(ValueError, match="without their own point"):
        alone.update(more)
    angles = ub.ProcrustesAlignment(n_neighbors=8, objective="R_C").fit(plane)
    with pytest.raises(ValueError, match="R_C"):
        angles.update(more)
    line = ub.ProcrustesAlignment(n_neighbors=8).fit(plane).set_params(n_components=1)
    with pytest.raises(ValueError, match="2 columns, but n_components = 1"):
        line.update(more)
