"""Every reference of docs/paper-map.md leads to code, to a test or to a program."""

import inspect
import re
from functools import cache
from pathlib import Path

import pytest
import unbend as ub

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "paper-map.md"
REFERENCE = re.compile(r"`([^`]+)`")
CALL = re.compile(r"([\w.]+)\((?:(\w+)=)?\)")
ITEMS = "| item | where | departs | shown by |"


def rows():
    """Yield the cells of every row of the tables of items."""
    inside = False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line == ITEMS:
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not line.startswith("|---"):
            yield [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def references():
    """Every reference of the tables, and of the words around them, once."""
    found = (
        reference
        for cells in rows()
        for cell in (cells[1], cells[3])
        for reference in REFERENCE.findall(cell)
    )
    return sorted(set(found))


@cache
def defined(folder, suffix, keywords):
    """The names that the files of a folder define, by file."""
    definition = re.compile(rf"(?:^|\s)(?:{keywords})\s+(\w+)", re.MULTILINE)
    return {
        path.relative_to(folder).as_posix(): set(definition.findall(path.read_text(encoding="utf-8")))
        for path in folder.rglob(f"*{suffix}")
    }


def in_file(reference):
    """Whether a file that the reference names defines the name after it."""
    path, _, name = reference.partition("::")
    if path.endswith(".py"):
        return name in defined(ROOT / "python" / "unbend", ".py", "def|class").get(path, ())
    files = [defined(ROOT / top, ".rs", "fn|struct|enum|trait") for top in ("rust/src", "tests/rust")]
    return any(name in names.get(path, ()) for names in files)


def in_crate(reference):
    """Whether the modules of the crate along the path exist, and one of their files defines the last name."""
    *modules, name = reference.split("::")
    names = defined(ROOT / "rust" / "src", ".rs", "fn|struct|enum|trait|const|type|mod")
    within = {
        path: found
        for path, found in names.items()
        if path.startswith((f"{modules[0]}/", f"{modules[0]}.rs"))
    }
    known = set().union(*within.values(), *(re.split(r"[/.]", path) for path in within))
    return bool(within) and all(part in known for part in (*modules[1:], name))


def in_program(reference):
    """Whether a program exists, and has the option."""
    path, _, option = reference.partition(" ")
    file = ROOT / path
    return file.is_file() and (not option or f'"{option}"' in file.read_text(encoding="utf-8"))


def in_package(reference):
    """Whether the package has a public name, or the name a parameter or an attribute."""
    call = CALL.fullmatch(reference)
    path, parameter = call.groups() if call else (reference, None)
    found, owner = ub, None
    for part in path.split("."):
        owner, found = found, getattr(found, part, None)
        if found is None:
            fields = {*getattr(owner, "__dataclass_fields__", ()), *getattr(owner, "__annotations__", ())}
            return part in fields or f"\n{part} : " in (inspect.getdoc(owner) or "")
    return parameter is None or parameter in inspect.signature(found).parameters


def resolves(reference):
    if reference.startswith(("experiments/", "benches/")):
        return in_program(reference)
    if reference.startswith("test_"):
        tests = defined(ROOT / "tests" / "python", ".py", "def").values()
        return any(reference in names for names in tests)
    if re.search(r"\.(py|rs)::", reference):
        return in_file(reference)
    return in_crate(reference) if "::" in reference else in_package(reference)


@pytest.mark.parametrize("reference", references())
def test_references_resolve(reference):
    assert resolves(reference)


@pytest.mark.parametrize(
    "reference",
    [
        *("charts::Nothing", "nothing::Local", "metrics.nothing", "Faithfulness.nothing", "Isomap.nothing_"),
        *("GreedyProcrustes(nothing=)", "fit/refine.py::nothing", "measure/asim.rs::nothing", "test_nothing"),
        *("experiments/papers/nothing.py", "experiments/papers/rates.py --nothing"),
    ],
)
def test_what_is_not_there_does_not_resolve(reference):
    assert not resolves(reference)


def test_every_item_has_its_row():
    found = list(rows())
    assert {len(cells) for cells in found} == {4}
    names = [cells[0] for cells in found]
    assert len(found) > 270
    assert len(set(names)) == len(names)


def test_an_item_is_shown_or_there_is_nothing_to_compute():
    """Only notation is neither."""
    bare = [
        item
        for item, where, departs, shown in rows()
        if not shown and "nothing to compute" not in where + departs
    ]
    assert bare == ["Table I, notation", "III-C, Definition 1, delta"]
