"""The package as a whole: what it imports, what it documents and that its examples run."""

import doctest
import functools
import importlib
import inspect
import json
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


def test_citations_and_recipes_name_this_version():
    assert f"\nversion: {ub.__version__}\n" in text_of("CITATION.cff")
    assert f'\n  version: "{ub.__version__}"\n' in text_of("packaging/conda/recipe.yaml")


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


@functools.cache
def examples_of(module):
    """Names in a module whose docstrings have examples that `test_examples_run` runs."""
    tests = doctest.DocTestFinder().find(importlib.import_module(module))
    return {
        test.name.rpartition(".")[2]
        for test in tests
        if any(doctest.SKIP not in example.options for example in test.examples)
    }


@pytest.mark.parametrize("name", sorted(public()))
def test_examples_of_public_names_run(name):
    value = public()[name]
    assert value.__module__ in MODULES
    assert value.__name__ in examples_of(value.__module__)


def test_there_are_examples():
    assert (
        sum(
            doctest.testmod(importlib.import_module(module)).attempted
            for module in ("unbend.metrics.faithful", "unbend.graph.neighbors")
        )
        > 5
    )


# ---------------------------------------------------------------------------- releasing


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def project():
    """Return pyproject.toml, as far as the tests need it; tomllib is newer than the oldest Python."""
    text = text_of("pyproject.toml")
    (oldest,) = re.findall(r'^requires-python = ">=3\.(\d+)"$', text, re.MULTILINE)
    (listed,) = re.findall(r"^dependencies = \[(.*)\]$", text, re.MULTILINE)
    versions = re.findall(r'"Programming Language :: Python :: 3\.(\d+)"', text)
    return int(oldest), dict(re.findall(r'"([\w-]+)>=([\d.]+)"', listed)), sorted(map(int, versions))


def test_the_changelog_has_this_version():
    headings = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", text_of("CHANGELOG.md"), re.MULTILINE)
    assert headings[0] == ("Unreleased", "")
    assert [version for version, _ in headings][1] == ub.__version__
    assert all(date for _, date in headings[1:])


@pytest.mark.parametrize("name", ["python/README.md", "rust/README.md"])
def test_pages_of_registries_have_no_relative_links(name):
    """A registry shows the page without the files beside it."""
    links = re.findall(r"\]\((.*?)\)|(?:src|href)=\"(.*?)\"", text_of(name))
    assert [link for pair in links for link in pair if link and not link.startswith("https://")] == []


def test_the_example_on_the_page_of_the_registry_runs(capsys):
    (block,) = re.findall(r"^```python\n(.*?)^```", text_of("python/README.md"), re.DOTALL | re.MULTILINE)
    exec(block, {})
    assert "R_N" in capsys.readouterr().out


def test_the_versions_that_are_tested_are_those_that_are_named():
    oldest, dependencies, versions = project()
    assert versions[0] == oldest
    assert versions == list(range(oldest, versions[-1] + 1))
    tested = [f"3.{minor}" for minor in versions]
    assert f"python: {json.dumps(tested)}" in text_of(".github/workflows/release.yml")
    assert f"PYTHONS = ({json.dumps(tested)[1:-1]})" in text_of("packaging/release.py")
    page = text_of("docs/compatibility.md")
    named = {"CPython": f"3.{oldest}", "NumPy": dependencies["numpy"], "SciPy": dependencies["scipy"]}
    for name, version in (named | {"scikit-learn": dependencies["scikit-learn"]}).items():
        assert re.search(rf"^\| {name} \| {re.escape(version)} and newer", page, re.MULTILINE), name


def test_the_workflow_builds_what_the_program_builds():
    workflow = text_of(".github/workflows/release.yml")
    targets = re.findall(r'^    "(\S+-linux-\w+)": "(\w+)",$', text_of("packaging/release.py"), re.MULTILINE)
    assert len(targets) == 4
    for target, tag in targets:
        assert f"target: {target}, tag: {tag}" in workflow


def test_every_target_of_cargo_has_a_path():
    """Without one, Cargo cannot build a source distribution, which has neither tests nor benches."""
    targets = re.findall(
        r"^\[\[(?:test|bench)\]\]\n(.*?)(?=^\[|\Z)", text_of("Cargo.toml"), re.DOTALL | re.MULTILINE
    )
    assert len(targets) == 4
    assert all('\npath = "' in target for target in targets)
