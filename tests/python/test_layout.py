"""The rooms of the package: who may import whom, and how much a folder holds. See ARCHITECTURE.md."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "unbend"

ROOMS = (
    *("core", "files", "graph", "metrics", "judge", "fit", "consensus", "covariance", "plot", "mesh"),
    *("partition", "estimators", "choose", "report", "cli"),
)
"""A room imports from itself and from those before it."""

PUBLIC = {"datasets": "graph", "dask": "estimators", "anndata": "choose"}
"""The public modules beside the rooms, each with the room that it stands on a level with."""

MOST_ENTRIES = 12

SOURCES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem in PUBLIC)


def module_of(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path) for path in SOURCES}


def imports(path):
    """Yield what a file imports of the package: (module, name or None, line)."""
    here = module_of(path).split(".")
    package = here if path.stem == "__init__" else here[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            target = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            for alias in node.names:
                inner = f"{target}.{alias.name}".strip(".")
                yield (inner, None, node.lineno) if inner in MODULES else (target, alias.name, node.lineno)


def room_of(module):
    first = module.split(".")[0]
    return PUBLIC.get(first, first)


def names(path):
    return f"{path.relative_to(ROOT)}"


@pytest.mark.parametrize("path", SOURCES, ids=names)
def test_imports_go_to_rooms_below(path):
    own = ROOMS.index(room_of(module_of(path)))
    back = [
        f"{names(path)}:{line} imports {module}"
        for module, _, line in imports(path)
        if module and ROOMS.index(room_of(module)) > own
    ]
    assert back == []


@pytest.mark.parametrize("path", SOURCES, ids=names)
def test_no_private_name_leaves_its_room(path):
    own = room_of(module_of(path))
    private = [
        f"{names(path)}:{line} imports {name} of {module}"
        for module, name, line in imports(path)
        if name and name.startswith("_") and name not in ("_core", "__version__") and room_of(module) != own
    ]
    assert private == []


def test_there_is_no_knot():
    """Follow all imports, those inside functions among them: none leads back to where it began."""
    graph = {
        module_of(path): {m for m, _, _ in imports(path) if m in MODULES and m != module_of(path)}
        for path in SOURCES
    }
    # A package that is imported for its names runs its own file first; its modules do not wait for it.
    for module, targets in graph.items():
        graph[module] = {t for t in targets if not module.startswith(f"{t}.")}
    while True:
        leaves = {module for module, targets in graph.items() if not targets & graph.keys()}
        if not leaves:
            break
        for module in leaves:
            del graph[module]
    assert graph == {}


def test_the_walk_sees_imports():
    """The tests above would pass on anything if nothing were found."""
    found = {module for path in SOURCES for module, _, _ in imports(path)}
    assert {"core.memory", "graph.neighbors", "fit.problem", "metrics.faithful"} <= found
    assert len(SOURCES) > 80


def folders():
    tops = ("python/unbend", "rust/src", "rust/py/src", "tests/python", "tests/rust")
    for top in tops:
        yield ROOT / top
        yield from (path for path in (ROOT / top).rglob("*") if path.is_dir() and path.name != "__pycache__")


@pytest.mark.parametrize("folder", list(folders()), ids=names)
def test_a_folder_holds_a_dozen_entries(folder):
    held = {path for path in folder.iterdir() if path.suffix in (".py", ".rs")}
    rooms = {path for path in folder.iterdir() if path.is_dir() and path.name != "__pycache__"}
    if folder in (PACKAGE, ROOT / "tests" / "python", ROOT / "tests" / "rust"):
        # tables of contents: as many rooms as there are, and a dozen files beside them
        assert len(rooms) <= len(ROOMS)
    else:
        held |= rooms
    assert len(held) <= MOST_ENTRIES, sorted(path.name for path in held)


def test_only_one_file_lets_go_of_the_interpreter():
    border = ROOT / "rust" / "py" / "src"
    found = [path.name for path in border.rglob("*.rs") if "detach(" in path.read_text(encoding="utf-8")]
    assert found == ["run.rs"]
