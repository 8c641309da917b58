"""Calls of the whole public interface: functions, and sequences of what is done with an estimator."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import unbend as ub
from hypothesis import strategies as st
from judge import Outcome, difference, nan_paths, snapshot, tried
from values import SIZES, Call, Cloud, clouds, graphs, made, mostly

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(ub, name) for name in ("charts", "clean", "compare", "dimension", "faithfulness")},
    **{name: getattr(ub, name) for name in ("neighborhoods", "price_of_normalization", "quality", "rectify")},
    **{name: getattr(ub, name) for name in ("refine", "select", "report")},
    **{f"metrics.{name}": getattr(ub.metrics, name) for name in ub.metrics.__all__ if name[0].islower()},
    **{f"datasets.{name}": getattr(ub.datasets, name) for name in ub.datasets.__all__},
    **{f"partition.{name}": getattr(ub.partition, name) for name in ("embed", "faithfulness")},
}
del FUNCTIONS["metrics.faithfulness"]

RARE = {"select": 4, "report": 6, "compare": 2, "quality": 2}
"""Slow functions are called once where others are called this number of times."""

NAMES = ("ProcrustesAlignment", "GreedyProcrustes", "Isomap", "LocallyLinearEmbedding", "ModifiedLLE", "LTSA")
NAMES += ("HessianLLE", "LaplacianEigenmaps", "DiffusionMaps", "PCA", "ClassicalScaling", "RandomProjection")
ESTIMATORS = {name: getattr(ub, name) for name in NAMES}

USUAL: dict[str, tuple[Any, ...]] = {
    "n_components": (2, 1, 3),
    "n_neighbors": (None, 5, 8, 12, 3),
    "radius": (None, None, 0.5, 2.0, 1e6),
    "tangent_neighbors": (None, 8, 20),
    "n_init": (1, 4),
    "start": (None, 0, 3),
    "alignment": ("tree", "auto", "spectral", "projection", "anneal"),
    "refine": ("auto", "global", "pointwise", None, True, False),
    "objective": ("R_N", "R"),
    "refine_max_iter": (60, 3, 0),
    "neighbors_method": ("auto", "exact", "approximate"),
    "method": ("auto", "exact", "approximate", "global", "pointwise", "psa", "gp"),
    "cut": ("auto", True, False, None),
    "candidates": ("auto", True, False),
    "partition": (None, None, "auto", 20),
    "disconnected": ("separate", "error"),
    "n_landmarks": (None, "auto", 5),
    "weights": ("tikhonov", "ldr", "convex"),
    "rectify": (False, True, "linear"),
    "kernel": ("window", "heat"),
    "kind": ("gaussian", "sparse", "R_N", "R", "R_C", "false", "missing"),
    "metric": ("euclidean", "cosine", "precomputed"),
    "algorithm": ("auto", "kd_tree", "blocked"),
    "algorithms": ("LLE", "LTSA", "HLLE", "LEM", "DFM"),
    "n_centers": (None, 5, "auto"),
    "n_sources": (None, 5),
    "n_pairs": (None, 2000),
    "normalization": ("centered", "paper"),
    "measures": ("all", "r_n", "trustworthiness", "stress"),
    "n_samples": (10, 100, 1),
    "rows": (3, 1),
    "columns": (3, 1),
    "points_per_cell": (20, 40, "auto"),
    "passes": (2, 0),
    "errors": ("warn", "raise"),
    "algorithms_": ("LEM",),
    "methods": ("psa", "isomap", "ltsa"),
    "max_points": (40, None),
    "max_dim": (2,),
    "max_time": (2.0,),
    "random_state": (0, 1),
    "smoothing": (0, 1),
    "steps": (4, 1),
    "overlap_steps": (4, 1),
    "annealing": (None, Call("{'rounds': 2, 'tried': 3}")),
    "parameters": (None, Call("{'alignment': 'auto'}"), Call("{'n_init': 1}")),
    "max_iter": (5, 0),
    "labels": (None,),
    "by": (None, "r_n"),
}
"""Usual values of parameters; others are numbers near 1, True and False."""

LEFT_OUT = {
    *(
        "X",
        "Y",
        "Xi",
        "Yi",
        "coordinates",
        "neighborhoods",
        "embeddings",
        "out",
        "path",
        "directory",
        "callback",
    ),
    *(
        "verbose",
        "n_jobs",
        "begin",
        "resume",
        "force",
        "self",
        "options",
        "cuts",
        "images",
        "seams",
        "values",
    ),
}
"""Parameters that are given in other ways."""

OPERATIONS = (
    "transform",
    "transform others",
    "inverse_transform",
    "score",
    "save and load",
    "fit again",
    "quality",
)
OPERATIONS += ("faithfulness", "refine", "memory_estimate", "clone", "copy")


@dataclass(frozen=True)
class Case:
    """One call of a function, or one sequence on an estimator."""

    name: str
    arguments: dict[str, Any]
    parameters: dict[str, Any] = field(default_factory=dict)
    operations: tuple[str, ...] = ()
    others: Cloud | None = None

    def run(self) -> Outcome:
        """Return the outcome with one thread and with two, and whether they agree and left the inputs alone."""
        one, inputs, before = self._once(1)
        if one.is_failure:
            return one
        if any(snapshot(value) != known for value, known in zip(inputs, before, strict=True)):
            return Outcome("changed input", f"one of {', '.join(self.arguments)}")
        if one.kind == "ok" and self._is_finite and (path := next(nan_paths(one.value), "")):
            return Outcome("undocumented NaN", path)
        two, _, _ = self._once(2)
        if one.kind != two.kind:
            return Outcome("threads differ", f"one thread: {one.kind}; two: {two.kind} {two.detail}")
        found = "" if one.kind == "refused" else difference(one.value, two.value)
        return Outcome("threads differ", found) if found else one

    @property
    def _is_finite(self) -> bool:
        return all(part.is_finite for part in self.arguments.values() if isinstance(part, Cloud))

    def _once(self, threads: int) -> tuple[Outcome, list[Any], list[Any]]:
        inputs: list[Any] = []

        def call() -> Any:
            arguments = {name: made(value) for name, value in self.arguments.items()}
            inputs.extend(arguments.values())
            before.extend(map(snapshot, inputs))
            return self._called(arguments, threads)

        before: list[Any] = []
        return tried(call), inputs, before

    def _called(self, arguments: dict[str, Any], threads: int) -> Any:
        if self.name in FUNCTIONS:
            function = FUNCTIONS[self.name]
            if "n_jobs" in inspect.signature(function).parameters or "options" in self.parameters:
                arguments["n_jobs"] = threads
            if self.name != "report":
                return function(**arguments)
            with tempfile.TemporaryDirectory() as folder:
                function(**arguments, path=Path(folder, "page.html"))
                return None
        kind, parameters = ESTIMATORS[self.name], made(self.parameters)
        if "n_jobs" in inspect.signature(kind).parameters:
            parameters["n_jobs"] = threads
        model = kind(**parameters).fit(**arguments)
        return [vars_of(model), *(self._operated(model, arguments["X"], name) for name in self.operations)]

    def _operated(self, model: Any, x: Any, name: str) -> Any:
        others = made(self.others)
        outcome = tried(lambda: _OPERATIONS[name](model, x, others))
        if outcome.is_failure:
            raise Failed(name, outcome)
        finite = self._is_finite and (self.others is None or self.others.is_finite)
        if finite and outcome.kind == "ok" and (path := next(nan_paths(outcome.value), "")):
            raise Failed(name, Outcome("undocumented NaN", path))
        return outcome.kind, outcome.value


class Failed(AssertionError):
    """An operation on a fitted estimator failed."""

    def __init__(self, name: str, outcome: Outcome) -> None:
        super().__init__(f"{name}: {outcome.kind}: {outcome.detail}")


def vars_of(model: Any) -> dict[str, Any]:
    """Return what a model learned."""
    return {name: value for name, value in vars(model).items() if name.endswith("_") and name != "timings_"}


def _saved(model: Any, x: Any, others: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        again = ub.load(model.save(Path(folder, "model")))
    placed, loaded = tried(lambda: model.transform(others)), tried(lambda: again.transform(others))
    if difference((placed.kind, placed.value), (loaded.kind, loaded.value)):
        raise AssertionError("a model that was saved and loaded places points elsewhere")
    return difference(vars_of(model).get("embedding_"), vars_of(again).get("embedding_"))


def _again(model: Any, x: Any, others: Any) -> Any:
    first, given = model.embedding_.copy(), {}
    if "neighborhoods_" in vars(model):
        given = {"neighborhoods": model.neighborhoods_}
    again = type(model)(**model.get_params(deep=False)).fit(x, **given)
    if difference(first, again.embedding_):
        raise AssertionError("a second fit gives another embedding")
    return again.embedding_


_OPERATIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "transform": lambda model, x, others: model.transform(x, return_error=True),
    "transform others": lambda model, x, others: model.transform(others, return_error=True),
    "inverse_transform": lambda model, x, others: model.inverse_transform(model.embedding_ * 1.01),
    "score": lambda model, x, others: model.score(x) if hasattr(model, "score") else None,
    "save and load": _saved,
    "fit again": _again,
    "quality": lambda model, x, others: ub.quality(x, model, n_jobs=1).to_dict(),
    "faithfulness": lambda model, x, others: ub.faithfulness(x, model, 5, n_jobs=1),
    "refine": lambda model, x, others: ub.refine(x, model.embedding_, 5, max_iter=3, n_jobs=1),
    # More threads may hold more at a time.
    "memory_estimate": lambda model, x, others: model.memory_estimate(1000, 5) and None,
    "clone": lambda model, x, others: type(model)(**model.get_params()).get_params().keys() and None,
    "copy": lambda model, x, others: (
        __import__("pickle").loads(__import__("pickle").dumps(model)).transform(x)
    ),
}


def values_of(target: Any, name: str) -> st.SearchStrategy[Any]:
    """Return the strategy of a parameter of a function or a class: mostly what its kind accepts, if it has one."""
    usual, known = USUAL.get(name, (1.0, 0.5, 2, True, False)), getattr(target, "_parameters", {}).get(name)

    def accepts(value: Any) -> bool:
        return known is None or tried(lambda: known.check(made(value))).kind == "ok"

    accepted = [value for value in usual if accepts(value)]
    return mostly(st.sampled_from(accepted or usual))


@st.composite
def calls(draw: Any) -> Case:
    """Draw a call of a function."""
    name = draw(st.sampled_from([name for name in FUNCTIONS for _ in range(12 // RARE.get(name, 1))]))
    parameters = inspect.signature(FUNCTIONS[name]).parameters
    arguments: dict[str, Any] = {}
    n = draw(st.one_of(*[st.sampled_from(SIZES[:5])] * 5, st.sampled_from(SIZES)))
    for first, second in (("X", "Y"), ("Xi", "Yi")):
        if first in parameters:
            arguments[first] = draw(clouds(n))
        if second in parameters:
            arguments[second] = draw(mostly(clouds(n, st.sampled_from((2, 1, 3)))))
    if "embeddings" in parameters:
        count = draw(st.sampled_from((2, 1, 3, 0)))
        arguments["embeddings"] = {f"e{i}": draw(clouds(n, st.sampled_from((2, 1)))) for i in range(count)}
    if "coordinates" in parameters and (name == "metrics.nieqa_truth" or draw(st.booleans())):
        arguments["coordinates"] = draw(mostly(clouds(n, st.sampled_from((2, 2, 3)))))
    if "neighborhoods" in parameters and draw(st.sampled_from((False, False, False, True))):
        arguments["neighborhoods"] = draw(graphs(n))
    arguments |= draw(_some(FUNCTIONS[name], "neighborhoods" in arguments))
    if name == "select":
        arguments = {"max_time": 2.0, "max_points": 40, "methods": ("psa",), "n_components": 2} | arguments
    if "random_state" in parameters or ("options" in parameters and name.endswith(("procrustes", "stress"))):
        arguments.setdefault("random_state", 0)
    return Case(name, arguments, {"options": True} if "options" in parameters else {})


@st.composite
def _some(draw: Any, target: Any, with_graph: bool = False) -> dict[str, Any]:
    """Draw values of some parameters, and of all that have no default."""
    given = {}
    for name, parameter in inspect.signature(target).parameters.items():
        if name in LEFT_OUT or (with_graph and name in ("n_neighbors", "radius")):
            continue
        if parameter.default is inspect.Parameter.empty or draw(st.sampled_from((False, False, True))):
            given[name] = draw(values_of(target, name))
    return given


@st.composite
def models(draw: Any) -> Case:
    """Draw an estimator, data to fit, and what is done then."""
    name = draw(st.sampled_from(list(ESTIMATORS)))
    signature = inspect.signature(ESTIMATORS[name]).parameters
    n = draw(st.one_of(*[st.sampled_from(SIZES[:5])] * 5, st.sampled_from(SIZES)))
    x = draw(clouds(n))
    arguments: dict[str, Any] = {"X": x}
    if "n_neighbors" in signature and draw(st.sampled_from((False, False, False, False, True))):
        arguments["neighborhoods"] = draw(graphs(n))
    parameters = draw(_some(ESTIMATORS[name], "neighborhoods" in arguments))
    if "random_state" in signature:
        parameters.setdefault("random_state", 0)
    operations = tuple(draw(st.lists(st.sampled_from(OPERATIONS), max_size=3)))
    others = draw(st.one_of(st.just(replace(x, seed=x.seed + 1)), clouds(None, st.just(x.q))))
    return Case(name, arguments, parameters, operations, others)
