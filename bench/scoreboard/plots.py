"""The figures of a run as bars: an SVG for each measure in which contenders differ. No library draws them.

The colours are those that the viewer's browser prefers, dark or light. The page around it may have chosen otherwise, so
that each picture has a ground of its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from bench.scoreboard.results import Results, best_of, figure_of
from bench.scoreboard.rows import MEASURES, ROWS

_WIDTH: Final = 760
_NAMES: Final = 250
_BARS: Final = 400
_BAR: Final = 14
_LINE: Final = 20
_MARGIN: Final = 16
# Told apart in grey as well: the lightness of neighbours differs.
_COLOURS: Final = ("#1f6fbf", "#79b3e6", "#c77700", "#3d9a5c", "#9a6fc0", "#808a96")
_STYLE: Final = """<style>
.ground { fill: #ffffff } text { fill: #1d2733 } .why { fill: #5a6675 }
@media (prefers-color-scheme: dark) { .ground { fill: #14181e } text { fill: #e3e8ee } .why { fill: #a3aebb } }
</style>"""


def plots(results: Results) -> Mapping[str, str]:
    """The SVG of each measure that has one, by the measure's name."""
    drawn = {
        measure: [row for row in ROWS if ROWS[row].measure == measure and differs(results, row)] for measure in MEASURES
    }
    return {measure: _svg(results, measure, rows) for measure, rows in drawn.items() if rows}


def differs(results: Results, row: str) -> bool:
    """Whether contenders have different figures in this row, as they are printed."""
    return len({figure for _, figure, _ in _bars(results, row) if figure}) > 1


def _bars(results: Results, row: str) -> Iterator[tuple[float, str, str]]:
    """Of each contender the value, the figure as the tables have it, and why there is none."""
    for who in results.contenders:
        cell = results.cell(row, who)
        if cell is None or cell.value is None:
            yield 0.0, "", cell.detail if cell is not None else "not measured"
        else:
            yield cell.value, figure_of(cell.value, ROWS[row]), ""


def _svg(results: Results, measure: str, rows: Sequence[str]) -> str:
    height = 2 * _MARGIN + len(rows) * (len(results.contenders) * _LINE + 36)
    told = quoteattr(f"{MEASURES[measure]}: the figures of the table as bars")
    look = 'font-family="system-ui, sans-serif" font-size="13" role="img"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" {look} aria-label={told}>',
        _STYLE,
        f'<rect class="ground" width="{_WIDTH}" height="{height}"/>',
    ]
    y = _MARGIN
    for row in rows:
        parts += _row(results, row, y)
        y += len(results.contenders) * _LINE + 36
    return "\n".join((*parts, "</svg>", ""))


def _row(results: Results, name: str, y: int) -> Iterator[str]:
    row = ROWS[name]
    yield f'<text x="{_MARGIN}" y="{y + 13}" font-weight="600">{escape(f"{row.title} ({row.way})")}</text>'
    most, best = max(value for value, _, _ in _bars(results, name)), best_of(results, name, row)
    for at, (told, (value, figure, why)) in enumerate(
        zip(results.contenders.values(), _bars(results, name), strict=True)
    ):
        base = y + 24 + at * _LINE
        yield f'<text x="{_NAMES}" y="{base + 12}" text-anchor="end">{escape(told)}</text>'
        if not figure:
            yield f'<text class="why" x="{_NAMES + 10}" y="{base + 12}">{escape(why)}</text>'
            continue
        width = max(1.0, _BARS * value / most)
        colour = _COLOURS[at % len(_COLOURS)]
        yield f'<rect x="{_NAMES + 10}" y="{base + 1}" width="{width:.1f}" height="{_BAR}" fill="{colour}"/>'
        weight = ' font-weight="600"' if figure == best else ""
        yield f'<text x="{_NAMES + 16 + width:.1f}" y="{base + 12}"{weight}>{figure}</text>'
