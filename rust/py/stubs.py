"""Write the signatures of `python/unbend/_core.pyi` that the macros of the border make.

    python rust/py/stubs.py            # write them
    python rust/py/stubs.py --check    # fail if they are not up to date

An entry of `functions!`, `methods!` or `record!` in `rust/py/src` says the names and the types of Rust; this
program says the same in types of Python. It replaces a signature that is there and adds a new one after that of
the entry before it. Classes, constructors and attributes are written by hand; `__all__` lists what is there.
"""

import argparse
import ast
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
STUB = HERE.parents[1] / "python" / "unbend" / "_core.pyi"

MACRO = re.compile(r"^(functions|methods|record)! \{\n(.*?)^\}", re.DOTALL | re.MULTILINE)
ENTRY = re.compile(
    r'^    (?:#\[pyo3\(name = "(?P<name>\w+)"\)\]\n    )?(?P<rust>\w+)'
    r"\((?P<arguments>(?:[^()]|\([^()]*\))*)\) -> (?P<result>.*?) = \|",
    re.DOTALL | re.MULTILINE,
)
COMMENT = re.compile(r"^ *//.*\n", re.MULTILINE)
RECORD = re.compile(r"(\w+) of [\w:]+ \{(.*)\}", re.DOTALL)
ALIAS = re.compile(r"^type (\w+) = (.*?);", re.DOTALL | re.MULTILINE)
TUPLE = re.compile(r"^#\[derive\(IntoPyObject\)\]\n(?:pub )?struct (\w+)\((.*?)\);", re.MULTILINE)
STRUCT = re.compile(
    r"^#\[derive\(IntoPyObject\)\]\n(?:pub )?struct (\w+) \{\n(.*?)^\}", re.DOTALL | re.MULTILINE
)

PLAIN = {
    "bool": "bool",
    "usize": "int",
    "u64": "int",
    "f64": "float",
    "Matrix": "_Matrix",
    "Borrow": "_Matrix | Patches",
    "Lists": "Graph",
    "NewGraph": "Graph",
    "Output": "_Array",
    "Measured": "str",
    "SolverName": "str",
    "&'static str": "str",
    "RankTables": "RankTables",
}
ITEMS = {
    "f64": "_Array",
    "u32": "_Indices",
    "i64": "_Pointer",
    "bool": "_Flags",
    "f32": "npt.NDArray[np.float32]",
    "u64": "npt.NDArray[np.uint64]",
}
LAST_RECORD = "_Eigenvectors"
"""New records, and functions of new files, are added after this one."""

PROGRESS = "progress: _Report = None"


@dataclass(frozen=True)
class Types:
    """Types of Rust that a file of the border names, in types of Python."""

    named: dict[str, str]

    def of(self, rust):
        """Return the type of Python for a type of Rust."""
        rust = rust.strip()
        outer, _, inner = rust.partition("<")
        inner = inner.removesuffix(">")
        if rust in self.named:
            return self.of(self.named[rust])
        if rust in PLAIN:
            return PLAIN[rust]
        if outer in ("Flat", "Array", "Table"):
            return ITEMS[inner or "f64"]
        if outer == "Name":
            return "str"
        if outer == "Option":
            return f"{self.of(inner)} | None"
        if outer == "Vec":
            return f"list[{self.of(inner)}]"
        if outer == "HashMap":
            return "dict[" + ", ".join(self.of(part) for part in parts(inner)) + "]"
        if rust.startswith("("):
            return "tuple[" + ", ".join(self.of(part) for part in parts(rust[1:-1])) + "]"
        if rust.startswith("["):
            return f"list[{self.of(rust[1:].partition(';')[0])}]"
        return f"_{rust}"


def parts(text):
    """Return what commas separate outside brackets."""
    found, depth = [""], 0
    for letter in text:
        depth += (letter in "(<[") - (letter in ")>]")
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return [part.strip() for part in found if part.strip()]


def arguments(text, types):
    """Yield the arguments of an entry; those after a semicolon are keywords."""
    given, _, keywords = text.partition(";")
    for argument in parts(given):
        name, _, kind = argument.partition(":")
        kind, has_default, _ = kind.partition("=")
        yield f"{name.strip()}: {types.of(kind)}" + " = None" * bool(has_default)
    yield PROGRESS
    for position, argument in enumerate(parts(keywords)):
        name, _, kind = argument.partition(":")
        yield "*, " * (position == 0) + f"{name.strip()}: {types.of(kind)} = None"


def signatures(source):
    """Yield (class or "", name, stub) for every entry of the macros of a file."""
    source = COMMENT.sub("", source)
    named = dict(ALIAS.findall(source))
    named |= {name: f"({fields})" for name, fields in TUPLE.findall(source)}
    types, macros = Types(named), MACRO.findall(source)
    records = [RECORD.search(body).groups() for macro, body in macros if macro == "record"]
    for name, fields in records + STRUCT.findall(source):
        lines = [field.split(":", 1) for field in parts(fields)]
        text = "".join(f"    {key.strip()}: {types.of(kind)}\n" for key, kind in lines)
        yield "", f"_{name}", f"class _{name}(TypedDict):\n{text}\n"
    for macro, body in macros:
        if macro == "record":
            continue
        owner = body.split()[0] if macro == "methods" else ""
        for entry in ENTRY.finditer(body):
            name, given = entry["name"] or entry["rust"], list(arguments(entry["arguments"], types))
            given = ["self", *given] if owner else [*given[:-1], "n_jobs: int", given[-1]]
            yield owner, name, f"def {name}({', '.join(given)}) -> {types.of(entry['result'])}: ...\n"


def places(text):
    """Return the lines of every definition, by its class and name, counted from 0."""
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found["", node.name] = node.lineno - 1, node.end_lineno
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and not member.decorator_list:
                    found[node.name, member.name] = member.lineno - 1, member.end_lineno
    return found


def updated(text):
    """Return the stub with the signatures of the macros."""
    for file in sorted((HERE / "src").glob("*.rs")):
        before = None
        for owner, name, stub in signatures(file.read_text()):
            known = places(text)
            after = before if before in known else ("", owner or LAST_RECORD)
            start, end = known.get((owner, name)) or (known[after][1],) * 2
            lines = text.splitlines(keepends=True)
            indented = "".join("    " * bool(owner) + line for line in stub.splitlines(keepends=True))
            text = "".join([*lines[:start], indented, *lines[end:]])
            before = owner, name
    return text


def with_public_names(text):
    """Return the stub with the list of its public names."""
    nodes = [
        node for node in ast.parse(text).body if hasattr(node, "name") or isinstance(node, ast.AnnAssign)
    ]
    names = sorted(node.target.id if isinstance(node, ast.AnnAssign) else node.name for node in nodes)
    quoted = ", ".join(f'"{name}"' for name in names if not name.startswith("_"))
    lines = textwrap.fill(f"{quoted},", 100, initial_indent="    ", subsequent_indent="    ")
    return re.sub(r"^__all__ = \[.*?^\]", f"__all__ = [\n{lines}\n]", text, flags=re.DOTALL | re.MULTILINE)


def formatted(text):
    """Return the text as the formatter writes it."""
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(STUB), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def main():
    """Write the stub, or check it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--check", action="store_true", help="fail if the stub is not up to date")
    text, is_check = STUB.read_text(), parser.parse_args().check
    wanted = formatted(with_public_names(updated(text)))
    if is_check and wanted != text:
        sys.exit(f"{STUB.name} is not up to date: run python rust/py/stubs.py")
    if not is_check:
        STUB.write_text(wanted)


if __name__ == "__main__":
    main()
