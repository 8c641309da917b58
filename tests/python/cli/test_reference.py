"""The reference of the command line on the site, made from the parsers."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from unbend.cli import COMMANDS

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module")
def commands():
    sys.path.insert(0, str(DOCS))
    try:
        import commands

        return commands
    finally:
        sys.path.remove(str(DOCS))


@pytest.fixture(scope="module")
def page(commands):
    source = [(DOCS / "reference" / "commands.md").read_text(encoding="utf-8")]
    reread = []
    app = SimpleNamespace(env=SimpleNamespace(note_reread=lambda: reread.append(True)))
    commands.insert(app, "docs/reference/commands", source)
    assert reread == [True]
    return source[0]


def section(page, name):
    return page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_row(page, name):
    text = section(page, name)
    assert COMMANDS[name].summary in text
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    for flag in COMMANDS[name].flags:
        assert sum(f"{flag} " in row or f"{flag}`" in row.partition(" | ")[0] for row in rows) >= 1, flag
    assert len(rows) == len(COMMANDS[name].arguments.strip().splitlines()) + 1  # and --help
    assert all(row.count(" | ") == 1 for row in rows)


def test_help_texts_become_markdown(commands, page):
    assert commands.escaped("as X.npy, with --id or a|b*") == r"as `X.npy`, with `--id` or a\|b\*"
    assert "half-width of 95 % intervals" in section(page, "measure")
    assert "algorithm, see below (psa): psa, gp, " in section(page, "embed")
    assert "| `--cut CHOICE` |" in section(page, "embed")
    assert "```sh\nunbend embed roll.npy -o flat.npy\n" in section(page, "embed")


def test_one_table_holds_the_exit_codes(page):
    assert "exit codes:" not in page
    assert page.rstrip().endswith("| 130 | interrupted by Ctrl-C |")
