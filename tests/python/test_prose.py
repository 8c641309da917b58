"""The language of all that people read: documents, docstrings, comments, help texts and messages."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]
PYTHON = sorted((ROOT / "python" / "unbend").rglob("*.py"))
RUST = sorted((ROOT / "rust").rglob("*.rs"))
CODE = re.compile(
    r'^```.*?^```|^ {4}(?:python|cargo) .*?$|``[^`]*``|`[^`]*`|"[\w-]+"', re.DOTALL | re.MULTILINE
)
EXAMPLE = re.compile(r"^\s*(?:>>>|\.\.\.).*$", re.MULTILINE)
MANNERED = re.compile(
    r"\b(so many|beside|anew|told|said of|for to|shall|nobody|whoever|as by|there is to say|be it|strangers?|"
    r"neighbour\w*|\w+(?:al|el|il|im|ar|er|or|etr|gan|gn)is(?:e|es|ed|ing|ations?)|analys(?:e|ed|ing)|colour\w*|"
    r"centred|centre|behaviour\w*|favour\w*|grey|(?:kilo|milli|centi)?metres?|labell\w*|modell(?:ed|ing)|judgement|"
    r"towards|afterwards|whilst|learnt)\b",
    re.IGNORECASE,
)
OPENING = re.compile(r"(What|Where|Of|Whether|How|Who|Whom|Whose|Which|Why|Nobody|Nothing|None of|Is told)\b")


def found(text):
    """Return the mannered phrases and British spellings of a text, without its code."""
    plain = CODE.sub("", EXAMPLE.sub("", text))
    return [match.group() for match in MANNERED.finditer(plain)]


def constants(tree):
    """Yield line and text of every string of several words in a module, and whether it documents something."""
    documents = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                documents.add(id(statement.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value, id(node) in documents


def python_prose(path):
    """Yield line, text, and whether it is a docstring or a comment, of all that a module says."""
    source = path.read_text(encoding="utf-8")
    yield from constants(ast.parse(source))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# "), True


def rust_prose(path):
    """Yield line, text, and True, of every comment; the lines of one comment come together."""
    first, lines = 0, []
    for number, line in enumerate([*path.read_text(encoding="utf-8").splitlines(), ""], 1):
        comment = re.fullmatch(r'[^"]*?//[/!]? ?(.*)', line)
        alone = comment is not None and line.lstrip().startswith("//")
        if lines and not alone:
            yield first, "\n".join(lines), True
            lines = []
        if alone:
            first = first if lines else number
            lines.append(comment.group(1))
        elif comment is not None:
            yield number, comment.group(1), True
        else:
            for text in re.findall(r'"((?:[^"\\]|\\.)* (?:[^"\\]|\\.)*)"', line):
                yield number, text, False


SOURCES = [(path, python_prose) for path in PYTHON] + [(path, rust_prose) for path in RUST]


def called(path):
    return path.relative_to(ROOT).as_posix()


def test_words_are_found():
    assert found("Beside the centre, minimised\n    >>> told") == ["Beside", "centre", "minimised"]
    assert found('the key "anew" of `so many` precise, raised noise') == []
    assert OPENING.match("Whether it is true.")
    assert not OPENING.match("However, it is.")


@pytest.mark.parametrize("page", PAGES, ids=called)
def test_prose_is_plain(page):
    assert found(page.read_text(encoding="utf-8")) == []


def test_sources_are_plain():
    prose = [(path, *part) for path, read in SOURCES for part in read(path)]
    mannered = [(called(path), line, words) for path, line, text, _ in prose if (words := found(text))]
    opened = [
        (called(path), line, text.splitlines()[0])
        for path, line, text, documents in prose
        if documents and OPENING.match(text.strip())
    ]
    assert mannered == []
    assert opened == []
    assert len(prose) > 5_000
