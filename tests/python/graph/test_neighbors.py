"""Neighborhoods as Python sees them, against loops, SciPy's trees and SciPy's graphs."""

import copy
import pickle
import sys

import numpy as np
import pytest
import scipy.sparse as sp
import textbook
import unbend as ub
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csgraph
from scipy.spatial import cKDTree
from unbend.core.arrays import as_points

SEARCHES = ["auto", "kd_tree", "blocked"]


def cloud(n=200, q=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, q))


def rows(nb):
    return [nb[i].tolist() for i in range(len(nb))]


def same(a, b):
    np.testing.assert_array_equal(a.indptr, b.indptr)
    np.testing.assert_array_equal(a.indices, b.indices)
    if a.distances is None or b.distances is None:
        assert a.distances is b.distances
    else:
        np.testing.assert_array_equal(a.distances, b.distances)


def directed(nb):
    """The graph as SciPy has it, one for every edge."""
    return sp.csr_array(
        (np.ones(len(nb.indices)), nb.indices.astype(np.int64), nb.indptr.copy()), shape=(len(nb),) * 2
    )


# ---------------------------------------------------------------------------- against the oracles


@pytest.mark.parametrize("algorithm", SEARCHES)
@pytest.mark.parametrize(("q", "k"), [(1, 1), (2, 5), (3, 12), (7, 6), (16, 10), (30, 4), (200, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nearest_is_the_textbook(algorithm, q, k, dtype):
    if algorithm == "kd_tree" and q > 16:
        pytest.skip("the tree takes at most 16 dimensions")
    x = cloud(150, q, seed=q).astype(dtype)
    indices, distances = textbook.nearest(x, k)
    nb = ub.neighborhoods(x, k, algorithm=algorithm)
    assert nb.n_neighbors == k
    assert len(nb) == 150
    np.testing.assert_array_equal(nb.indices.reshape(-1, k), indices)
    np.testing.assert_allclose(nb.distances.reshape(-1, k), distances, rtol=1e-13)


@pytest.mark.parametrize("algorithm", SEARCHES)
@pytest.mark.parametrize("radius", [0.0, 0.3, 1.0, 100.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_within_is_the_textbook(algorithm, radius, dtype):
    x = cloud(120, 3, seed=4).astype(dtype)
    nb = ub.neighborhoods(x, radius=radius, algorithm=algorithm)
    assert nb.n_neighbors is None
    assert rows(nb) == [row.tolist() for row in textbook.within(x, radius)]


@pytest.mark.parametrize("algorithm", SEARCHES)
def test_nearest_is_ckdtree(algorithm):
    x = cloud(3000, 3, seed=1)
    distances, indices = cKDTree(x).query(x, 11)
    nb = ub.neighborhoods(x, 10, algorithm=algorithm)
    np.testing.assert_array_equal(nb.indices.reshape(-1, 10), indices[:, 1:])
    np.testing.assert_allclose(nb.distances.reshape(-1, 10), distances[:, 1:], rtol=1e-13)


@pytest.mark.parametrize("algorithm", SEARCHES)
def test_within_is_ckdtree(algorithm):
    x = cloud(2000, 3, seed=2)
    nb = ub.neighborhoods(x, radius=0.4, algorithm=algorithm)
    expected = [sorted(set(row) - {i}) for i, row in enumerate(cKDTree(x).query_ball_point(x, 0.4))]
    assert [sorted(row) for row in rows(nb)] == expected
    for i in range(len(nb)):
        far = nb.distances[nb.indptr[i] : nb.indptr[i + 1]]
        assert (np.diff(far) >= 0).all()
        np.testing.assert_allclose(far, np.linalg.norm(x[nb[i]] - x[i], axis=1), rtol=1e-13)


@settings(max_examples=60)
@given(
    x=hnp.arrays(np.int8, st.tuples(st.integers(3, 60), st.integers(1, 20)), elements=st.integers(-2, 2)),
    k=st.integers(1, 59),
)
def test_ties_and_duplicates_are_the_textbook(x, k):
    k = min(k, len(x) - 1)
    indices, distances = textbook.nearest(x, k)
    for algorithm in SEARCHES if x.shape[1] <= 16 else ["auto", "blocked"]:
        nb = ub.neighborhoods(x, k, algorithm=algorithm)
        np.testing.assert_array_equal(nb.indices.reshape(-1, k), indices)
        np.testing.assert_allclose(nb.distances.reshape(-1, k), distances, rtol=1e-15)


@settings(max_examples=40)
@given(
    x=hnp.arrays(np.int8, st.tuples(st.integers(1, 40), st.integers(1, 5)), elements=st.integers(-2, 2)),
    squared=st.integers(0, 20),
)
def test_a_radius_includes_its_end(x, squared):
    radius = float(np.sqrt(squared))
    expected = [row.tolist() for row in textbook.within(x, radius)]
    for algorithm in SEARCHES:
        assert rows(ub.neighborhoods(x, radius=radius, algorithm=algorithm)) == expected


@pytest.mark.parametrize("algorithm", SEARCHES)
def test_copies_of_a_point_list_each_other_and_never_themselves(algorithm):
    x = np.repeat(cloud(5, 3), 20, axis=0)
    nb = ub.neighborhoods(x, 19, algorithm=algorithm)
    assert rows(nb) == [[j for j in range(i // 20 * 20, i // 20 * 20 + 20) if j != i] for i in range(100)]
    assert (nb.distances == 0).all()


# ---------------------------------------------------------------------------- what an array may be


@pytest.mark.parametrize(
    "dtype", [np.float16, np.uint8, np.int8, np.int16, np.uint16, np.int32, np.int64, np.uint64, bool]
)
def test_dtypes(dtype):
    x = np.random.default_rng(3).integers(0, 2 if dtype is bool else 100, size=(80, 4)).astype(dtype)
    same(ub.neighborhoods(x, 5), ub.neighborhoods(x.astype(float), 5))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_large_integers_are_not_rounded_to_single_precision(dtype):
    x = np.array([[2**24], [2**24 + 1], [2**24 + 3]], dtype=dtype)
    assert rows(ub.neighborhoods(x, 1)) == [[1], [0], [1]]


@pytest.mark.parametrize("dtype", [np.float16, np.int16, np.uint16])
def test_sixteen_bits_are_kept_exactly(dtype):
    top = np.float16(65504) if dtype is np.float16 else np.iinfo(dtype).max
    x = np.array([[0], [top], [1]], dtype=dtype)
    assert ub.neighborhoods(x, 1).distances.tolist() == [1.0, float(top) - 1.0, 1.0]


class Frame:
    """All that numpy asks of a foreign table."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)


def unaligned(x):
    raw = np.zeros(x.nbytes + 1, np.uint8)
    view = raw[1:].view(x.dtype).reshape(x.shape)
    view[...] = x
    assert not view.flags.aligned
    return view


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def strided(x):
    wide = np.full((2 * len(x), 3 * x.shape[1]), np.nan, x.dtype)
    wide[::2, 1::3] = x
    return wide[::2, 1::3]


LAYOUTS = {
    "fortran": np.asfortranarray,
    "strided": strided,
    "reversed": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "transposed": lambda x: x.T.copy().T,
    "read_only": read_only,
    "swapped": lambda x: x.astype(x.dtype.newbyteorder("S")),
    "unaligned": unaligned,
    "unaligned_swapped": lambda x: unaligned(x.astype(x.dtype.newbyteorder("S"))),
    "field": lambda x: np.rec.fromarrays([x, x], names="a,b")["a"],
    "list": lambda x: x.tolist(),
    "tuples": lambda x: tuple(map(tuple, x.tolist())),
    "frame": Frame,
    "masked_nothing": np.ma.array,
    "subclass": lambda x: x.view(np.recarray),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("q", [3, 25])
def test_layouts(layout, dtype, q):
    x = cloud(60, q, seed=5).astype(dtype)
    given_array = layout(x)
    before = np.array(given_array)
    same(ub.neighborhoods(given_array, 7), ub.neighborhoods(x, 7))
    same(ub.neighborhoods(given_array, radius=1.5), ub.neighborhoods(x, radius=1.5))
    np.testing.assert_array_equal(np.array(given_array), before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, ">f4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_mapped(tmp_path, dtype, order):
    x = (40 * cloud(100, 4, seed=6) ** 2).astype(dtype)
    np.save(tmp_path / "x.npy", np.asarray(x, order=order))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    same(ub.neighborhoods(mapped, 5), ub.neighborhoods(x.astype(x.dtype.newbyteorder("=")), 5))
    del mapped


def test_broadcast_rows():
    x = np.broadcast_to(np.arange(3.0), (6, 3))
    assert rows(ub.neighborhoods(x, 2)) == [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1], [0, 1]]


def test_a_large_single_precision_array_is_not_copied():
    x = np.random.default_rng(0).random((20, 2)).astype(np.float32)
    for view in (x, x[::-1], x.T.copy().T, x[::2]):
        assert np.shares_memory(as_points(view), view)


# ---------------------------------------------------------------------------- other tools' neighbors


def test_from_knn_without_self():
    x = cloud()
    nb = ub.neighborhoods(x, 6)
    table = nb.indices.reshape(-1, 6)
    same(ub.Neighborhoods.from_knn(table, nb.distances.reshape(-1, 6)), nb)
    made = ub.Neighborhoods.from_knn(table)
    assert made.distances is None
    assert made.n_neighbors == 6
    np.testing.assert_array_equal(made.indices, nb.indices)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint32, np.uint64])
def test_from_knn_dtypes(dtype):
    nb = ub.neighborhoods(cloud(100), 4)
    made = ub.Neighborhoods.from_knn(nb.indices.reshape(-1, 4).astype(dtype))
    np.testing.assert_array_equal(made.indices, nb.indices)
    assert made.indices.dtype == np.uint32


@settings(max_examples=40)
@given(seed=st.integers(0, 1000), k=st.integers(1, 8))
def test_from_knn_with_self_in_any_column(seed, k):
    rng = np.random.default_rng(seed)
    nb = ub.neighborhoods(cloud(30, 2, seed), k)
    table, far = nb.indices.reshape(-1, k), nb.distances.reshape(-1, k)
    at = rng.integers(0, k + 1, size=30)
    with_self = np.array([np.insert(row, at[i], i) for i, row in enumerate(table)])
    far_self = np.array([np.insert(row, at[i], 0.0) for i, row in enumerate(far)])
    np.testing.assert_array_equal(ub.Neighborhoods.from_knn(with_self).indices, nb.indices)
    same(ub.Neighborhoods.from_knn(with_self, far_self), nb)


def test_from_knn_when_self_is_lost_among_copies():
    indices = [[0, 1, 2], [0, 2, 3], [0, 1, 2], [3, 0, 1]]  # point 1 does not list itself
    made = ub.Neighborhoods.from_knn(indices)
    assert made.n_neighbors == 2
    assert rows(made) == [[1, 2], [0, 2], [0, 1], [0, 1]]
    distances = [[0.0, 0.0, 0.0], [0.0, 0.0, 5.0], [0.0, 0.0, 0.0], [0.0, 5.0, 5.0]]
    made = ub.Neighborhoods.from_knn(indices, distances)
    assert rows(made) == [[1, 2], [0, 2], [0, 1], [0, 1]]
    assert made.distances.reshape(-1, 2).tolist() == [[0, 0], [0, 0], [0, 0], [5, 5]]


def test_from_knn_sorts_by_distance_then_index():
    made = ub.Neighborhoods.from_knn(
        [[3, 2, 1], [0, 3, 2], [3, 0, 1], [0, 1, 2]], [[1, 1, 1], [3, 2, 1], [2, 3, 1], [0, 0, 0]]
    )
    assert rows(made) == [[1, 2, 3], [2, 3, 0], [1, 3, 0], [0, 1, 2]]
    assert made.distances.tolist() == [1, 1, 1, 1, 2, 3, 1, 2, 3, 0, 0, 0]


def test_from_knn_drops_the_farthest_where_self_is_missing_and_distances_are_unsorted():
    made = ub.Neighborhoods.from_knn(
        [[0, 2, 1], [2, 0, 3], [2, 1, 3], [3, 2, 0]], [[0, 2, 1], [9, 1, 2], [0, 1, 2], [0, 1, 2]]
    )
    assert rows(made) == [[1, 2], [0, 3], [1, 3], [2, 0]]


@pytest.mark.parametrize(
    ("indices", "distances", "message"),
    [
        ([[1, 2], [0, -1], [0, 1]], None, "neighbor -1 of point 1 .* 3 points"),
        ([[1, 2], [0, 2], [0, 3]], None, "neighbou?r 3 of point 2 .* 3 points"),
        ([[1], [2**32], [0]], None, "neighbou?r 4294967296 of point 1"),
        ([[1, 1], [0, 2], [0, 1]], None, "point 0 lists neighbou?r 1 more than once"),
        ([[0, 0], [0, 1], [0, 2]], None, "point 0 lists itself more than once"),
        ([[0], [1]], None, "0 neighbou?rs"),
        ([1, 2, 0], None, r"shape \(3,\)"),
        (np.zeros((0, 3), int), None, r"shape \(0, 3\)"),
        (np.zeros((3, 0), int), None, r"shape \(3, 0\)"),
        ([[1.0], [0.0]], None, "float64"),
        ([[True], [False]], None, "bool"),
        ([["1"], ["0"]], None, "<U1"),
        ([[1], [0]], [[1.0]], r"\(1, 1\).*\(2, 1\)"),
        ([[1], [0]], [1.0, 2.0], r"\(2,\).*\(2, 1\)"),
        ([[1], [0]], [[1.0], [-2.0]], r"-2.0 at \(1, 0\)"),
        ([[1], [0]], [[np.nan], [1.0]], r"nan at \(0, 0\)"),
        ([[1], [0]], [[np.inf], [1.0]], r"inf at \(0, 0\)"),
    ],
)
def test_from_knn_errors(indices, distances, message):
    with pytest.raises(ValueError, match=message):
        ub.Neighborhoods.from_knn(indices, distances)


FORMATS = {
    "csr_matrix": sp.csr_matrix,
    "csc_matrix": sp.csc_matrix,
    "coo_matrix": sp.coo_matrix,
    "lil_matrix": sp.lil_matrix,
    "csr_array": sp.csr_array,
    "csc_array": sp.csc_array,
    "coo_array": sp.coo_array,
}


@pytest.mark.parametrize("make", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("radius", [None, 0.8])
def test_to_graph_and_back(make, radius):
    nb = ub.neighborhoods(cloud(), None if radius else 5, radius=radius)
    graph = nb.to_graph()
    assert graph.shape == (200, 200)
    assert graph.nnz == len(nb.indices)
    np.testing.assert_allclose(graph[3, nb[3]].toarray().ravel(), nb.distances[nb.indptr[3] : nb.indptr[4]])
    made = ub.Neighborhoods.from_graph(make(graph))
    same(made, nb)
    assert made.n_neighbors is None


def test_to_graph_without_distances_holds_ones_and_leaves_the_neighborhoods_alone():
    nb = ub.Neighborhoods.from_knn([[1], [2], [0]])
    graph = nb.to_graph()
    assert graph.toarray().tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    graph.data[:] = 7
    graph.indices[:] = 0
    graph.indptr[:] = 0
    assert rows(nb) == [[1], [2], [0]]


@pytest.mark.parametrize(
    "make", [sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.csc_array, sp.coo_matrix, sp.coo_array]
)
def test_from_graph_keeps_stored_zeros_and_drops_the_diagonal(make):
    values, at = [0.0, 5.0, 2.0, 1.0, 0.0], ([0, 0, 1, 1, 2], [1, 0, 2, 0, 2])
    graph = make(sp.coo_array((values, at), shape=(3, 3)))
    assert graph.nnz == 5
    before = graph.toarray()
    made = ub.Neighborhoods.from_graph(graph)
    assert rows(made) == [[1], [0, 2], []]
    assert made.distances.tolist() == [0, 1, 2]
    assert graph.nnz == 5
    np.testing.assert_array_equal(graph.toarray(), before)


def test_from_graph_weights():
    graph = sp.csr_array(np.array([[0, 0.2, 0.9], [0.2, 0, 0.2], [0.9, 0.1, 0]]))
    assert rows(ub.Neighborhoods.from_graph(graph)) == [[1, 2], [0, 2], [1, 0]]
    similar = ub.Neighborhoods.from_graph(graph, weights="similarity")
    assert rows(similar) == [[2, 1], [0, 2], [0, 1]]
    assert similar.distances is None
    none = ub.Neighborhoods.from_graph(graph, weights="none")
    assert rows(none) == [[1, 2], [0, 2], [0, 1]]
    assert none.distances is None
    assert rows(ub.Neighborhoods.from_graph(-graph, weights="none")) == rows(none)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32])
@pytest.mark.parametrize("weights", ["distance", "similarity", "none"])
def test_from_graph_dtypes(dtype, weights):
    graph = sp.csr_array(np.array([[0, 1, 1], [1, 0, 0], [1, 1, 0]], dtype=dtype))
    assert rows(ub.Neighborhoods.from_graph(graph, weights=weights)) == [[1, 2], [0], [0, 1]]


@pytest.mark.parametrize(
    ("graph", "options", "message"),
    [
        (sp.csr_array(np.ones((2, 3))), {}, r"\(2, 3\)"),
        (np.eye(3), {}, r"ndarray of shape \(3, 3\)"),
        ([[0, 1], [1, 0]], {}, "list"),
        (sp.csr_array(np.array([[0, -1.0], [1, 0]])), {}, "-1.0"),
        (sp.csr_array(np.array([[0, np.nan], [1, 0]])), {}, "nan"),
        (sp.csr_array(np.array([[0, np.inf], [1, 0]])), {}, "inf"),
        (sp.csr_array(np.eye(3)), {"weights": "distances"}, "'distances'"),
        (sp.csr_array((3, 3)), {"weights": None}, "None"),
        (sp.csr_array((0, 0)), {}, "0|empty"),
    ],
)
def test_from_graph_errors(graph, options, message):
    with pytest.raises(ValueError, match=message):
        ub.Neighborhoods.from_graph(graph, **options)


# ---------------------------------------------------------------------------- the graph


GRAPHS = {
    "knn": lambda: ub.neighborhoods(cloud(), 3),
    "radius": lambda: ub.neighborhoods(cloud(), radius=0.4),
    "pieces": lambda: ub.neighborhoods(np.concatenate([cloud(20, 2, s) + 50 * s for s in range(4)]), 4),
    "none": lambda: ub.neighborhoods(cloud(20), radius=0.0),
    "one_way": lambda: ub.Neighborhoods.from_graph(sp.csr_array(np.triu(np.ones((9, 9)), 1))),
}
graphs = pytest.mark.parametrize("make", GRAPHS.values(), ids=GRAPHS)


@graphs
def test_symmetrized_and_reversed_are_scipys(make):
    nb = make()
    graph = directed(nb)
    back, both = nb.reversed(), nb.symmetrized()
    assert rows(back) == [sorted(row) for row in rows(back)]
    assert rows(both) == [sorted(row) for row in rows(both)]
    np.testing.assert_array_equal(directed(back).toarray(), graph.toarray().T)
    np.testing.assert_array_equal(directed(both).toarray(), np.maximum(graph.toarray(), graph.toarray().T))
    for made in (back, both):
        assert made.distances is None
        assert len(made) == len(nb)
    same(both.symmetrized(), both)
    same(both.reversed(), both)
    assert [sorted(row) for row in rows(nb)] == rows(back.reversed())


@graphs
def test_components_are_scipys(make):
    nb = make()
    count, labels = csgraph.connected_components(directed(nb), directed=False)
    assert nb.n_connected_components == count
    first = {label: i for i, label in reversed(list(enumerate(labels)))}
    order = {label: rank for rank, label in enumerate(sorted(first, key=first.get))}
    assert nb.component_labels.tolist() == [order[label] for label in labels]


# ---------------------------------------------------------------------------- as a Python object


def arrays_of(nb):
    return {
        "indices": nb.indices,
        "indptr": nb.indptr,
        "distances": nb.distances,
        "component_labels": nb.component_labels,
    }


def assert_read_only(nb):
    for name, array in arrays_of(nb).items():
        if array is not None:
            assert not array.flags.writeable, name
            with pytest.raises(ValueError, match="read-only"):
                array[:1] = 0
    with pytest.raises(ValueError, match="read-only"):
        nb[0][:1] = 1


MADE = {
    "k": lambda: ub.neighborhoods(cloud(), 5),
    "radius": lambda: ub.neighborhoods(cloud(), radius=0.8),
    "knn": lambda: ub.Neighborhoods.from_knn([[1], [0]]),
    "graph": lambda: ub.Neighborhoods.from_graph(sp.csr_array(np.ones((3, 3)))),
    "symmetrized": lambda: ub.neighborhoods(cloud(), 5).symmetrized(),
}
made = pytest.mark.parametrize("make", MADE.values(), ids=MADE)
COPIES = {
    "pickle": lambda nb: pickle.loads(pickle.dumps(nb)),
    "pickle_5": lambda nb: pickle.loads(pickle.dumps(nb, protocol=5)),
    "pickle_2": lambda nb: pickle.loads(pickle.dumps(nb, protocol=2)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@made
def test_arrays_are_read_only(make):
    assert_read_only(make())


@made
@pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("used", [False, True], ids=["fresh", "used"])
def test_copies_are_equal(make, duplicate, used):
    nb = make()
    if used:
        arrays_of(nb)
    twin = duplicate(nb)
    same(twin, nb)
    assert twin.n_neighbors == nb.n_neighbors
    assert repr(twin) == repr(nb)
    np.testing.assert_array_equal(twin.component_labels, nb.component_labels)
    same(twin.symmetrized(), nb.symmetrized())


@made
@pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("used", [False, True], ids=["fresh", "used"])
def test_copies_are_read_only(make, duplicate, used):
    nb = make()
    if used:
        arrays_of(nb)
    assert_read_only(duplicate(nb))


def test_the_callers_arrays_stay_writeable():
    indices = np.array([1, 0], dtype=np.uint32)
    ub.Neighborhoods(indices, n_neighbors=1)
    assert indices.flags.writeable


def test_items():
    nb = ub.neighborhoods(cloud(10), 3)
    assert nb[-1].tolist() == nb[9].tolist() == nb[np.int64(9)].tolist()
    assert nb[-10].tolist() == nb[0].tolist()
    for i in (10, -11, 10**20):
        with pytest.raises(IndexError, match=f"point {i} .* 10 points"):
            nb[i]
    assert len(list(nb)) == 10
    assert nb.sizes.tolist() == [3] * 10


def test_repr():
    assert repr(ub.neighborhoods(cloud(10), 3)) == "<Neighborhoods: 10 points, 3 neighbors each>"
    ragged = ub.Neighborhoods.from_graph(sp.csr_array(np.triu(np.ones((4, 4)), 1)))
    assert repr(ragged) == "<Neighborhoods: 4 points, 0 to 3 neighbors each>"


def test_twelve_neighbors_by_default():
    assert ub.neighborhoods(cloud()).n_neighbors == 12


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"indices": [1, 0, 9], "n_neighbors": 1}, "neighbou?r 9 of point 2 .* 3 points"),
        ({"indices": [0, 0], "n_neighbors": 1}, "neighbou?r 0"),
        ({"indices": [1, 0, 1], "n_neighbors": 2}, "2|3"),
        ({"indices": [1, 0]}, "n_neighbors"),
        ({"indices": [1, 0], "indptr": [0, 1]}, "indptr"),
        ({"indices": [1, 0], "indptr": [0, 3, 2]}, "indptr .* 3 to 2"),
        ({"indices": [1, 0], "indptr": [1, 1, 2]}, "indptr"),
        ({"indices": [1, 0], "indptr": [0, -1, 2]}, "indptr"),
        ({"indices": [1, 0], "indptr": []}, "indptr .* 0 entries"),
        ({"indices": [1, 0], "n_neighbors": 1, "distances": [1.0]}, "2 neighbors, but 1 distances"),
    ],
)
def test_constructor_errors(parts, message):
    dtypes = {"indices": np.uint32, "indptr": np.int64, "distances": float}
    parts = {key: np.array(value, dtypes[key]) if key in dtypes else value for key, value in parts.items()}
    with pytest.raises(ValueError, match=message):
        ub.Neighborhoods(**parts)


# ---------------------------------------------------------------------------- parameters


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 8, 64, -1, -2, -100, np.int32(2)])
@pytest.mark.parametrize("q", [3, 40])
def test_n_jobs_does_not_matter(n_jobs, q):
    x = cloud(700, q)
    same(ub.neighborhoods(x, 6, n_jobs=n_jobs), ub.neighborhoods(x, 6))
    same(ub.neighborhoods(x, radius=1.0, n_jobs=n_jobs), ub.neighborhoods(x, radius=1.0))


@pytest.mark.parametrize("n_jobs", [0, True, False, 1.5, 2.0, "all", (1,)])
def test_bad_n_jobs(n_jobs):
    with pytest.raises(ValueError, match="n_jobs"):
        ub.neighborhoods(cloud(10), 3, n_jobs=n_jobs)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors = 0"),
        ({"n_neighbors": -3}, "n_neighbors = -3"),
        ({"n_neighbors": 2.5}, "n_neighbors = 2.5"),
        ({"n_neighbors": True}, "n_neighbors = True"),
        ({"n_neighbors": np.bool_(True)}, "n_neighbors = .*True"),
        ({"n_neighbors": "3"}, "n_neighbors = '3'"),
        ({"n_neighbors": 10}, "n_neighbors = 10 needs at least 11 points, got 10"),
        ({"n_neighbors": sys.maxsize}, f"n_neighbors = {sys.maxsize}.* got 10"),
        ({"n_neighbors": 10**30}, f"n_neighbors = {10**30}"),
        ({"radius": -0.5}, "radius = -0.5"),
        ({"radius": np.nan}, "radius = (?i:nan)"),
        ({"radius": np.inf}, "radius = inf"),
        ({"radius": 10**400}, "radius"),
        ({"radius": "1 m"}, "1 m"),
        ({"n_neighbors": 3, "radius": 2.0}, "n_neighbors = 3 .* radius = 2.0"),
        ({"algorithm": "ball_tree"}, "'ball_tree'"),
        ({"algorithm": None}, "None"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        ub.neighborhoods(cloud(10), **options)


def test_the_tree_says_how_many_dimensions_it_takes():
    with pytest.raises(ValueError, match=r"17 .* 16"):
        ub.neighborhoods(cloud(50, 17), 3, algorithm="kd_tree")


def test_a_mesh_gives_one_or_two_rings():
    strip = [[0, 1, 2], [1, 3, 2], [2, 3, 4], [3, 5, 4]]
    one, two = (ub.Neighborhoods.from_mesh(strip, rings=rings) for rings in (1, 2))
    assert [one[i].tolist() for i in range(6)] == [
        [1, 2],
        [0, 2, 3],
        [0, 1, 3, 4],
        [1, 2, 4, 5],
        [2, 3, 5],
        [3, 4],
    ]
    assert two[0].tolist() == [1, 2, 3, 4]
    assert two[5].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("faces", "options", "message"),
    [
        ([[0, 1, 2]], {"rings": 3}, "rings = 3 is unknown"),
        ([[0, 1]], {}, r"faces has shape \(1, 2\)"),
        ([[0, 1, 4]], {"n_vertices": 4}, "faces holds vertices 0 to 4: they must be from 0 to 3"),
        ([[-1, 1, 4]], {}, "faces holds vertices -1 to 4"),
    ],
)
def test_what_is_no_mesh_has_no_neighbors(faces, options, message):
    with pytest.raises(ValueError, match=message):
        ub.Neighborhoods.from_mesh(faces, **options)
