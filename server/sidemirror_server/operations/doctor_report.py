"""Prints an examination by `sidemirror doctor`: one line for each finding, those to change first, then what could not
be asked for, then where no sidecar runs."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sidemirror_server.operations.address_check import AddressAnswer
from sidemirror_server.operations.finding import Examination, Finding
from sidemirror_server.settings import Source

# What a line begins with, and its colour, in the order of the lines.
_WRONG, _NOT_ASKED, _NOT_RUNNING, _WELL = _MARKS = (
    ("!!   ", "red"),
    ("??   ", "yellow"),
    ("--   ", "yellow"),
    ("ok   ", "green"),
)


def show(examination: Examination, *, all_settings: bool = False) -> None:
    """Prints what has to be changed, what is well, and the settings: those that somebody has set, or all of them."""
    console = Console(highlight=False)
    for finding in sorted(examination.findings, key=lambda one: _MARKS.index(_mark(one))):
        line = Text(*_mark(finding))
        line.append(f"{finding.subject}: {finding.found}", style="")
        if finding.advice:
            line.append(f"\n     → {finding.advice}", style="bold")
        console.print(line, soft_wrap=True)
    wrong = sum(not finding.ok for finding in examination.findings)
    not_asked = "; ".join(dict.fromkeys(one.not_asked for one in examination.findings if one.not_asked))
    nothing = "Nothing to change in what was asked." if not_asked else "Nothing to change."
    say = "line says" if wrong == 1 else "lines say"
    console.print(f"{wrong} {say} what to change." if wrong else nothing, markup=False)
    if not_asked:
        console.print(f"Not asked: {not_asked}.", markup=False, soft_wrap=True)
    shown = [one for one in examination.settings if all_settings or one.source != "default"]
    if shown:
        _show_settings(console, shown)
    if len(shown) < len(examination.settings):
        console.print("All other settings have their defaults: --all shows them.", markup=False)


def _mark(finding: Finding) -> tuple[str, str]:
    if not finding.ok:
        return _WRONG
    if finding.not_asked:
        return _NOT_ASKED
    return _NOT_RUNNING if isinstance(finding, AddressAnswer) and finding.served is False else _WELL


def _show_settings(console: Console, settings: Sequence[Source]) -> None:
    table = Table("setting", "value", "from", title="Settings", title_justify="left")
    for setting in settings:
        value = "" if setting.value is None else str(setting.value)
        style = "" if setting.source == "default" else "bold"
        table.add_row(setting.name, Text(value, overflow="fold"), setting.variable or setting.source, style=style)
    console.print(table)
