"""The package as a whole: what it imports, what it documents and that its examples run."""

import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
import unbend as ub

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    {"unbend"}
    | {
        m.name
        for m in pkgutil.walk_packages(ub.__path__, "unbend.")
        if m.name not in ("unbend._core", "unbend.__main__")
    }
)


def python(code, **options):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300, **options
    ).stdout


# ---------------------------------------------------------------------------- importing


def test_importing_leaves_the_heavy_ones_alone():
    heavy = {"sklearn", "scipy", "matplotlib", "pyarrow", "pandas", "email"}
    loaded = set(python("import sys, unbend; print(*{name.split('.')[0] for name in sys.modules})").split())
    assert "numpy" in loaded
    assert not loaded & heavy


def test_a_warning_free_import():
    python("import warnings; warnings.simplefilter('error'); import unbend")


def test_version():
    manifest = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    (version,) = re.findall(
        r'^version = "(.+)"$', manifest.split("[workspace.package]")[1].split("\n[")[0], re.MULTILINE
    )
    assert ub.__version__ == version


def test_citations_name_this_version():
    text = (Path(__file__).parents[2] / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {ub.__version__}\n" in text


def test_types_are_shipped():
    assert (files("unbend") / "py.typed").is_file()
    assert (files("unbend") / "_core.pyi").is_file()


# ---------------------------------------------------------------------------- documentation


def public():
    """Functions and classes of the package and its public modules, by the name a user writes."""
    modules = {"unbend": ub} | {
        f"unbend.{n}": getattr(ub, n) for n in ub.__all__ if inspect.ismodule(getattr(ub, n))
    }
    names = {
        f"{module}.{name}": getattr(found, name)
        for module, found in modules.items()
        for name in found.__all__
    }
    return {
        name: value for name, value in names.items() if inspect.isroutine(value) or inspect.isclass(value)
    }


def test_all_names_exist():
    for module in MODULES:
        loaded = importlib.import_module(module)
        names = list(getattr(loaded, "__all__", []))
        assert len(names) == len(set(names)), module
        assert [name for name in names if not hasattr(loaded, name)] == [], module
    assert {"Neighborhoods", "neighborhoods", "faithfulness", "charts", "metrics", "datasets"} <= set(
        ub.__all__
    )


@pytest.mark.parametrize("module", MODULES)
def test_modules_say_what_they_are(module):
    assert (importlib.import_module(module).__doc__ or "").strip()


@pytest.mark.parametrize("name", sorted(public()))
def test_public_names_have_examples(name):
    text = inspect.getdoc(public()[name]) or ""
    assert text.strip(), "no docstring"
    heading, _, examples = text.partition("Examples\n--------\n")
    assert heading.strip()
    assert ">>> " in examples, "no Examples section"


@pytest.mark.parametrize(
    "name", ["", *sorted(n for n in ub.__all__ if inspect.ismodule(getattr(ub, n))), "dask"]
)
def test_public_modules_have_examples(name):
    module = importlib.import_module(f"unbend.{name}".rstrip("."))
    assert ">>> " in inspect.getdoc(module).partition("\nExamples\n--------\n")[2]


@pytest.mark.parametrize("name", sorted(name for name, value in public().items() if inspect.isclass(value)))
def test_public_methods_have_docstrings(name):
    for attribute, value in vars(public()[name]).items():
        if attribute.startswith("_"):
            continue
        function = getattr(value, "__func__", getattr(value, "func", getattr(value, "fget", value)))
        if inspect.isfunction(function):
            assert inspect.getdoc(function), attribute


@pytest.mark.parametrize(
    "name", sorted(name for name, value in public().items() if inspect.isfunction(value))
)
def test_parameters_are_documented(name):
    function = public()[name]
    text = inspect.getdoc(function) or ""
    section = text.partition("Parameters\n----------\n")[2].partition("\n\nReturns\n")[0]
    documented = set(
        re.findall(r"[*]*(\w+)", " ".join(re.findall(r"^(\S.*?)(?: :.*)?$", section, re.MULTILINE)))
    )
    parameters = inspect.signature(function).parameters
    assert {name for name in parameters if not name.startswith("_")} <= documented


@pytest.mark.parametrize("module", MODULES)
def test_examples_run(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(module), raise_on_error=False, verbose=False)
    assert result.failed == 0


def test_there_are_examples():
    assert (
        sum(
            doctest.testmod(importlib.import_module(module)).attempted
            for module in ("unbend.metrics.faithful", "unbend.graph.neighbors")
        )
        > 5
    )
