"""Prints what `sidemirror doctor --egress` has found."""

from collections.abc import Mapping

import msgspec

from sidemirror_server.operations.egress import Exit, exits


def egress(flags: Mapping[str, str], *, as_json: bool) -> int:
    """Prints every address that a sidecar with these settings connects to; returns 0. Raises BadSettings."""
    found = exits(flags)
    if as_json:
        print(msgspec.json.format(msgspec.json.encode({"exits": found}), indent=2).decode())
    else:
        _show(found)
    return 0


def _show(found: tuple[Exit, ...]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for one in found:
        where = "another machine" if one.leaves_machine else "this machine"
        console.print(Text(f"{one.address}  {where}: {one.what}", "bold"), soft_wrap=True)
        lines = {
            "chosen by": one.setting,
            "through": one.proxy and f"the proxy {one.proxy}",
            "for": ", ".join(one.purposes),
            "sent": one.sent,
            "left out": one.redacted,
            "when": one.when,
            "off": one.off,
        }
        for name, told in lines.items():
            if told:
                console.print(Text(f"  {name:<9} {told}"), soft_wrap=True)
    if not found:
        console.print("A sidecar with these settings connects to no address.")
    elif not any(one.has_texts and one.leaves_machine for one in found):
        console.print("No text leaves this machine.")
    else:
        console.print("A sidecar with these settings connects to no other address.")
