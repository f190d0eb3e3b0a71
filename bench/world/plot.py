"""The plot of lives in the world: an SVG without anything but lines and texts."""

from collections.abc import Mapping, Sequence
from typing import Final

from bench.world.figures import curve, number_of_calls, success
from bench.world.running import Arm, Lived

_BIN: Final = 10
_WIDTH: Final = 420
_HEIGHT: Final = 220
_LEFT: Final = 50
_TOP: Final = 40
_COLOURS: Final = {
    Arm.NONE: "#888888",
    Arm.TEMPLATES: "#c77700",
    Arm.RECOVERIES: "#1460aa",
    Arm.WITHHELD: "#2a8a4a",
}


def svg(lives: Mapping[Arm, Lived]) -> str:
    """Success and calls of an episode by its number, a line for each arm."""
    panels = (
        ("episodes that succeed", {arm: curve(one.met, success, _BIN) for arm, one in lives.items()}, 1.0),
        ("calls of an episode", {arm: curve(one.met, number_of_calls, _BIN) for arm, one in lives.items()}, 12.0),
    )
    width = len(panels) * (_WIDTH + _LEFT + 20) + 20
    height = _HEIGHT + _TOP + 70
    look = 'font-family="sans-serif" font-size="12"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {look}>',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for number, (title, curves, most) in enumerate(panels):
        parts += _panel(number * (_WIDTH + _LEFT + 20) + _LEFT, title, curves, most)
    for number, arm in enumerate(lives):
        x, y = _LEFT + number * 190, _TOP + _HEIGHT + 50
        parts.append(f'<line x1="{x}" y1="{y}" x2="{x + 20}" y2="{y}" stroke="{_COLOURS[arm]}" stroke-width="2"/>')
        parts.append(f'<text x="{x + 26}" y="{y + 4}">{arm}</text>')
    return "\n".join((*parts, "</svg>", ""))


def _panel(left: int, title: str, curves: Mapping[Arm, Sequence[float]], most: float) -> list[str]:
    bottom, right = _TOP + _HEIGHT, left + _WIDTH
    parts = [f'<text x="{left}" y="{_TOP - 14}" font-size="14">{title}</text>']
    for step in range(5):
        value, y = most * step / 4, bottom - _HEIGHT * step / 4
        parts.append(f'<line x1="{left}" y1="{y:.0f}" x2="{right}" y2="{y:.0f}" stroke="#dddddd"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.0f}" text-anchor="end">{value:g}</text>')
    bins = max(map(len, curves.values()))
    for at in range(0, bins + 1, max(1, bins // 4)):
        x = left + _WIDTH * at / bins
        parts.append(f'<text x="{x:.0f}" y="{bottom + 18}" text-anchor="middle">{at * _BIN}</text>')
    for arm, values in curves.items():
        points = " ".join(
            f"{left + _WIDTH * (at + 0.5) / bins:.1f},{bottom - _HEIGHT * min(value, most) / most:.1f}"
            for at, value in enumerate(values)
        )
        parts.append(f'<polyline points="{points}" fill="none" stroke="{_COLOURS[arm]}" stroke-width="2"/>')
    return parts
