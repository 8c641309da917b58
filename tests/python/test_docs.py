"""Documents: their blocks run, their links lead somewhere, and they are in plain English, as the sources are."""

import ast
import io
import json
import re
import shlex
import sys
import tokenize
from pathlib import Path

import numpy as np
import pytest
import unbend as ub
from unbend.cli import main, parser

from experiments.gallery import notebooks, pages, standins

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    *sorted(ROOT.glob("docs/**/*.md")),
]
# The blocks of one page repeat measurements. The other draws pictures, by functions that have tests of their own.
SLOW = [ROOT / "docs" / "decisions.md", ROOT / "docs" / "gallery.md"]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def blocks(page):
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def called(page):
    return page.relative_to(ROOT).as_posix()


WITH_BLOCKS = [
    pytest.param(page, id=called(page), marks=[pytest.mark.slow] if page in SLOW else [])
    for page in PAGES
    if blocks(page)
]


@pytest.mark.parametrize("page", WITH_BLOCKS)
@pytest.mark.filterwarnings("ignore")  # pages show what warns, too
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    if page.parent.name == "gallery":
        standins.write(tmp_path)  # the real files are not part of the project
    namespace = {"__name__": page.stem}
    for place, block in enumerate(blocks(page), 1):
        exec(compile(block, f"{called(page)}, Python block {place}", "exec"), namespace)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")  # many open figures make matplotlib warn


NOTEBOOKS = sorted(ROOT.glob("docs/notebooks/*.ipynb"))
WITH_TSNE = "judge_a_map"  # It waits for the t-SNE of scikit-learn.


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=called(path), marks=[pytest.mark.slow] if path.stem == WITH_TSNE else [])
        for path in NOTEBOOKS
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_notebooks_run(path, tmp_path, monkeypatch):
    """Every cell runs, and what is stored has the outputs of the same kinds."""
    monkeypatch.chdir(tmp_path)
    stored = json.loads(path.read_text(encoding="utf-8"))
    kinds = [[output["output_type"] for output in cell.get("outputs", ())] for cell in stored["cells"]]
    again = notebooks.run(stored, path.stem)["cells"]
    assert [[output["output_type"] for output in cell.get("outputs", ())] for cell in again] == kinds
    assert sum(map(len, kinds)) >= 5
    assert path.stat().st_size < 200_000


def test_three_notebooks_and_a_picture_for_every_page_of_the_gallery():
    assert len(NOTEBOOKS) == 3
    assert {path.stem for path in ROOT.glob("docs/gallery/*.png")} == {*pages.SUBJECTS, "index"}
    assert all(path.stat().st_size < 150_000 for path in ROOT.glob("docs/gallery/*.png"))


COMMANDS = re.compile(r"^(?: {4}|\$ )?(unbend [a-z]+ .*?)(?:  +#.*| \|.*)?$", re.MULTILINE)


