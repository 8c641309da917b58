"""Results as notebooks show them: sentences and tables in HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Bold", "Rows", "as_html"]

# Styles are set on the elements, because some notebooks and mail programs drop style sheets. Text has the color of
# its surroundings, and lines are half transparent, so that everything can be read on light and on dark ground.
GROUND = "color: inherit; background: transparent"
LINE = "1px solid rgba(128, 128, 128, 0.35)"
TABLE = f"border-collapse: collapse; border: none; margin: 0.4em 0; width: auto; {GROUND}"
CELL = f"padding: 0.15em 0.8em 0.15em 0; border: none; border-bottom: {LINE}; vertical-align: top; {GROUND}"
SIDES = {"<": "text-align: left", ">": "text-align: right; white-space: nowrap"}
TEXT = "margin: 0.4em 0; max-width: 48em"


class Bold(str):
    """Text that is shown in bold."""

    __slots__ = ()


@dataclass(frozen=True)
class Rows:
    """A table: its heads, its rows of texts, and the side of each column, "<" or ">"."""

    heads: Sequence[str]
    rows: Iterable[Sequence[str]]
    sides: str


def as_html(*parts: str | Rows) -> str:
    """Return sentences and tables as HTML, in this order; empty sentences are left out.

    Examples
    --------
    >>> "1 &lt; 2" in as_html("1 < 2")
    True
    """
    shown = [_table(part) if isinstance(part, Rows) else _text(part) for part in parts if part]
    return f'<div style="overflow-x: auto; {GROUND}">{"".join(shown)}</div>'


def _text(text: str) -> str:
    return f'<p style="{TEXT}">{_escaped(text)}</p>'


def _table(table: Rows) -> str:
    head = _row(table.heads, table.sides, "th") if any(table.heads) else ""
    body = "".join(_row(cells, table.sides, "td") for cells in table.rows)
    return f'<table style="{TABLE}"><thead>{head}</thead><tbody>{body}</tbody></table>'


def _row(cells: Sequence[str], sides: str, tag: str) -> str:
    row = "".join(
        f'<{tag} style="{CELL}; {SIDES[side]}">{_escaped(cell)}</{tag}>'
        for cell, side in zip(cells, sides, strict=True)
    )
    return f'<tr style="{GROUND}">{row}</tr>'


def _escaped(text: str) -> str:
    return f"<b>{escape(text)}</b>" if isinstance(text, Bold) else escape(text)
