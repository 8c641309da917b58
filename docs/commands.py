"""The reference of the command line, made from its parsers when the site is built."""

import argparse
import re
from itertools import groupby

from unbend.cli import parser
from unbend.cli.options import with_exit_codes

PLACE = "<!-- the commands -->"
"""Line of a page that the reference replaces."""


def insert(app, page, source):
    """Put the reference in its place on a page; a listener of Sphinx's `source-read`."""
    if PLACE in source[0]:
        app.env.note_reread()  # the parsers may change while the page does not
        source[0] = source[0].replace(PLACE, reference())


def reference() -> str:
    """Return the sections of all commands, as Markdown."""
    (commands,) = (action for action in parser()._actions if action.dest == "command")
    summaries = {action.dest: action.help for action in commands._choices_actions}
    return "\n".join(section(name, summaries[name], command) for name, command in commands.choices.items())


def section(name: str, summary: str, command: argparse.ArgumentParser) -> str:
    """Return the section of one command."""
    epilog = (command.epilog or "").removesuffix(with_exit_codes(""))
    parts = [f"## {name}", f"`unbend {name}`: {summary}.", described(command.description or "")]
    parts += [table(command), *map(remark, blocks(epilog))]
    return "\n\n".join(parts) + "\n"


def table(command: argparse.ArgumentParser) -> str:
    """Return the arguments of a command as a table."""
    rows = [f"| {head(action)} | {escaped(text(action, command))} |" for action in command._actions]
    return "\n".join(["| argument | meaning |", "|---|---|", *rows])


def head(action: argparse.Action) -> str:
    """Return the flags of an argument and the name of its value, as code."""
    if not action.option_strings:
        return f"`{action.metavar or action.dest}`"
    names = ", ".join(action.option_strings)
    if action.nargs == 0:
        return f"`{names}`"
    value = action.metavar or ("CHOICE" if action.choices else action.dest.upper())
    return f"`{names} {value}`"


def text(action: argparse.Action, command: argparse.ArgumentParser) -> str:
    """Return the help of an argument, with its choices."""
    words = (action.help or "") % {"prog": command.prog, "default": action.default}
    return words + (f": {', '.join(map(str, action.choices))}" if action.choices else "")


def described(description: str) -> str:
    """Return a description as paragraphs, without the line ends of the terminal."""
    return "\n\n".join(escaped(" ".join(part.split())) for part in description.split("\n\n"))


def blocks(epilog: str) -> list[str]:
    """Return the paragraphs of the end of a help text."""
    lines = epilog.strip().splitlines()
    return ["\n".join(part) for filled, part in groupby(lines, lambda line: bool(line.strip())) if filled]


def remark(block: str) -> str:
    """Return one paragraph of the end of a help text: a list with its heading, or words."""
    first, _, rest = block.partition("\n")
    if not re.fullmatch(r"[\w ]+:", first) or not rest.startswith(" "):
        return described(block)
    language = "sh" if first == "examples:" else "text"
    return f"{first.capitalize()}\n\n```{language}\n{dedented(rest)}\n```"


def dedented(lines: str) -> str:
    """Return lines without the two spaces before each."""
    return "\n".join(line.removeprefix("  ") for line in lines.splitlines())


def escaped(words: str) -> str:
    """Return words of a terminal as Markdown: commands, options and files are code, bars do not end a cell."""
    parts = [
        r"pip install '[^']*'|unbend(?:\.\w+| [a-z]+(?= --| wrote)(?: --[\w-]+)*)",  # commands and Python names
        r"(?<![\w/])--?[a-zA-Z][\w-]*",  # options
        r"\w*\.(?:npy|npz|csv|tsv|parquet|h5ad|zarr|ply|obj|stl|off|gii|html|parts)\b(?::[\w,-]*\w)?",  # files
        r"\b[A-Za-z]_\w+\b",  # arrays and measures
    ]
    return re.sub("|".join(parts), r"`\g<0>`", words).replace("|", r"\|").replace("*", r"\*")
