"""Values that calls are made of: recipes that print as Python, and strategies that draw them."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import unbend as ub
from hypothesis import strategies as st

SIZES = (60, 40, 30, 100, 150, 25, 14, 13, 8, 5, 3, 2, 1, 0)
"""Numbers of points, the usual ones first."""

KINDS = ("roll", "normal", "grid", "copies", "line", "clusters", "one point", "two scales", "zeros")
LAYOUTS = ("C", "F", "strided", "reversed", "read only", "unaligned", "mapped", "swapped")
CONTAINERS = ("list", "pandas", "masked", "object")
DTYPES = ("f8", "f4", "f2", "i8", "i4", "u1", "b1")
OTHER_DTYPES = ("c16", "U8", "S4", "O", "M8[s]")
EXPONENTS = (-1074, -1050, -900, -520, -490, -300, -90, 90, 300, 480, 496, 510, 900, 1020)
SPOILS = ("nan", "inf", "-inf", "huge", "outlier")


@dataclass(frozen=True)
class Cloud:
    """Points of a kind, in some units, type and layout."""

    n: int
    q: int
    kind: str = "normal"
    seed: int = 0
    exponent: int = 0
    dtype: str = "f8"
    layout: str = "C"
    spoil: str = ""

    def make(self) -> Any:
        return _laid_out(self._typed(self._spoiled(self._points())), self.layout)

    @property
    def is_finite(self) -> bool:
        return self.spoil in ("", "outlier")

    def _points(self) -> Any:
        rng, (n, q) = np.random.default_rng(self.seed), (self.n, self.q)
        normal = rng.normal(size=(n, q))
        if self.kind == "roll" and n and q:
            roll = ub.datasets.swiss_roll(n, random_state=self.seed)[0]
            x = np.hstack([roll] * (q // 3 + 1))[:, :q]
        elif self.kind == "copies" and n:
            x = normal[rng.integers(max(1, n // 8), size=n)]
        else:
            index = np.arange(n)[:, None]
            x = {
                "grid": np.floor(3 * normal),
                "line": index * np.ones((1, q)),
                "clusters": normal + 1e6 * (index % 2),
                "one point": np.ones((n, q)),
                "two scales": normal * np.where(index % 2, 1.0, 1e-9),
                "zeros": np.zeros((n, q)),
            }.get(self.kind, normal)
        with np.errstate(all="ignore"):
            return np.ldexp(x, self.exponent)

    def _spoiled(self, x: Any) -> Any:
        if self.spoil and x.size:
            value = {"huge": 1e300, "outlier": 1e9}.get(self.spoil) or float(self.spoil)
            x[len(x) // 2, -1] = value
        return x

    def _typed(self, x: Any) -> Any:
        with np.errstate(all="ignore"):
            if self.dtype in ("i8", "i4", "u1"):
                x = np.nan_to_num(np.clip(x, -100, 100))
            return x.astype(self.dtype)


def _laid_out(x: Any, layout: str) -> Any:
    if layout == "F":
        return np.asfortranarray(x)
    if layout == "strided":
        return np.repeat(x, 2, axis=0)[::2]
    if layout == "reversed":
        return np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1]
    if layout == "read only":
        x.flags.writeable = False
    if layout == "unaligned" and x.dtype != object:
        raw = np.zeros(x.nbytes + 1, np.uint8)
        raw[1:] = np.frombuffer(x.tobytes(), np.uint8)
        return raw[1:].view(x.dtype).reshape(x.shape)
    if layout == "swapped" and x.dtype.kind in "fi":
        return x.astype(x.dtype.newbyteorder())
    if layout == "mapped" and x.size and x.dtype.kind in "fiub":
        return _mapped(x)
    if layout == "list":
        return x.tolist()
    if layout == "pandas" and x.ndim == 2:
        import pandas

        return pandas.DataFrame(x)
    if layout == "masked":
        return np.ma.MaskedArray(x)
    return x.astype(object) if layout == "object" else x


def _mapped(x: Any) -> Any:
    import tempfile

    with tempfile.NamedTemporaryFile(suffix=".npy") as file:  # the mapping keeps what the file held
        np.save(file.name, x)
        return np.load(file.name, mmap_mode="r")


@dataclass(frozen=True)
class Graph:
    """Neighborhoods made by hand, right or wrong."""

    n: int
    k: int
    kind: str
    seed: int = 0

    def make(self) -> Any:
        rng, n, k = np.random.default_rng(self.seed), max(self.n, 1), min(self.k, max(self.n - 1, 1))
        knn = (np.arange(n)[:, None] + 1 + np.argsort(rng.random((n, max(n - 1, 1))), axis=1)[:, :k]) % n
        if self.kind == "knn":
            return ub.Neighborhoods.from_knn(knn)
        if self.kind == "knn with distances":
            return ub.Neighborhoods.from_knn(knn, np.sort(rng.random(knn.shape), axis=1))
        if self.kind == "ring":
            return ub.Neighborhoods.from_knn((np.arange(n)[:, None] + np.array([1, -1])) % n)
        if self.kind == "pairs":
            return ub.Neighborhoods.from_knn((np.arange(n) ^ 1)[:, None] % n)
        if self.kind == "ragged":
            sizes = rng.integers(0, k + 1, size=n)
            lists = np.concatenate([knn[i, :size] for i, size in enumerate(sizes)])
            indptr = np.concatenate([[0], np.cumsum(sizes)])
            return ub.Neighborhoods(lists.astype(np.uint32), indptr=indptr.astype(np.int64))
        if self.kind == "sparse":
            from scipy.sparse import random

            return ub.Neighborhoods.from_graph(random(n, n, 0.3, "csr", random_state=self.seed))
        if self.kind == "out of range":
            return ub.Neighborhoods.from_knn(knn + 1)
        return ub.Neighborhoods.from_knn(np.repeat(knn[:, :1], k, axis=1))


@dataclass(frozen=True)
class Call:
    """A value that is made by calling something, such as a generator of random numbers."""

    text: str

    def make(self) -> Any:
        return eval(self.text, {"np": np, "math": math, "io": io, "ub": ub})


def made(value: Any) -> Any:
    """Return what a recipe stands for, in dicts and lists as well; other values as they are."""
    if isinstance(value, dict):
        return {key: made(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [made(entry) for entry in value]
    return value.make() if hasattr(value, "make") else value


ANYTHING = (
    *(None, True, False, -1, 0, 1, 2, 3, 300, 2**31, 2**63, 10**30, 0.5, 1.0, 2.0, -1.5, 1e-300, 1e300),
    *("", "auto", "x", b"2", (), (2, 3)),
    *(Call(f"np.{kind}(3)") for kind in ("int8", "uint64", "float32", "float64")),
    *(
        Call(text)
        for text in ("math.nan", "math.inf", "-math.inf", "np.bool_(True)", "np.array(2)", "[]", "[2]")
    ),
    *(
        Call(text)
        for text in ("{}", "{'a': 1}", "object()", "np.zeros(3)", "(lambda *a: None)", "2 + 1j", "set()")
    ),
)
"""Arguments of every type. Numbers that some parameter allows and that take hours are left out."""


def clouds(n: int | None = None, q: Any = None) -> st.SearchStrategy[Any]:
    """Return the strategy of points: usual ones, and one in three with something odd about it."""
    rows = st.just(n) if n is not None else st.sampled_from(SIZES)
    columns = q if q is not None else st.sampled_from((3, 2, 3, 5, 10, 20, 1, 40, 0))
    columns = st.one_of(*[st.sampled_from((3, 2, 5, 10))] * 4, columns) if q is None else columns
    usual = st.builds(Cloud, rows, columns, st.sampled_from(KINDS), st.integers(0, 9))
    odd = st.builds(
        Cloud,
        rows,
        columns,
        st.sampled_from(KINDS),
        st.integers(0, 9),
        exponent=st.one_of(st.just(0), st.sampled_from(EXPONENTS)),
        dtype=st.one_of(st.just("f8"), st.sampled_from(DTYPES + OTHER_DTYPES)),
        layout=st.sampled_from(LAYOUTS + CONTAINERS),
        spoil=st.one_of(st.just(""), st.just(""), st.sampled_from(SPOILS)),
    )
    return st.one_of(*[usual] * 3, odd)


def graphs(n: int) -> st.SearchStrategy[Any]:
    """Return the strategy of neighborhoods of `n` points; one in ten is of other points."""
    kinds = ("knn", "knn with distances", "ring", "pairs", "ragged", "sparse", "out of range", "repeated")
    size = st.one_of(*[st.just(n)] * 9, st.sampled_from(SIZES))
    return st.builds(Graph, size, st.integers(1, 13), st.sampled_from(kinds), st.integers(0, 9))


def mostly(usual: Any) -> st.SearchStrategy[Any]:
    """Return a strategy of usual values, and of anything once in twenty times."""
    return st.integers(0, 19).flatmap(lambda drawn: usual if drawn < 19 else st.sampled_from(ANYTHING))
