"""Jupyter notebooks as pages of the site: cells become Markdown, outputs become text and pictures.

Nothing is run here. `python -m experiments.gallery.notebooks` runs the notebooks and writes their outputs.
"""

import json
import textwrap

from myst_parser.parsers.sphinx_ import MystParser

WIDTH = 88  # Characters; longer lines of output are wrapped.


class NotebookParser(MystParser):
    """Reads a notebook as the Markdown page that it looks like."""

    supported = ("ipynb",)

    def parse(self, inputstring, document):
        """Parse the Markdown that stands for the notebook."""
        super().parse(as_markdown(json.loads(inputstring)), document)


def as_markdown(notebook):
    """Return the cells and their outputs as Markdown."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(f"```python\n{source}\n```" if cell["cell_type"] == "code" else source)
        parts += [shown(output) for output in cell.get("outputs", ())]
    return "\n\n".join(parts) + "\n"


def shown(output):
    """Return one output as Markdown: text, or a picture with its description."""
    if output["output_type"] == "stream":
        lines = "".join(output["text"]).splitlines()
        return "\n".join(["```text", *(part for line in lines for part in wrapped(line)), "```"])
    picture = "".join(output["data"]["image/png"]).replace("\n", "")
    words = output["metadata"].get("alt", "")
    return f"![{words}](data:image/png;base64,{picture})"


def wrapped(line):
    """Return a line in parts that fit on the page."""
    return [line] if len(line) <= WIDTH else textwrap.wrap(line, WIDTH, subsequent_indent="    ")


def setup(app):
    """Let Sphinx read notebooks."""
    app.add_source_suffix(".ipynb", "ipynb")
    app.add_source_parser(NotebookParser)
    return {"parallel_read_safe": True}