def commands(page):
    """The command lines of a page, without what stands beside them."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    blocks += re.findall(r"(?:^ {4}unbend .*\n)+", text, re.MULTILINE)
    return [shlex.split(line, comments=True)[1:] for block in blocks for line in COMMANDS.findall(block)]


def test_command_lines_can_be_read():
    read = 0
    for page in PAGES:
        for line in commands(page):
            parser().parse_args(line)
            read += 1
    assert read > 20


@pytest.mark.parametrize("name", ["README.md", "docs/start.md"])
def test_the_way_of_a_newcomer(name, tmp_path, monkeypatch, capsys):
    """What a page asks to be typed works as it stands, given a table."""
    pytest.importorskip("bokeh")
    lines = commands(ROOT / name)
    monkeypatch.chdir(tmp_path)
    x, _ = ub.datasets.swiss_roll(500, noise=0.02, random_state=0)
    (table,) = {line[1] for line in lines}
    np.savetxt(table, x, delimiter=",", header="a,b,c", comments="")
    for line in lines:
        assert main(line) == 0, (line, capsys.readouterr().err)
    assert len(lines) >= 4


def anchor(heading):
    """What a heading is called in links."""
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")


def anchors(page):
    """What the headings of a page are called in links."""
    return set(map(anchor, re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)))


@pytest.mark.parametrize("page", PAGES, ids=called)
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for link in LINK.findall(text):
        if "://" in link:
            continue
        name, _, place = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        if place and target.suffix == ".md":
            assert place in anchors(target), link


JOBS = {  # the link on the front page, and the command or call that does the job
    "a table to a map": ("start.md", "unbend embed"),
    "judge a UMAP": ("judging.md", "unbend measure"),
    "number of neighbors and dimension": ("selecting.md", "ub.select("),
    "flatten a scan": ("meshes.md", "ub.flatten("),
    "place new points": ("embedding.md#new-points-and-the-way-back", ".transform("),
    "ten million points": ("scale.md", "unbend embed"),
}
FENCE = re.compile(r"^```(python|sh)\n(.*?)^```", re.DOTALL | re.MULTILINE)
TWO_MINUTES = 440  # Words that a newcomer reads before the first step, at 220 words per minute.


def section(link):
    """Return a page under docs from the heading on that a link names."""
    name, _, place = link.partition("#")
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    headings = [match for match in re.finditer(r"^#+ (.*)$", text, re.MULTILINE) if anchor(match[1]) == place]
    return text[headings[0].start() :] if place else text


@pytest.mark.parametrize("job", JOBS)
@pytest.mark.filterwarnings("ignore")
def test_jobs_are_found_from_the_front_page(job, tmp_path, monkeypatch):
    """The front page links each job, the way to its first step is short, and that step runs by itself."""
    monkeypatch.chdir(tmp_path)
    link, step = JOBS[job]
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    table = index.partition("\n## Where to go\n")[2].partition("\n## ")[0]
    assert f"]({link})" in table
    page = section(link)
    first = next(match for match in FENCE.finditer(page) if step in match[2])
    read = FENCE.sub("", index[: index.index(f"]({link})")]) + FENCE.sub("", page[: first.start()])
    assert len(read.split()) < TWO_MINUTES
    if first[1] == "python":
        assert "import unbend" in first[2]
        if "#" in link:  # the others are the first of their page, and run above
            exec(compile(first[2], link, "exec"), {})


PROGRAM = re.compile(r"python\s+-m\s+(experiments[.\w]+)|((?:benches/python|experiments)/[\w/]+\.py)")


def programs():
    """Yield every program that the documents or the code name, and where."""
    sources = [*PAGES, ROOT / "CHANGELOG.md", ROOT / "Makefile"]
    for top in ("python/unbend", "benches/python", "experiments"):
        sources += sorted((ROOT / top).rglob("*.py"))
    for source in sources:
        for module, path in PROGRAM.findall(source.read_text(encoding="utf-8")):
            yield called(source), path or f"{module.replace('.', '/')}.py"


def test_programs_that_are_named_exist():
    named = list(programs())
    assert [(source, path) for source, path in named if not (ROOT / path).exists()] == []
    assert len(named) > 100


def test_the_reference_holds_every_public_name():
    modules = {"unbend": ub} | {
        f"unbend.{name}": getattr(ub, name)
        for name in ("anndata", "dask", "datasets", "metrics", "partition", "plot")
    }
    public = {f"{where}.{name}" for where, module in modules.items() for name in module.__all__}
    twice = {f"unbend.metrics.{name}" for name in ub.metrics.__all__ if hasattr(ub, name)}
    no_objects = {"unbend.__version__", *modules}
    text = "".join(page.read_text(encoding="utf-8") for page in ROOT.glob("docs/reference/*.md"))
    listed = re.findall(r"^\.\. auto\w+:: (\S+)$", text, re.MULTILINE)
    assert sorted(listed) == sorted(public - twice - no_objects)


def test_promises_name_tests_that_exist():
    page = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", page)
    assert len(named) > 40
    for file, test in named:
        source = (ROOT / "tests" / "python" / file).read_text(encoding="utf-8")
        assert re.search(rf"^def {test}\(", source, re.MULTILINE), f"{file} has no {test}"


def test_every_promise_has_a_test():
    page = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
    promises = [line for line in page.splitlines() if line.startswith("| ") and line != "| promise | test |"]
    assert len(promises) > 30
    assert [line for line in promises if "::test_" not in line] == []


# Language -------------------------------------------------------------------------------------------------

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
ENTRY = re.compile(r"^ *[\w*, ]+(?: : .*)?\n +(?=[A-Z])", re.MULTILINE)  # of "Parameters" and "Attributes"


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


def slashed_prose(path):
    """Yield what `python_prose` does, for Rust and JavaScript; the lines of one comment come together."""
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


SOURCES = [(path, python_prose) for path in sorted((ROOT / "python" / "unbend").rglob("*.py"))]
SOURCES += [(path, slashed_prose) for path in sorted((ROOT / "rust").rglob("*.rs"))]
SOURCES += [(path, slashed_prose) for path in sorted((ROOT / "python" / "unbend").rglob("*.js"))]


def test_words_are_found():
    assert found("Beside the centre, minimised\n    >>> told") == ["Beside", "centre", "minimised"]
    assert found('the key "anew" of `so many` precise, raised noise') == []
    assert OPENING.match("Whether it is true.")
    assert not OPENING.match("However, it is.")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=called)
def test_prose_is_plain(page):
    assert found(page.read_text(encoding="utf-8")) == []


def test_sources_are_plain():
    prose = [(path, *part) for path, read in SOURCES for part in read(path)]
    mannered = [(called(path), line, words) for path, line, text, _ in prose if (words := found(text))]
    opened = [
        (called(path), line, text.splitlines()[0])
        for path, line, text, documents in prose
        if documents and any(OPENING.match(entry.strip()) for entry in [text, *ENTRY.split(text)[1:]])
    ]
    assert mannered == []
    assert opened == []
    assert len(prose) > 5_000


# Glossary -------------------------------------------------------------------------------------------------

GLOSSARY = ROOT / "docs" / "glossary.md"
GUIDES = (
    *("start", "tour", "choosing", "embedding", "unclean", "other-embeddings", "distances", "normalization"),
    *("selecting", "plots", "aligning", "uncertainty", "judging", "report", "interfaces", "meshes", "scale"),
    *("questions", "measures", "other-measures"),
)
EVERYDAY = {"cell", "component", "cut", "frame", "loop", "outlier", "patch"}  # not always the term
FORMS = {"bound": r"(?:lower\s+)?bounds?", "tear": r"(?:tears?|torn)", "faithful": "faithful"}
NO_PROSE = re.compile(
    r"^```.*?^```|^:::.*?^:::|^#+ .*?$|^\|.*?$|^ {4}.*?$|`[^`]*`|!?\[[^\]]*\]\([^)]*\)|<[^>]*>",
    re.DOTALL | re.MULTILINE,
)


def terms():
    return re.findall(r"^## (.+)$", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)


def uses(term, text):
    """Return where a text uses a term."""
    words = FORMS.get(term, r"\s+".join(term.split()) + "s?")
    flags = re.IGNORECASE if term.islower() else 0
    return [match.start() for match in re.finditer(rf"(?<![\w/-]){words}(?![\w-])", text, flags)]


def test_the_glossary_is_in_order():
    assert terms() == sorted(terms(), key=str.lower)
    assert len(terms()) > 30


@pytest.mark.parametrize("guide", GUIDES)
def test_terms_are_linked_where_a_guide_first_uses_them(guide):
    text = (ROOT / "docs" / f"{guide}.md").read_text(encoding="utf-8")
    plain = NO_PROSE.sub(lambda match: re.sub(r"[^\n]", "\0", match.group()), text)
    for term in terms():
        slug = re.sub(r"[^\w\- ]", "", term.lower()).replace(" ", "-")
        links = [match.start() for match in re.finditer(rf"\]\(glossary\.md#{slug}\)", text)]
        assert len(links) <= 1, term
        first = min(uses(term, plain), default=len(text))
        if term not in EVERYDAY:
            assert links or first == len(text), f"{term} is not linked"
        assert not links or links[0] < first, f"{term} is linked after its first use"
