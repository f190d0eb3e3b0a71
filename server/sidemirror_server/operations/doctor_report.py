"""Prints an examination by `sidemirror doctor`: a table of settings, then one line for each finding."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sidemirror_server.operations.finding import Examination


def show(examination: Examination) -> None:
    """Prints it."""
    console = Console(highlight=False)
    if examination.settings:
        table = Table("setting", "value", "from", title="Settings", title_justify="left")
        for setting in examination.settings:
            value = "" if setting.value is None else str(setting.value)
            style = "" if setting.source == "default" else "bold"
            table.add_row(setting.name, Text(value, overflow="fold"), setting.variable or setting.source, style=style)
        console.print(table)
    for finding in examination.findings:
        line = Text("ok   " if finding.ok else "!!   ", style="green" if finding.ok else "red")
        line.append(f"{finding.subject}: {finding.found}", style="")
        if finding.advice:
            line.append(f"\n     → {finding.advice}", style="bold")
        console.print(line, soft_wrap=True)
    wrong = sum(not finding.ok for finding in examination.findings)
    console.print(f"{wrong} to change." if wrong else "Nothing to change.", markup=False)
